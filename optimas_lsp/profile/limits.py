"""What reading one report may cost: workers, time, memory and the size of what is unpacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # settings take a while to import, and workers need none
    from optimas_lsp.config import Profiles

Progress = Callable[[int, int], None]
"""Called with (launches read, launches in all)."""

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on reading one report.

    ``workers``: processes at a time, 0 for one a core and two at most. ``time_limit_seconds``: for the whole report.
    ``memory_limit_mb``: resident memory at which a worker is ended. ``slice_mb``: resident memory at which a worker
    ends of itself and leaves the remaining launches to a fresh one, which bounds what the native reader leaks.
    ``unpacked_mb``: bytes a compressed report or distilled profile may unpack to. ``cache_mb``: size the cache folder
    is pruned to.
    """

    workers: int = 0
    time_limit_seconds: float = 300.0
    memory_limit_mb: int = 4096
    slice_mb: int = 640
    unpacked_mb: int = 4096
    cache_mb: int = 1024

    @classmethod
    def of(cls, settings: Profiles) -> Limits:
        """The limits that the user's settings ask for."""
        return cls(
            workers=settings.workers,
            time_limit_seconds=settings.time_limit_seconds,
            memory_limit_mb=settings.memory_limit_mb,
        )
