"""Servers that share a state folder know of each other: each keeps a file locked as long as it lives.

The system releases a lock when its process ends, however it ends, so nothing is stale after a crash, and no process
id is believed, which may be another process's by now. Everything here blocks and is called off the event loop.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import threading
from pathlib import Path
from typing import BinaryIO

from optimas_lsp.profile.replace import remove_parts
from optimas_lsp.profile.turn import fcntl, is_free, made_locked, stands

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
            if self._held is not None and stands(self._held, path):
                return
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = made_locked(path)
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
            if fcntl is not None and not is_free(path):
                return True
            path.unlink()  # where there is no flock, an open file cannot be removed: only this tells
        except FileNotFoundError:
            return False
        except OSError:
            return fcntl is None
        return False

    def sweep(self) -> None:
        """Clear up after servers that were killed."""
        remove_parts(self._folder, "*.new")
        for path in self._folder.glob("*" + SUFFIX):
            self.alive(path.name.removesuffix(SUFFIX))
