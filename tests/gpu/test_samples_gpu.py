"""Measure a sample again on the GPU at hand: the way the committed reports were made still works."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.needs import needs

pytestmark = needs("ncu", "nvcc", seconds=600)

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize("name", ["accuracy", "stream", "blame/late_use"])
def test_a_sample_measured_again_gives_the_recorded_checksums(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "samples"
    shutil.copytree(SAMPLES, copy, ignore=shutil.ignore_patterns("*.ncu-rep*", "provenance.json", "build"))
    command = [sys.executable, "-B", str(copy / "measure.py"), name, "--room", str(tmp_path / "room")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    before = json.loads((SAMPLES / name / "provenance.json").read_text(encoding="utf-8"))
    after = json.loads((copy / name / "provenance.json").read_text(encoding="utf-8"))
    assert after["sources"] == before["sources"]
    checksums = {k: row["checksum"] for k, row in after["runs"]["inputs"].items()}
    assert checksums == {k: row["checksum"] for k, row in before["runs"]["inputs"].items()}
    for report in after["reports"]:
        assert (copy / name / report["file"]).stat().st_size == report["bytes"] > 0
