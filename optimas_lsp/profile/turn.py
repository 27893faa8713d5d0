"""Locks that are files: processes that share a folder take turns, and see which of them live.

The system releases a lock when its process ends, however it ends. Where it has no such locks (no POSIX system, or a
file system without them), ``turn`` lets everybody go on.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from optimas_lsp.profile.regular import opened

try:
    import fcntl
except ImportError:  # no POSIX system
    fcntl = None

SECONDS = 10.0
"""The longest wait for a turn: its holder changes one small file, so one that takes longer was stopped."""

_PAUSE = 0.02
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})


@contextmanager
def turn(path: Path, seconds: float = SECONDS) -> Generator[None]:
    """Hold the lock that is the file at ``path``, alone among all processes; blocks.

    Raises OSError where it cannot be had, TimeoutError among them when its holder does not go on.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(path, time.monotonic() + seconds):
        yield


def _locked(path: Path, end: float) -> BinaryIO:
    while True:
        handle = os.fdopen(opened(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)), "r+b")
        try:
            _wait(handle, path, end)
        except BaseException:
            handle.close()
            raise
        if fcntl is None or stands(handle, path):
            return handle
        handle.close()  # it was removed meanwhile: others would lock another one


def _wait(handle: BinaryIO, path: Path, end: float) -> None:
    while fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another process holds it and does not go on", str(path)) from None
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return
        else:
            return


def stands(handle: BinaryIO, path: Path) -> bool:
    """Whether the open file still stands at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False


def made_locked(path: Path) -> BinaryIO:
    """A new file at ``path``, locked before anybody can find it; raises OSError, also where nothing can be locked."""
    if fcntl is None:  # an open file cannot be removed there
        return path.open("wb")
    made = path.with_suffix(".new")
    handle = made.open("wb")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made.rename(path)
    except OSError:
        handle.close()
        with contextlib.suppress(OSError):
            made.unlink()
        raise
    return handle


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock at ``path``; False where that cannot be told.

    Raises FileNotFoundError where there is none.
    """
    if fcntl is None:
        return False
    try:
        with os.fdopen(opened(path), "rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    return True
