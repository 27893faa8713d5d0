"""A proof job is one folder: a snapshot of the tree, the candidate's files, job.json and a single-file runner."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from optimas_lsp.config import FILE_NAME
from optimas_lsp.errors import OptimasError
from optimas_lsp.prove.target import REPORTS, Target, fits

SCHEMA = "optimas.job/1"
LINK_ABOVE_BYTES = 64 << 20
"""Files at least this large are linked, not copied (they are data, not source)."""

_NEVER = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", "build"})
_CODE = re.compile(r"\.(c|cc|cpp|cxx|cu|cuh|h|hh|hpp|hxx|inc|inl|ipp|ptx|py|cmake|mk)$")
_BUILD_FILES = frozenset({"CMakeLists.txt", "Makefile", "makefile", "GNUmakefile"})
_DEEPEST_MODULE = 8
_ENTRY = "import sys\n\nfrom optimas_runner.__main__ import main\n\nsys.exit(main(sys.argv[1:]))\n"


class BundleError(OptimasError):
    """A proof job cannot be packed."""


def snapshot(folder: Path, destination: Path, exclude: Sequence[str] = REPORTS) -> list[str]:
    """Copy the program's folder as version control sees it (else all but build leavings); returns relative paths.

    Tracked and untracked files that are not ignored are taken, those of submodules too, but for those that match
    ``exclude`` (as in ``Target.exclude``) and ``optimas.toml``, which is about the proof. What a link inside the folder
    leads to is copied in its place, what leads outside is left out; files of LINK_ABOVE_BYTES and more are linked.
    Raises BundleError when a file cannot be read.
    """
    taken: list[str] = []
    for name in _names(folder):
        if name == FILE_NAME or excluded(name, exclude):
            continue
        source, target = folder / name, destination / name
        if not source.is_file() or not source.resolve().is_relative_to(folder.resolve()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if source.stat().st_size >= LINK_ABOVE_BYTES:
                target.symlink_to(source.resolve())
            else:
                shutil.copy2(source, target)
        except OSError as error:
            raise BundleError(f"cannot be copied: {error.strerror}", where=source) from None
        taken.append(name)
    return taken


def excluded(name: str, patterns: Sequence[str]) -> bool:
    """Whether the relative path ``name`` matches one of the glob patterns: without a slash they are about its end."""
    last = name.rpartition("/")[2]
    return any(fnmatch.fnmatchcase(name if "/" in pattern else last, pattern) for pattern in patterns)


def left_out(folder: Path, exclude: Sequence[str] = REPORTS) -> tuple[str, ...]:
    """Sentences about code that ``exclude`` keeps out of a snapshot, and about links that lead out of the folder.

    Both versions are built without them, so a proof has to say so.
    """
    names = _names(folder)
    code = [name for name in names if excluded(name, exclude) and _is_code(name)]
    home = folder.resolve()
    away = [name for name in names if (folder / name).is_symlink() and not _leads_inside(folder / name, home)]
    said = (
        ("code that target.exclude leaves out of both versions", code),
        ("links that lead out of the program's folder and are left out", away),
    )
    return tuple(f"{words}: {_listed(found)}" for words, found in said if found)


def _is_code(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last in _BUILD_FILES or _CODE.search(last) is not None


def _leads_inside(link: Path, home: Path) -> bool:
    try:
        return link.resolve().is_relative_to(home)
    except (OSError, RuntimeError):  # a link to itself
        return False


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _names(folder: Path) -> list[str]:
    """Relative paths of the folder's files and links; those below a link to one of its folders stand there, too."""
    names = _versioned(folder) or sorted(
        str(p.relative_to(folder))
        for p in folder.rglob("*")
        if (p.is_file() or p.is_symlink()) and not _NEVER.intersection(p.relative_to(folder).parts)
    )
    home, below = folder.resolve(), list[str]()
    for name in names:
        link = folder / name
        if link.is_symlink() and link.is_dir() and link.resolve().is_relative_to(home):
            real = link.resolve().relative_to(home).as_posix() + "/"
            if real != "./" and not f"{name}/".startswith(real):
                below += [f"{name}/{each[len(real) :]}" for each in names if each.startswith(real)]
    return sorted({*names, *below})


def _versioned(folder: Path, depth: int = 0) -> list[str]:
    """What git lists, [] where it lists nothing; nothing that the repository's own configuration names is run."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-C", str(folder)]
    command += ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."]
    # of another repository, when we are called from one of its hooks
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    names = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    for name in sorted(names):
        inner = folder / name
        if depth < _DEEPEST_MODULE and inner.is_dir() and not inner.is_symlink():  # a submodule is listed as one name
            names |= {f"{name.rstrip('/')}/{each}" for each in _versioned(inner, depth + 1)}
    return sorted(names)


def write_runner(destination: Path) -> None:
    """Pack the runner package into one deterministic zip application at ``destination``."""
    package = resources.files("optimas_lsp.prove.runner")
    entries = {"__main__.py": _ENTRY.encode()}
    for item in sorted(package.iterdir(), key=lambda i: i.name):
        if item.name.endswith(".py"):
            entries[f"optimas_runner/{item.name}"] = item.read_bytes()
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)


def bundle_hash(job: Path, specification: Mapping[str, Any]) -> str:
    """SHA-256 over the specification and every byte and mode of tree, patch, witness and runner.

    A job is what it was packed as when this is its ``hash``. What a record is keyed by is ``prove.key``.
    """
    state = hashlib.sha256(json.dumps(specification, sort_keys=True).encode() + b"\0")
    with zipfile.ZipFile(job / "runner.pyz") as archive:
        for name in archive.namelist():
            state.update(name.encode() + b"\0" + hashlib.sha256(archive.read(name)).digest())
    for part in ("tree", "patch", "witness"):
        root = job / part
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            state.update(os.fsencode(path.relative_to(job)) + b"\0")
            with path.open("rb") as stream:
                state.update(hashlib.file_digest(stream, "sha256").digest())
            state.update(b"x" if os.access(path, os.X_OK) else b"-")
    return state.hexdigest()


def _with_aliases(folder: Path, taken: Collection[str], patch: Mapping[str, bytes]) -> dict[str, bytes]:
    """The patch for every name that a changed file has by links: in the copy these are files of their own."""
    changed = {(folder / name).resolve(): data for name, data in patch.items()}
    return {name: changed[real] for name in sorted(taken) if (real := (folder / name).resolve()) in changed}


def pack(
    folder: Path,
    target: Target,
    patch: Mapping[str, bytes],
    destination: Path,
    *,
    kernels: Sequence[str],
    static: Mapping[str, str],
    ceiling_speedup: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> str:
    """Write the job for ``patch`` (relative path → new bytes) of the program in ``folder``; returns the bundle's hash.

    ``kernels`` are mangled names; ``static`` is the guardrails' {status, sentence}; ``options`` may hold ``timing``,
    ``limits``, ``gates``, ``required``, ``sanitizers`` and ``reprofile``. Raises BundleError.
    """
    if (destination / "tree").exists() or (destination / "patch").exists():
        raise BundleError("there is a job already", where=destination, remedy="give an empty folder")
    destination.mkdir(parents=True, exist_ok=True)
    taken = set(snapshot(folder, destination / "tree", target.exclude))
    if not taken:
        raise BundleError("there is no file to build a program from", where=folder, remedy="check the folder")
    missing = next((name for name in patch if name not in taken), None)
    if missing is not None:
        raise BundleError("the candidate changes a file that is not part of the program", where=folder / missing)
    changed = _with_aliases(folder, taken, patch)
    for name, data in changed.items():
        place = destination / "patch" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    witness = resources.files("optimas_lsp.prove.witness")
    (destination / "witness").mkdir(exist_ok=True)
    for name in ("witness.cpp", "digest.cu"):
        (destination / "witness" / name).write_bytes((witness / name).read_bytes())
    write_runner(destination / "runner.pyz")
    first = next(iter(target.inputs))  # said now: job.json does not keep their order
    chosen = {"time_input": target.time_input or first, "sanitize_input": target.sanitize_input or first}
    specification: dict[str, Any] = {
        "schema": SCHEMA,
        "target": {**target.model_dump(mode="json", exclude={"kernels"}), **chosen},
        "files": sorted(changed),
        "kernels": list(kernels),
        "static": dict(static),
        "ceiling_speedup": ceiling_speedup,
        **(options or {}),
    }
    absent = list(left_out(folder, target.exclude))
    removed = sorted(name for name in taken if any(fits(name, each) for each in target.outputs if each != "stdout"))
    if removed:
        absent.append(f"files that target.outputs names, which are removed before each run: {_listed(removed)}")
    if absent:
        specification["left_out"] = absent
    specification["hash"] = digest = bundle_hash(destination, specification)
    (destination / "job.json").write_text(json.dumps(specification, indent=1, sort_keys=True), "utf-8")
    return digest
