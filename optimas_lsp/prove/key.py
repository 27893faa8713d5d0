"""What a record is found by, namely what was proven, and what is compared beside it: how it was proven."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from optimas_lsp.profile.model import Frozen
from optimas_lsp.prove.runner import VERSION
from optimas_lsp.prove.runner.__main__ import REQUIRED
from optimas_lsp.prove.runner.job import TIMING
from optimas_lsp.prove.runner.measure import SANITIZERS
from optimas_lsp.prove.versions import ALIKE

SCHEMA = "optimas.key/1"
WHAT = ("build", "inputs", "outputs", "ignore", "tolerance", "binary")
"""The keys of ``[target]`` that say what is proven; the others (limits, which input is timed) say how."""


TIMED = {"time_input", "time_inputs"}
"""Settings that say what is timed: a record says itself on which inputs it was."""


class How(Frozen):
    """How a proof is made: the runner's version, digests of runner and witness (None: not known), and settings."""

    version: str
    runner: str | None = None
    witness: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


def key_of(job: Path, specification: Mapping[str, Any]) -> str:
    """SHA-256 over what a job proves: names, content and execute bits of the program's files, the candidate's files,
    how both are built and run, what of their output counts, and the kernels.
    """
    target: dict[str, Any] = specification["target"]
    what = {
        "schema": SCHEMA,
        "target": {name: target.get(name) for name in WHAT},
        "kernels": sorted(set(specification["kernels"])),
        "tree": _files(job / "tree"),
        "patch": {name: digest for name, (digest, _mode) in _files(job / "patch").items()},
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def how_of(job: Path, specification: Mapping[str, Any]) -> How:
    """How this job proves it, with the runner's defaults filled in."""
    target: dict[str, Any] = specification["target"]
    ceiling: float | None = specification.get("ceiling_speedup")
    timing = {**TIMING, **specification.get("timing", {})}
    timing.pop("race", None)  # what others reached meanwhile: a candidate that loses against it passes nothing
    timing.pop("every_input", None)  # more is measured, nothing is decided otherwise
    settings = {
        **{f"timing.{name}": value for name, value in timing.items()},
        **{f"limits.{name}": value for name, value in specification.get("limits", {}).items()},
        "time_input": target.get("time_input"),
        "sanitize_input": target.get("sanitize_input"),
        "time_limit_s": target.get("time_limit_s"),
        "build_limit_s": target.get("build_limit_s"),
        "time_inputs": sorted(specification.get("time_inputs") or ()),
        "sanitizers": sorted(specification.get("sanitizers", SANITIZERS)),
        "required": sorted(specification.get("required") or REQUIRED),
        "ceiling": None if ceiling is None else float(f"{ceiling:.4g}"),
    }
    with zipfile.ZipFile(job / "runner.pyz") as archive:
        runner = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
    witness = {name: digest for name, (digest, _mode) in _files(job / "witness").items()}
    return How(version=VERSION, runner=_digest(runner), witness=_digest(witness), settings=settings)


def differences(recorded: How, now: How) -> tuple[str, ...]:
    """What was different when a result was recorded, as parts of a sentence; empty when nothing was."""
    said: list[str] = []
    runner = now.runner if recorded.runner in ALIKE else recorded.runner
    if (recorded.version, runner, recorded.witness) != (now.version, now.runner, now.witness):
        older = 0 < strictness(recorded.version) < strictness(now.version)
        said.append(f"by {'an earlier' if older else 'another'} version of the proof")
    names = sorted((set(recorded.settings) | set(now.settings)) - TIMED)
    other = [
        f"{name} {_shown(recorded.settings.get(name))} instead of {_shown(now.settings.get(name))}"
        for name in names
        if (recorded.settings.get(name) or None) != (now.settings.get(name) or None)
    ]
    return (*said, *(["with other settings: " + ", ".join(other)] if other else []))


def strictness(version: str) -> int:
    """The number of a ``VERSION``: a higher one is stricter; 0 for what is no number."""
    return int(version) if len(version) < 10 and version.isascii() and version.isdigit() else 0


def _shown(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def _files(root: Path) -> dict[str, tuple[str, bool]]:
    found: dict[str, tuple[str, bool]] = {}
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        found[path.relative_to(root).as_posix()] = digest, os.access(path, os.X_OK)
    return found


def _digest(digests: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
