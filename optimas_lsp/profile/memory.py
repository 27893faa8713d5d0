"""Bounds a worker process from inside: memory it may use, and the parent it lives for."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import IO

from optimas_lsp.profile.job import MEMORY_EXIT, ORPHAN_EXIT
from optimas_lsp.profile.limits import MB

_WATCH_SECONDS = 0.05
_ADDRESS_ROOM_MB = 2048
"""Address space beyond the memory limit: libraries map far more than they touch."""

_STATM = Path("/proc/self/statm")


def own_mb() -> float:
    """Resident memory of this process in MB that no file backs (a mapped report is the system's to drop).

    The peak of all resident memory so far where the system does not tell; 0 on Windows.
    """
    try:
        _, resident, shared, *_ = _STATM.read_bytes().split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGESIZE") / MB
    except (OSError, AttributeError):
        return _peak_mb()


def guard(limit_mb: int) -> None:
    """End this process (status ``MEMORY_EXIT``) when it uses more than ``limit_mb``; no core dumps.

    Windows has no such limits; the parent's time limit still holds there.
    """
    resource = _resource()
    if resource is not None:
        _lower(resource, resource.RLIMIT_AS, (limit_mb + _ADDRESS_ROOM_MB) * MB)
        _lower(resource, resource.RLIMIT_CORE, 0)
        threading.Thread(target=_watch, args=(limit_mb,), daemon=True).start()


def watch_parent(lines: IO[bytes], orders: queue.SimpleQueue[bytes]) -> None:
    """Pass each line on; at the end of the stream, which the parent holds open while it lives, end this process."""
    for line in lines:
        orders.put(line)
    os._exit(ORPHAN_EXIT)


def _resource() -> ModuleType | None:
    try:
        import resource
    except ImportError:
        return None
    return resource


def _peak_mb() -> float:
    resource = _resource()
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KB elsewhere
    return 0.0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def _lower(resource: ModuleType, which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(which, (value, hard))
    except (OSError, ValueError):
        return  # macOS refuses to bound the address space; the watch bounds resident memory there


def _watch(limit_mb: int) -> None:
    while own_mb() <= limit_mb:
        time.sleep(_WATCH_SECONDS)
    os._exit(MEMORY_EXIT)
