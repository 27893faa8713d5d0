"""``optimas profile`` as a person types it. A shell script stands for ncu: only the command line is under test here;
the real ncu is in ``tests/profile/test_collect_gpu.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """#!/bin/sh
[ "$1" = --version ] && { echo "Version 2025.3.1.0"; exit 0; }
while [ "$#" -gt 0 ]; do [ "$1" = --export ] && { out="$2"; shift 2; break; }; shift; done
echo '==PROF== Profiling "triad(float*)" - 0: 0%....50%....100% - 34 passes'
[ "$2" = fail ] && { echo "cannot open input"; echo "==ERROR== The application returned an error code (3)."; exit 3; }
printf '%s' "$*" >"$out"
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "ncu-stand-in"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


def optimas(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    code = "from optimas_lsp.cli import main; main()"
    line = [sys.executable, "-c", code, *map(str, words)]
    root = Path(__file__).parents[2]
    env = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=180, check=False, env=env)


def test_a_report_and_its_provenance_are_written_and_the_next_step_is_named(tmp_path: Path, stand_in: Path) -> None:
    done = optimas(
        tmp_path, "profile", "--ncu", stand_in, "-k", "triad", "-o", "out/run", "--", "/bin/true", "--size", "3"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "run.ncu-rep").read_text() == "/bin/true --size 3"
    provenance = json.loads((tmp_path / "out" / "run.provenance.json").read_text())
    assert provenance["ncu"] == "2025.3.1.0"
    assert "regex:triad" in provenance["ncu_command"]
    assert "optimas analyze out/run.ncu-rep" in done.stderr
    assert "34 passes" in done.stderr


def test_a_sweep_makes_one_report_a_line(tmp_path: Path, stand_in: Path) -> None:
    (tmp_path / "sizes").write_text("10\n20 x\n")
    done = optimas(tmp_path, "profile", "--ncu", stand_in, "--sweep", "sizes", "-o", "p/s", "--", "/bin/true")
    assert done.returncode == 0, done.stderr
    written = sorted((tmp_path / "p").glob("*.ncu-rep"))
    assert [path.read_text() for path in written] == ["/bin/true 10", "/bin/true 20 x"]


def test_a_failed_program_is_one_sentence_and_leaves_no_report(tmp_path: Path, stand_in: Path) -> None:
    done = optimas(tmp_path, "profile", "--ncu", stand_in, "-o", "p/s", "--", "/bin/true", "fail")
    assert done.returncode == 2
    assert "the program failed with exit code 3" in done.stderr
    assert "cannot open input" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.ncu-rep"))


def test_without_ncu_the_remedy_is_told(tmp_path: Path) -> None:
    if any(Path("/usr/local").glob("cuda*/bin/ncu")):
        pytest.skip("ncu is installed in the toolkit's usual place")
    done = optimas(tmp_path, "profile", "--", "/bin/true")
    assert done.returncode == 2
    assert "ncu (Nsight Compute) is not installed here" in done.stderr


def test_a_program_is_asked_for(tmp_path: Path, stand_in: Path) -> None:
    done = optimas(tmp_path, "profile", "--ncu", stand_in)
    assert done.returncode == 2
    assert "no program was named" in done.stderr
