"""Work off the event loop: daemon threads of our own, two at a time, which nothing waits for at exit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 2


class Background:
    """Runs short blocking work (looking at folders, comparing texts) in daemon threads."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of ``work(*args)``; what it raises is raised here. Abandoned when the waiting task ends."""
        loop = asyncio.get_running_loop()
        async with self._free:
            future: asyncio.Future[T] = loop.create_future()

            def settle(result: T | None, error: BaseException | None) -> None:
                if future.done():
                    return
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(result)  # pyright: ignore[reportArgumentType]

            def body() -> None:
                outcome: T | None = None
                failure: BaseException | None = None
                try:
                    outcome = work(*args, **kwargs)
                except BaseException as error:  # noqa: BLE001 - handed to whoever awaits
                    failure = error
                try:
                    loop.call_soon_threadsafe(settle, outcome, failure)
                except RuntimeError:
                    return  # the loop ended: nobody is left to tell

            threading.Thread(target=body, name="optimas-background", daemon=True).start()
            return await future
