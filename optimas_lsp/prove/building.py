"""Builds candidates: in a snapshot of the folder, under limits, ended with everything they started."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.config import FILE_NAME, load_toml
from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.bundle import snapshot
from optimas_lsp.prove.inference import Inferred, NoTargetError, Wanted, find_target
from optimas_lsp.prove.runner.process import Finished, Limits, clean_environment, end_descendants, run
from optimas_lsp.prove.scratch import scratch
from optimas_lsp.prove.target import REPORTS, parse_target
from optimas_lsp.rewrite.compile import Command, Compiled, commands_for, compile_candidate
from optimas_lsp.rewrite.cubins import OUTPUT, cubin_command
from optimas_lsp.rewrite.guard.compiled import COMPILED_RULES, compiled_rules
from optimas_lsp.rewrite.guard.model import Allowance, RuleVerdict


class BuilderError(OptimasError):
    """Nothing can be built here."""


@dataclass
class ScratchBuilder:
    """Runs the program's own build commands in a copy; see ``rewrite.optimize.Builder``."""

    folder: Path
    planned: tuple[Command, ...]
    seconds: float
    profile: Profile
    allow: tuple[Allowance, ...] = ()
    machine_code: Command | None = None
    exclude: tuple[str, ...] = REPORTS
    _cancelled: bool = False
    _cubin: bytes | None = None
    _original: bytes | None = None
    _unchanged: Compiled | None = None

    @classmethod
    def of(cls, folder: Path, source: Path, profile: Profile, allow: tuple[Allowance, ...] = ()) -> ScratchBuilder:
        """The commands of ``optimas.toml``, CMake, Make or ``compile_commands.json``, or a plain nvcc line.

        Raises BuilderError on a system where what is built cannot be held within limits.
        """
        if os.name != "posix":
            raise BuilderError(
                "a candidate is built and proven on Linux only",
                where=folder,
                remedy="without a build it is only judged: --no-build, in the editor the setting jobs.build",
            )
        toml = folder / FILE_NAME
        table = load_toml(toml).get("target") if toml.is_file() else None
        target = None if table is None else parse_target(table, where=str(toml))
        inferred = None if target is not None else _inferred(folder, source, profile)
        build = inferred.target.build if inferred is not None else () if target is None else target.build
        limit = 600.0 if target is None else target.build_limit_s
        major, minor = profile.device.compute_capability
        capability = 10 * major + minor
        planned = commands_for(source, folder, build=build, capability=capability)
        if inferred is not None:
            planned = tuple(each.model_copy(update={"source": inferred.sentences[0]}) for each in planned)
        code = cubin_command(planned, source, folder, capability)
        exclude = REPORTS if target is None else target.exclude
        return cls(folder, planned, limit, profile, allow, code, exclude)

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What is run, in order."""
        return tuple(each.arguments for each in (*self.planned, *([self.machine_code] if self.machine_code else [])))

    @property
    def why(self) -> str:
        """Where the commands come from."""
        return self.planned[0].source if self.planned else ""

    def build(self, files: Mapping[str, bytes]) -> Compiled:
        """Build with ``files`` in their places; where that fails, see once whether the unchanged program builds."""
        built = self._compiled(files, self.planned)
        if built.status not in {"failed", "time-out"} or self._cancelled:
            return built
        if self._unchanged is None:
            self._unchanged = self._compiled({}, self.planned)
        return built if self._unchanged.good or self._cancelled else _to_blame(self._unchanged)

    def compare(self, files: Mapping[str, bytes]) -> tuple[RuleVerdict, ...]:
        """The rules for after compiling; skipped, with the reason, where there is no machine code to look at."""
        if self.machine_code is None:
            return _skipped("the build names no nvcc command for this source")
        if self._original is None:
            self._original = self._machine_code({})
        changed = self._machine_code(files)
        if self._original is None or changed is None:
            return _skipped("the source does not compile to machine code alone")
        try:
            return compiled_rules(
                self._original, changed, self.profile.device, blocks=largest_blocks(self.profile), allow=self.allow
            )
        except OptimasError as error:
            return _skipped(f"the machine code cannot be read: {error.what}")

    def _machine_code(self, files: Mapping[str, bytes]) -> bytes | None:
        self._cubin = None
        commands = (self.machine_code,) if self.machine_code is not None else ()
        built = self._compiled(files, commands)
        return self._cubin if built.good else None

    def _compiled(self, files: Mapping[str, bytes], commands: Sequence[Command]) -> Compiled:
        with scratch("build") as place:
            copy = functools.partial(snapshot, exclude=self.exclude)
            return compile_candidate(self.folder, files, commands, run=self._run, copy=copy, scratch=place)

    def cancel(self) -> None:
        """End what runs now and start nothing more."""
        self._cancelled = True
        end_descendants(os.getpid())

    def _run(self, command: Sequence[str], folder: Path, added: Mapping[str, str], logs: Path, name: str) -> Finished:
        if self._cancelled:
            return Finished(130, 0.0, "it was cancelled", logs / f"{name}.out", logs / f"{name}.err")
        scratch = logs / "home"
        scratch.mkdir(exist_ok=True)
        environment = clean_environment(scratch, dict(added))
        finished = run(command, folder, environment, Limits(seconds=self.seconds), logs, name)
        made = folder / OUTPUT
        if "-cubin" in command and made.is_file():
            self._cubin = made.read_bytes()
        return finished


def _to_blame(unchanged: Compiled) -> Compiled:
    """The failed build of the unchanged program, said as such."""
    words = unchanged.sentence.replace("the candidate does", "the unchanged program does", 1)
    who = "" if words.startswith("the unchanged program") else "the unchanged program does not build: "
    return unchanged.model_copy(update={"status": "program-fails", "sentence": who + words})


def _inferred(folder: Path, source: Path, profile: Profile) -> Inferred | None:
    """The build of a program's own build file; None where a compiler line for the one file is as good."""
    try:
        found = find_target(Wanted.of(folder, source, profile))
    except NoTargetError:
        return None
    return found if found.target.build and found.target.build[0][0] in {"cmake", "make"} else None


def largest_blocks(profile: Profile) -> dict[str, int]:
    """Threads of the largest block that each kernel was launched with, by mangled name."""
    found: dict[str, int] = {}
    for launch in profile.launches:
        name = profile.kernels[launch.kernel].mangled
        found[name] = max(found.get(name, 0), math.prod(launch.block))
    return found


def _skipped(why: str) -> tuple[RuleVerdict, ...]:
    return tuple(RuleVerdict(id=name, status="skipped", message=why) for name in COMPILED_RULES)
