"""The arena on the GPU at hand: every cheat is stopped by one of its gates, every honest rewrite is proven.

What was decided stays in ``build/gpu/arena.json``, from which ``arena/table.py`` makes the tables of docs/proof.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.gpu.needs import needs

pytestmark = needs("nvcc", "compute-sanitizer", seconds=1200)

ROOT = Path(__file__).parents[2]
ARENA = Path(__file__).parent / "arena"


def test_cheats_are_stopped_and_honest_rewrites_are_proven(tmp_path: Path) -> None:
    out = ROOT / "build" / "gpu" / "arena.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    packed = [sys.executable, str(ARENA / "pack.py"), str(tmp_path / "jobs")]
    subprocess.run(packed, check=True, env=environment)
    fought = ["sh", str(ARENA / "run.sh"), str(tmp_path / "jobs"), str(out)]
    subprocess.run(fought, check=True, env=environment)
    judged = [sys.executable, str(ARENA / "table.py"), str(out)]
    done = subprocess.run(judged, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout
