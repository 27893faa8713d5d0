"""Runs a Lua script in a real Neovim with our module, in folders of its own, and gives what it saw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def walk(nvim: Path | str, script: Path, file: Path, tmp_path: Path, **more: str) -> dict[str, Any]:
    """What ``script`` wrote to ``OPTIMAS_OUT``; ``file`` is the one to open, ``more`` goes into the environment.

    A script that fails writes why under ``problem``.
    """
    out = tmp_path / "seen.json"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "OPTIMAS_DATA_DIR": str(tmp_path / "data"),
        "OPTIMAS_MODULE": str(ROOT / "editors" / "neovim"),
        "OPTIMAS_FILE": str(file),
        "OPTIMAS_PYTHON": sys.executable,
        "OPTIMAS_OUT": str(out),
        **more,
    }
    command = [nvim, "--headless", "--clean", "-u", "NONE", "-S", str(script)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=360, check=False)
    assert out.exists(), ran.stderr
    seen: dict[str, Any] = json.loads(out.read_text("utf-8"))
    assert "problem" not in seen, f"{seen['problem']}\n{ran.stderr}"
    return seen
