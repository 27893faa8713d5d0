"""The compile gate: a candidate is built in a scratch copy with the user's own command, and its whole log kept.

How files are copied and how a command is run under limits is handed in (``prove`` has both): this module decides what
to run, where, and what the outcome means. Commands come from the target's build, from ``compile_commands.json``, or are
one plain nvcc line for a single file.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from optimas_lsp.profile.model import Frozen

Status = Literal["compiled", "failed", "time-out", "no-compiler", "no-command", "program-fails"]
"""``program-fails``: the unchanged program does not build either, so that nothing is known of the candidate."""

CANNOT_BUILD: frozenset[Status] = frozenset({"no-compiler", "no-command", "program-fails"})
"""Ends of a build that no other answer would change: they say nothing about a candidate."""

LONGEST_LOG = 200_000
"""Characters of output kept; of a longer log the beginning and the end are kept."""

COMPILERS = frozenset({"nvcc", "nvcc.exe"})
USUAL_COMPILERS = (Path("/usr/local/cuda/bin/nvcc"), Path("/opt/cuda/bin/nvcc"))
_TELLING = re.compile(
    r"\b(?:error|fatal|undefined reference|undefined symbol|multiple definition|unresolved|cannot find|not found"
    r"|no such|ld returned|collect2|nvlink|ptxas|warning|killed|stopped)\b|\^",
    re.IGNORECASE,
)


class Ended(Protocol):
    """How a command ended: its exit status, seconds, why it was stopped (empty: it was not), where its output lies."""

    @property
    def status(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def stopped(self) -> str: ...
    @property
    def stdout(self) -> Path: ...
    @property
    def stderr(self) -> Path: ...


Run = Callable[[Sequence[str], Path, Mapping[str, str], Path, str], Ended]
"""Runs a command in a folder, with variables added to a clean environment; its output is two files."""

Copy = Callable[[Path, Path], object]
"""Copies a program's folder to another place, which does not exist yet."""


class Step(Frozen):
    """One command of a build and what came of it; ``folder`` is relative to the program's, ``log`` all it wrote."""

    command: tuple[str, ...]
    folder: str = "."
    status: int
    seconds: float
    log: str


class Compiled(Frozen):
    """The outcome. ``sentence`` is for the user, ``relevant`` is what of the logs tells why."""

    status: Status
    sentence: str
    steps: tuple[Step, ...] = ()
    relevant: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether every command ended well."""
        return self.status == "compiled"


class Command(Frozen):
    """What to run, where (relative to the program's folder), and where the wish comes from, in words."""

    arguments: tuple[str, ...]
    folder: str = "."
    source: str


def commands_for(
    source: Path, folder: Path, *, build: Sequence[Sequence[str]] = (), capability: int | None = None
) -> tuple[Command, ...]:
    """How to compile ``source`` of the program in ``folder``: its ``build``, its compilation database, or plain nvcc.

    ``capability`` is the GPU's, times ten. Empty where there is no way to tell.
    """
    if build:
        return tuple(Command(arguments=tuple(each), source="[target] build") for each in build)
    database = _from_database(source, folder)
    if database is not None:
        return (database,)
    if source.suffix != ".cu":
        return ()
    name = os.path.relpath(source, folder)
    arch = (f"-arch=sm_{capability}",) if capability else ()
    return (
        Command(
            arguments=("nvcc", "-O3", *arch, "-lineinfo", "-c", "-o", f"{name}.o", name),
            source="a plain nvcc line for one file",
        ),
    )


def _from_database(source: Path, folder: Path) -> Command | None:
    """The entry of ``compile_commands.json``, in the folder or its ``build``, that compiles ``source``."""
    for place in (folder / "compile_commands.json", folder / "build" / "compile_commands.json"):
        try:
            entries: object = json.loads(place.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        for entry in cast("list[dict[str, Any]]", entries) if isinstance(entries, list) else []:
            directory = Path(str(entry.get("directory", ".")))
            directory = directory if directory.is_absolute() else place.parent / directory
            if (directory / str(entry.get("file", ""))).resolve() != source.resolve():
                continue
            given = entry.get("arguments") or shlex.split(str(entry.get("command", "")))
            arguments = tuple(str(each) for each in cast("list[object]", given))
            if arguments and directory.resolve().is_relative_to(folder.resolve()):
                where = os.path.relpath(directory, folder)
                return Command(arguments=arguments, folder=where, source="compile_commands.json")
    return None


def find_compiler(environment: Mapping[str, str] | None = None) -> tuple[Path, tuple[str, ...]] | None:
    """nvcc and the options it needs to find its libraries.

    In PATH, CUDA_HOME or CUDA_PATH, from PyPI's wheels, or where the toolkit's installer puts it.
    """
    variables = os.environ if environment is None else environment
    found = shutil.which("nvcc", path=variables.get("PATH", ""))
    if found is not None:
        return Path(found), ()
    for name in ("CUDA_HOME", "CUDA_PATH"):
        place = Path(variables.get(name, "") or os.devnull) / "bin" / "nvcc"
        if place.is_file():
            return place, ()
    for entry in sys.path:
        for root in sorted(Path(entry, "nvidia").glob("cu1[2-9]"), reverse=True):
            if (root / "bin" / "nvcc").is_file():
                return root / "bin" / "nvcc", ("-L", str(root / "lib"))
    return next(((place, ()) for place in USUAL_COMPILERS if place.is_file()), None)


def compile_candidate(
    folder: Path,
    files: Mapping[str, bytes],
    commands: Sequence[Command],
    *,
    run: Run,
    copy: Copy,
    scratch: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Compiled:
    """Build the program in ``folder`` with ``files`` (relative path to new bytes) put in, in a copy that is removed.

    ``scratch`` is where the copy is made (None: the system's folder for such); the user's tree is never touched.
    Raises ValueError for a file outside of the folder.
    """
    if not commands:
        return Compiled(
            status="no-command", sentence="how to compile this is not known; give [target] build in optimas.toml"
        )
    compiler = find_compiler(environment)
    if compiler is None and any(Path(each.arguments[0]).name in COMPILERS for each in commands):
        return Compiled(
            status="no-compiler",
            sentence="nvcc was not found; install the CUDA toolkit, or: pip install 'optimas-lsp[proof]'",
        )
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="optimas-compile-", dir=scratch) as place:
        tree, logs = Path(place) / "tree", Path(place) / "logs"
        copy(folder, tree)
        logs.mkdir()
        for name, data in files.items():
            target = (tree / name).resolve()
            if not target.is_relative_to(tree.resolve()):
                raise ValueError(f"{name} lies outside of the program's folder")
            target.write_bytes(data)
        steps: list[Step] = []
        stopped = ""
        for number, command in enumerate(commands):
            where = tree / command.folder
            _make_output_folder(where, command.arguments)
            arguments, added = _with_compiler(command.arguments, compiler, folder, tree)
            ended = run(arguments, where, added, logs, f"build-{number}")
            steps.append(_step(command, ended, place))
            stopped = ended.stopped
            if ended.status or stopped:
                break
    return _outcome(tuple(steps), stopped, time.monotonic() - began)


def _make_output_folder(where: Path, arguments: Sequence[str]) -> None:
    """``-o build/program``: compilers do not make that folder, and a copy of sources does not have it."""
    where.mkdir(parents=True, exist_ok=True)
    for option, value in itertools.pairwise(arguments):
        if option == "-o" and not Path(value).is_absolute():
            (where / value).parent.mkdir(parents=True, exist_ok=True)


def _with_compiler(
    arguments: Sequence[str], compiler: tuple[Path, tuple[str, ...]] | None, folder: Path, tree: Path
) -> tuple[tuple[str, ...], dict[str, str]]:
    """A command with the compiler found and paths into the program's folder led to the copy; variables to add."""
    old, new = str(folder.resolve()), str(tree.resolve())
    moved = tuple(each.replace(old, new) for each in arguments)
    if compiler is None:
        return moved, {}
    path, options = compiler
    variables = {"PATH": f"{path.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    if moved[0] in COMPILERS:
        return (str(path), *options, *moved[1:]), variables
    return moved, variables


def _step(command: Command, ended: Ended, place: str) -> Step:
    texts = [path.read_text("utf-8", "replace") for path in (ended.stdout, ended.stderr) if path.is_file()]
    log = "".join(texts).replace(f"{place}/tree/", "").replace(place, "")
    if len(log) > LONGEST_LOG:
        half = LONGEST_LOG // 2
        log = f"{log[:half]}\n[{len(log) - LONGEST_LOG} characters left out]\n{log[-half:]}"
    return Step(
        command=command.arguments,
        folder=command.folder,
        status=ended.status,
        seconds=round(ended.seconds, 3),
        log=log,
    )


def _outcome(steps: tuple[Step, ...], stopped: str, seconds: float) -> Compiled:
    last = steps[-1]
    shown = shlex.join(last.command)
    if stopped:
        status: Status = "time-out" if "longer than" in stopped else "failed"
        sentence = f"the build was stopped: {stopped} ({shown})"
    elif last.status:
        status = "failed"
        first = next((line for line in last.log.split("\n") if re.search(r"\berror\b|undefined", line)), "")
        sentence = f"the candidate does not build ({shown} ended with {last.status})" + (
            f": {first.strip()[:300]}" if first else ""
        )
    else:
        return Compiled(
            status="compiled", sentence=f"the candidate builds ({shown})", steps=steps, seconds=round(seconds, 3)
        )
    return Compiled(
        status=status, sentence=sentence, steps=steps, relevant=relevant(last.log), seconds=round(seconds, 3)
    )


def relevant(log: str, most: int = 8000) -> str:
    """The lines of a log that tell why it failed, with the two after each; the linker's are among them.

    A log without such lines is given by its end. At most ``most`` characters, the first ones.
    """
    lines = log.split("\n")
    kept: set[int] = set()
    for at, line in enumerate(lines):
        if _TELLING.search(line):
            kept.update(range(at, min(at + 3, len(lines))))
    text = "\n".join(lines[at] for at in sorted(kept)).strip()
    return text[:most] if text else log.strip()[-most:]
