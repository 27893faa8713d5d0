"""Writing a file in one step, so that nobody ever reads half of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


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
