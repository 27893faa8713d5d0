"""Watching real processes of a test: start the command, find what runs for it, wait for something to come about."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from optimas_lsp.prove.runner.process import descendants

MAIN = "import sys; sys.argv[0] = 'optimas'; from optimas_lsp.cli import main; main()"


def start(*words: str, **options: bool) -> subprocess.Popen[str]:
    """``optimas campaign`` with these words."""
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "campaign", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def processes(words: bytes) -> set[int]:
    """Processes whose command line holds ``words`` and whose state folder is this test's."""
    own = f"OPTIMAS_STATE_DIR={os.environ['OPTIMAS_STATE_DIR']}".encode()
    found: set[int] = set()
    for pid, _pages in descendants(1):
        try:
            if words in Path("/proc", str(pid), "cmdline").read_bytes():
                environment = Path("/proc", str(pid), "environ").read_bytes()
                if own in environment.split(b"\0"):
                    found.add(pid)
        except OSError:
            continue
    return found


def courses() -> set[int]:
    """Processes of experiments."""
    return processes(b"optimas_lsp.course")


def parent_of(pid: int) -> int:
    """The process that started it."""
    return int(Path("/proc", str(pid), "stat").read_text("utf-8").rpartition(")")[2].split()[1])


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return when it holds; fails after ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come about in time")


def command_of(pid: int) -> bytes:
    """Its command line, or what it calls itself; empty when it is gone."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""
