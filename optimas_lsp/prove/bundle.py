"""A proof job is one folder: a snapshot of the tree, the candidate's files, job.json and a single-file runner."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from optimas_lsp.config import FILE_NAME
from optimas_lsp.errors import OptimasError
from optimas_lsp.prove.target import REPORTS, Target

SCHEMA = "optimas.job/1"
LINK_ABOVE_BYTES = 64 << 20
"""Files at least this large are linked, not copied (they are data, not source)."""

_NEVER = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", "build"})
_ENTRY = "import sys\n\nfrom optimas_runner.__main__ import main\n\nsys.exit(main(sys.argv[1:]))\n"


class BundleError(OptimasError):
    """A proof job cannot be packed."""


def snapshot(folder: Path, destination: Path, exclude: Sequence[str] = REPORTS) -> list[str]:
    """Copy the program's folder as version control sees it (else all but build leavings); returns relative paths.

    Tracked and untracked files that are not ignored are taken, but for those that match ``exclude`` (as in
    ``Target.exclude``) and ``optimas.toml``, which is about the proof; links are kept only when they stay inside the
    folder; files of LINK_ABOVE_BYTES and more are linked. Raises BundleError when a file cannot be read.
    """
    names = _versioned(folder) or sorted(
        str(p.relative_to(folder))
        for p in folder.rglob("*")
        if (p.is_file() or p.is_symlink()) and not _NEVER.intersection(p.relative_to(folder).parts)
    )
    taken: list[str] = []
    for name in names:
        if name == FILE_NAME or excluded(name, exclude):
            continue
        source, target = folder / name, destination / name
        if source.is_symlink() and not source.resolve().is_relative_to(folder.resolve()):
            continue
        if not source.is_file():
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


def _versioned(folder: Path) -> list[str]:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."],
            capture_output=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name}) if done.returncode == 0 else []


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
    for name, data in patch.items():
        if name not in taken:
            raise BundleError("the candidate changes a file that is not part of the program", where=folder / name)
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
        "files": sorted(patch),
        "kernels": list(kernels),
        "static": dict(static),
        "ceiling_speedup": ceiling_speedup,
        **(options or {}),
    }
    specification["hash"] = digest = bundle_hash(destination, specification)
    (destination / "job.json").write_text(json.dumps(specification, indent=1, sort_keys=True), "utf-8")
    return digest
