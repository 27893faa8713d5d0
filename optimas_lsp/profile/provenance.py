"""How a report came to be, written beside it so that the same can be measured again."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optimas_lsp.profile.ncu import Filter, command

SCHEMA = "optimas.provenance/1"


@dataclass(frozen=True)
class Measured:
    """One report with what the measurement was: seconds it took, launches profiled and passes each needed."""

    report: Path
    arguments: tuple[str, ...]
    seconds: float
    passes: tuple[int | None, ...]


@dataclass(frozen=True)
class Request:
    """What to profile: ``program`` is the command line, ``sweep`` further arguments, one tuple a run.

    Reports are written to ``folder`` as ``stem.ncu-rep``, or ``stem-001.ncu-rep`` and so on for a sweep.
    ``time_limit_seconds`` bounds one run.
    """

    program: tuple[str, ...]
    folder: Path
    stem: str
    sweep: tuple[tuple[str, ...], ...] = ()
    chosen: Filter = field(default_factory=Filter)
    ncu: str = "ncu"
    time_limit_seconds: float = 3600.0
    replace: bool = False


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _printed(line: Sequence[str]) -> list[str]:
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def write_provenance(request: Request, measured: Sequence[Measured], started: str) -> None:
    """How the reports came to be, so that the same can be measured again; None is what could not be found out."""
    fields = ("name", "driver_version", "clocks.sm", "clocks.mem")
    gpus = _printed(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])
    version = [line for line in _printed([request.ncu, "--version"]) if line.startswith("Version")]
    program = shutil.which(request.program[0])
    content = {
        "schema": SCHEMA,
        "date": started,
        "gpus": [dict(zip(fields, (part.strip() for part in row.split(",")), strict=False)) for row in gpus] or None,
        "ncu": version[0].removeprefix("Version").strip() if version else None,
        "program": {"command": list(request.program), "sha256": _digest(Path(program)) if program else None},
        "ncu_command": command("ncu", ("PROGRAM",), Path(request.stem), request.chosen),
        "reports": [
            {
                "file": one.report.name,
                "sha256": _digest(one.report),
                "bytes": one.report.stat().st_size,
                "arguments": list(one.arguments),
                "seconds": round(one.seconds, 1),
                "launches": len(one.passes),
                "passes": list(one.passes),
            }
            for one in measured
        ],
    }
    path = request.folder / f"{request.stem}.provenance.json"
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
