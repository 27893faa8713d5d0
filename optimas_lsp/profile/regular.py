"""Reading a file that anybody may have put there: never waits on a pipe or device, never reads without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def opened(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the regular file at ``path``; raises OSError, FileNotFoundError for what is no regular file."""
    more = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags | more, 0o600)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ELOOP):  # a socket, or links without end
            raise FileNotFoundError(errno.ENOENT, "no regular file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise FileNotFoundError(errno.ENOENT, "no regular file", str(path))
    return number


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of the file at ``path``; raises OSError, also for one of more than ``limit`` bytes."""
    with os.fdopen(opened(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > limit else file.read(limit + 1)  # it may grow meanwhile
    if max(size, len(data)) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes", str(path))
    return data
