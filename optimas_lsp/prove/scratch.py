"""Folders for what a proof does: held by a lock while their process lives, removed after it, also after a kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from optimas_lsp.prove.runner.process import end_leftovers

try:
    import fcntl
except ImportError:  # not on Windows, where no proof runs
    fcntl = None

PREFIX = "optimas-scratch-"
OWNER = ".owner"
"""The file in a scratch folder that its process holds locked."""

QUEUED = "slurm.job"
"""The file in a job's folder that names its Slurm job."""


@contextmanager
def scratch(kind: str) -> Generator[Path]:
    """A fresh folder, removed at the end; what processes that were killed left behind is removed first."""
    remove_stale()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
    try:
        with _held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale() -> tuple[Path, ...]:
    """Remove this user's scratch folders whose process is dead, and end what still runs in them; returns them.

    A folder without an owner's file is one that is being made just now.
    """
    gone: list[Path] = []
    if fcntl is None:
        return ()
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            now = folder.lstat()
            if not stat.S_ISDIR(now.st_mode) or now.st_uid != os.getuid():
                continue
            number = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            handle = stack.enter_context(os.fdopen(number, "rb"))
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end(folder)
            shutil.rmtree(folder, ignore_errors=True)
            gone.append(folder)
    return tuple(gone)


@contextmanager
def _held(folder: Path) -> Generator[None]:
    if fcntl is None:
        yield
        return
    made = folder / f"{OWNER}.new"
    with made.open("wb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        made.rename(folder / OWNER)  # locked before anybody can find it
        yield


def _end(folder: Path) -> None:
    """End what a killed process left: commands that have their temporary files there, and a queued Slurm job."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        number = (folder / QUEUED).read_text("utf-8").strip()
        if number.isdigit():
            subprocess.run(["scancel", number], capture_output=True, check=False, timeout=30)
    end_leftovers(folder)
