"""SIGTERM and a closed terminal end a command as Ctrl-C does: with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


def _wanted() -> list[int]:
    """The signals, without those that somebody chose to ignore (nohup)."""
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def stopped_like_ctrl_c() -> Generator[None]:
    """While this holds, SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _wanted()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """``asyncio.run`` that SIGTERM and SIGHUP cancel, too; raises KeyboardInterrupt once everything has ended."""
    try:
        return asyncio.run(_watched(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _watched(work: Coroutine[Any, Any, Result]) -> Result:
    loop, whole = asyncio.get_running_loop(), asyncio.current_task()
    if whole is None:  # a coroutine that runs is a task's
        return await work
    with contextlib.ExitStack() as stack:
        for number in _wanted():
            with contextlib.suppress(NotImplementedError, RuntimeError):  # on Windows, or not in the main thread
                loop.add_signal_handler(number, whole.cancel)
                stack.callback(loop.remove_signal_handler, number)
        return await work
