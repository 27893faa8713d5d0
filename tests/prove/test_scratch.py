"""What a proof leaves behind when everything is killed is ended and removed by the next one; others' is left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.prove.scratch import PREFIX, QUEUED, remove_stale, scratch

ROOT = Path(__file__).parents[2]
HOLD = """
import os, sys, subprocess
from pathlib import Path
from optimas_lsp.prove.scratch import scratch
with scratch("proof") as folder:
    (folder / "work").mkdir()
    quiet, environment = subprocess.DEVNULL, {**os.environ, "TMPDIR": str(folder / "work")}
    child = subprocess.Popen(["sleep", "333"], env=environment, start_new_session=True, stdin=quiet, stdout=quiet)
    print(folder, child.pid, flush=True)
    sys.stdin.read()
"""
PROVE = """
import sys
from pathlib import Path
from optimas_lsp.prove.executors.local import Local
running = Local().submit(Path(sys.argv[1]))
print(running._process.pid, flush=True)
running.collect()
"""


def until(condition: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(1500):
        if condition():
            return
        tick.wait(0.02)
    raise AssertionError("it did not happen within 30 s")


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path("/proc", str(pid), "stat").read_text("utf-8", "replace").rpartition(") ")[2][0] != "Z"
    return False


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files, for this process and those it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def holder() -> tuple[subprocess.Popen[str], Path, int]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder, child = process.stdout.readline().split()
    return process, Path(folder), int(child)


def test_a_folder_goes_with_its_block(place: Path) -> None:
    with scratch("proof") as folder:
        assert folder.parent == place
        assert remove_stale() == ()
        assert folder.is_dir()
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_process_and_what_ran_in_it_are_gone_at_the_next_start(place: Path) -> None:
    process, folder, child = holder()
    with scratch("proof"):
        assert folder.is_dir()
    assert alive(child)
    process.kill()
    process.wait()
    assert folder.is_dir()
    with scratch("proof"):
        assert not folder.exists()
    until(lambda: not alive(child))


def test_the_folder_of_a_living_process_is_left_alone(place: Path) -> None:
    process, folder, child = holder()
    assert remove_stale() == ()
    assert folder.is_dir()
    process.communicate("", timeout=180)
    assert not folder.exists()
    os.kill(child, signal.SIGKILL)


def test_what_only_looks_like_one_is_left_alone(place: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".owner").touch()
    (place / f"{PREFIX}proof-link").symlink_to(tmp_path / "mine")
    (place / f"{PREFIX}proof-new").mkdir()
    (place / f"{PREFIX}proof-file").touch()
    assert remove_stale() == ()
    assert (tmp_path / "mine" / ".owner").is_file()
    assert len(list(place.iterdir())) == 3


def test_a_slurm_job_of_a_killed_process_is_cancelled(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "scancel"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/cancelled\n', "utf-8")
    tool.chmod(0o755)
    process, folder, _child = holder()
    (folder / QUEUED).write_text("4711", "utf-8")
    process.kill()
    process.wait()
    monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)
    assert remove_stale() == (folder,)
    assert (tmp_path / "cancelled").read_text() == "4711\n"


def test_a_runner_ends_with_everything_when_whoever_started_it_is_killed(packed, place: Path) -> None:
    job = packed(build=[["sh", "-c", "(setsid sleep 334 &); echo $$ > ../../started; exec sleep 334"]])
    starter = subprocess.Popen([sys.executable, "-c", PROVE, str(job.folder)], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    runner = int(starter.stdout.readline())
    until((job.folder / "started").is_file)
    starter.kill()
    starter.wait()
    until(lambda: not alive(runner))
    sleepers = [each for each in Path("/proc").iterdir() if each.name.isdigit() and b"sleep\x00334" in command(each)]
    assert sleepers == []


def command(process: Path) -> bytes:
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_bytes()
    return b""
