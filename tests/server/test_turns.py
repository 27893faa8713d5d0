"""Reports near an open file are read first; among equals the one that has waited longest."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from optimas_lsp.server.turns import Turns, nearest


def test_the_nearest_folder_counts_and_none_makes_all_alike() -> None:
    report = Path("/work/samples/accuracy/profile.ncu-rep")
    assert nearest(report, [Path("/work/samples/accuracy")]) == 0
    assert nearest(report, [Path("/work/samples/sobol"), Path("/work")]) == 2
    assert nearest(report, []) == 0


@pytest.mark.asyncio
async def test_what_lies_nearer_goes_before_what_has_waited_longer() -> None:
    open_folders = [Path("/a")]
    order: list[str] = []
    turns = Turns(1, lambda path: nearest(path, open_folders))
    first = asyncio.Event()

    async def read(path: str, until: asyncio.Event | None = None) -> None:
        async with turns.of(Path(path)):
            order.append(path)
            if until is not None:
                await until.wait()

    tasks = [asyncio.create_task(read("/b/0", first))]
    tasks += [asyncio.create_task(read(path)) for path in ("/c/1", "/c/2", "/a/3", "/a/b/4")]
    gone = asyncio.create_task(read("/a/gone"))
    await asyncio.sleep(0)
    gone.cancel()
    first.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["/b/0", "/a/3", "/a/b/4", "/c/1", "/c/2"]


@pytest.mark.asyncio
async def test_a_turn_that_is_cancelled_as_it_comes_is_passed_on() -> None:
    turns = Turns(1, lambda _path: 0)
    entered: list[int] = []
    begun, go = asyncio.Event(), asyncio.Event()

    async def read(number: int) -> None:
        async with turns.of(Path("/r")):
            entered.append(number)
            begun.set()
            await go.wait()
        if number == 0:
            tasks[1].cancel()  # its turn has come, and it has not run since

    tasks = [asyncio.create_task(read(number)) for number in range(4)]
    await begun.wait()
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert entered == [0, 2, 3]
    async with turns.of(Path("/r")):
        pass
