"""What jobs of killed servers left in the folder for temporary files goes; what a living server works in stays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from optimas_lsp.profile.turn import turn
from optimas_lsp.server.course_process import OWNER, SCRATCH, sweep

HOLDS = """
import sys, time
from pathlib import Path
from optimas_lsp.profile.turn import turn
with turn(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_server_left_ends_and_goes_and_nothing_else(temporary: Path) -> None:
    left, busy, new = (temporary / f"{SCRATCH}{name}" for name in ("left", "busy", "new"))
    for each in (left, busy, new):
        each.mkdir()
    server = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(left / OWNER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"held\n"
    works = subprocess.Popen(["sleep", "1000"], env={**os.environ, "TMPDIR": str(left)})
    with turn(busy / OWNER):
        sweep()
        assert left.exists()
        assert works.poll() is None
        server.kill()
        server.communicate()
        sweep()
        assert works.wait(timeout=120) != 0
        assert [left.exists(), busy.exists(), new.exists()] == [False, True, True]


def test_a_link_in_place_of_a_folder_is_left_alone(temporary: Path) -> None:
    real = temporary / "real"
    real.mkdir()
    (real / OWNER).write_text("")
    (temporary / f"{SCRATCH}link").symlink_to(real)
    sweep()
    assert (real / OWNER).exists()
