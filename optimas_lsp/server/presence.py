"""Servers that share a state folder know of each other: each keeps a file locked as long as it lives.

The system releases a lock when its process ends, however it ends, so nothing is stale after a crash, and no process
id is believed, which may be another process's by now. Everything here blocks and is called off the event loop.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # no POSIX system
    fcntl = None

SUFFIX = ".server"


class Presence:
    """One server among those of the state folder ``root``; ``id`` names it there."""

    def __init__(self, root: Path) -> None:
        self.id = secrets.token_hex(8)
        self._folder = root / "servers"
        self._held: BinaryIO | None = None
        self._turn = threading.Lock()

    def _path(self, identifier: str) -> Path:
        return self._folder / (identifier + SUFFIX)

    def hold(self) -> None:
        """Let others see that this server lives, from now on; raises OSError where no lock can be had."""
        path = self._path(self.id)
        with self._turn:
            if self._held is not None and _is(self._held, path):
                return
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            made = path if fcntl is None else path.with_suffix(".new")
            handle = made.open("wb")
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    made.rename(path)  # locked before anybody can find it
            except OSError:
                handle.close()
                made.unlink(missing_ok=True)
                raise
            if self._held is not None:
                self._held.close()
            self._held = handle

    def leave(self) -> None:
        """Let others see that this server is gone."""
        with self._turn:
            if self._held is not None:
                self._held.close()
                self._held = None
                with contextlib.suppress(OSError):
                    self._path(self.id).unlink()

    def alive(self, identifier: str) -> bool:
        """Whether the server ``identifier`` lives; True also where that cannot be told. Clears up after a dead one."""
        if identifier == self.id:
            return True
        if not re.fullmatch(r"[0-9a-f]{16}", identifier):
            return False
        path = self._path(identifier)
        try:
            with path.open("rb") as handle:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    with contextlib.suppress(OSError):
                        path.unlink()
            if fcntl is None:
                path.unlink()  # where there is no flock, an open file cannot be removed
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def sweep(self) -> None:
        """Clear up after servers that were killed."""
        for path in self._folder.glob("*" + SUFFIX):
            self.alive(path.name.removesuffix(SUFFIX))


def _is(handle: BinaryIO, path: Path) -> bool:
    """Whether the open file still stands at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False


def is_free(path: Path) -> bool:
    """Whether nobody has their ``turn`` at the file at ``path``; False where that cannot be told, or there is none."""
    if fcntl is None:
        return False
    try:
        with path.open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def turn(path: Path) -> Generator[None]:
    """Hold the lock that is the file at ``path``, alone among all servers; raises OSError where it cannot be had."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("ab") as handle:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
