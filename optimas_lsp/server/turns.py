"""Whose turn it is to be read: reports near an open file come before those that nobody looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import asynccontextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


def steps(file: Path, folder: Path) -> int:
    """How many folders lie between the folder of ``file`` and ``folder``, up and down."""
    here, there = file.parent.parts, folder.parts
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False))))
    return len(here) + len(there) - 2 * shared


def nearest(file: Path, folders: Iterable[Path]) -> int:
    """Steps from ``file`` to the nearest of ``folders``; 0 where there is none."""
    return min((steps(file, folder) for folder in folders), default=0)


class Turns:
    """So many at a time; of those that wait, the one that ``rank`` puts lowest when a place is free goes next.

    Among equals it is the one that has waited longest.
    """

    def __init__(self, places: int, rank: Callable[[Path], int]) -> None:
        self._free = places
        self._rank = rank
        self._waiting: dict[asyncio.Future[None], Path] = {}

    @asynccontextmanager
    async def of(self, path: Path) -> AsyncGenerator[None]:
        """Hold a place for ``path``; waits for one."""
        await self._take(path)
        try:
            yield
        finally:
            self._give()

    async def _take(self, path: Path) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = path
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give()  # the place came in the same moment
            raise
        finally:
            self._waiting.pop(turn, None)

    def _give(self) -> None:
        open_ = {turn: path for turn, path in self._waiting.items() if not turn.done()}
        if open_:
            min(open_, key=lambda turn: self._rank(open_[turn])).set_result(None)
        else:
            self._free += 1
