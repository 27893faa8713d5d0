"""Writing a file in one step, so that nobody ever reads half of it."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path

_A_DAY = 86_400.0


def write_atomically(target: Path, data: bytes) -> None:
    """Write ``data`` beside ``target`` and rename it into place; raises OSError, leaving nothing behind."""
    part = target.with_name(f".{target.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
        part.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def remove_parts(folder: Path, pattern: str = ".*.part") -> None:
    """Remove what writers that were killed left in ``folder``: what is older than a day, so that no other loses its."""
    for part in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if part.lstat().st_mtime < time.time() - _A_DAY:
                part.unlink()
