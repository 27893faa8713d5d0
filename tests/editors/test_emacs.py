"""Emacs with Eglot, in batch mode: diagnostics, the hover and the list of hotspots."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "accuracy"


def _has_eglot() -> bool:
    if shutil.which("emacs") is None:
        return False
    look = [
        "emacs",
        "-q",
        "--batch",
        "--eval",
        "(progn (package-initialize) (kill-emacs (if (require 'eglot nil t) 0 1)))",
    ]
    return subprocess.run(look, capture_output=True, timeout=110, check=False).returncode == 0


def _run(script: str, file: Path, tmp_path: Path) -> dict[str, Any]:
    """What a script saw in ``file``."""
    out = tmp_path / "seen.json"
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "OPTIMAS_MODULE": str(ROOT / "editors" / "emacs" / "optimas.el"),
        "OPTIMAS_FILE": str(file),
        "OPTIMAS_PYTHON": sys.executable,
        "OPTIMAS_OUT": str(out),
    }
    ran = subprocess.run(
        ["emacs", "-q", "--batch", "-l", str(Path(__file__).with_name(script))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert out.exists(), ran.stderr
    seen: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return seen


@pytest.mark.full
@pytest.mark.timeout(450)
def test_emacs_optimises_a_kernel_through_its_code_actions(tmp_path: Path) -> None:
    if not _has_eglot():
        pytest.skip("no Emacs with Eglot here: apt-get install emacs-nox elpa-eglot")
    sample = ROOT / "samples" / "adjacent"
    folder = tmp_path / "adjacent"
    folder.mkdir()
    for source in (sample / "adjacent.cu", sample / "outcomes.json", *sample.glob("profile.ncu-rep*")):
        shutil.copy(source, folder)
    # Eglot sends a changed text only after a command has been answered, so the edit stands in the action itself.
    own = '\n[prove]\nexecutor = "recorded"\nrecords = "."\n\n[corpus]\nenable = false\n'
    own += '\n[jobs]\nbuild = false\noffer = "edit"\n'
    (folder / "optimas.toml").write_text((sample / "optimas.toml").read_text("utf-8") + own, "utf-8")
    seen = _run("emacs_optimize.el", folder / "adjacent.cu", tmp_path)
    assert seen["optimise"] == "Optimise the kernel adjacent_kernel"
    assert re.search(r"3\.9\d", seen["apply"])
    assert "#pragma unroll" in seen["applied"]
    assert seen["restored"] is True, "undo gives the exact text back"


@pytest.mark.full
@pytest.mark.timeout(450)
def test_emacs_shows_findings_the_hover_and_the_hotspots(tmp_path: Path) -> None:
    if not _has_eglot():
        pytest.skip("no Emacs with Eglot here: apt-get install emacs-nox elpa-eglot")
    folder = tmp_path / "accuracy"
    folder.mkdir()
    (report,) = SAMPLE.glob("profile.ncu-rep*")
    for source in (SAMPLE / "accuracy.cu", SAMPLE / "rank.cuh", report):
        shutil.copy(source, folder)
    seen = _run("emacs.el", folder / "accuracy.cu", tmp_path)
    assert seen["mode"] == "c++-mode"
    assert seen["diagnostics"]
    assert "samples" in seen["hover"]
    lines = [line for line in seen["hotspots"].splitlines() if line.startswith(str(folder))]
    shares = [float(line.split(": ", 1)[1].split(" %", 1)[0]) for line in lines]
    assert len(shares) > 2
    assert shares[1:] == sorted(shares[1:], reverse=True), "after the one finding worth changing the costliest first"
