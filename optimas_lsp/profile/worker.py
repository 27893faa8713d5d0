"""The worker process: reads slices of a report, then ends and takes what the native reader leaked with it.

Run as ``python -m optimas_lsp.profile.worker``; it takes a job and orders (lines of JSON) on standard input and answers
with lines of JSON. The native reader may print: whatever it writes goes nowhere, never into an editor's LSP stream.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, TextIO, cast

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.distilled import dump, read
from optimas_lsp.profile.job import MEMORY_EXIT, Job, Order, cut, slice_count
from optimas_lsp.profile.memory import guard, own_mb, watch_parent
from optimas_lsp.profile.merge import merge
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.notes import annotate
from optimas_lsp.profile.replace import write_atomically

if TYPE_CHECKING:
    from optimas_lsp.profile.readers.ncu import Reader

_PROGRESS_SECONDS = 0.05
_PART_MB = 1 << 20
"""No limit: parts are our own, and the memory limit holds."""


class Channel:
    """Sends lines of JSON to the parent; progress is thinned to what an eye can follow."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._last = 0.0

    def send(self, **message: object) -> None:
        """Send one message now."""
        self._stream.write(json.dumps(message).encode("ascii") + b"\n")
        self._stream.flush()

    def progress(self, done: int, last: bool) -> None:
        """Tell how many launches of the slice are read, twenty times a second at most."""
        now = time.monotonic()
        if last or now - self._last > _PROGRESS_SECONDS:
            self._last = now
            self.send(done=done)


class Work:
    """Carries out the orders for one job."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self._job = job
        self._channel = channel
        self._reader: Reader | None = None
        self._kept: list[Profile] = []
        self._flushed = ""

    def do(self, order: Order) -> None:
        """Carry out one order; raises OptimasError."""
        if order.kind == "finish":
            self._finish(order)
            return
        if order.kind == "flush":
            self._kept += self._take()
            write_atomically(Path(order.part), dump(merge(self._kept), packed=False))
            self._flushed = order.part
            self._channel.send(part=order.part)
            return
        if self._reader is None:
            from optimas_lsp.profile.readers.ncu import Reader

            self._reader = Reader(self._job)
        if order.kind == "open":
            return
        start, stop = order.start, order.stop
        if order.kind == "plan":
            slices = cut(0, self._reader.launches, slice_count(self._job.workers))
            self._channel.send(slices=slices)
            start, stop = slices[0]
        reached = self._reader.read(start, stop, self._channel.progress, self._full)
        self._channel.send(read=reached)

    def _take(self) -> list[Profile]:
        """What was read since the last time, as a list of none or one."""
        part = self._reader.take() if self._reader else None
        return [] if part is None else [part]

    def _full(self) -> bool:
        return own_mb() > self._job.slice_mb

    def _finish(self, order: Order) -> None:
        """Merge; write, then enrich: if enriching kills the process, the plain profile is still there."""
        others = [read(Path(part), _PART_MB, trusted=True) for part in order.parts if part != self._flushed]
        merged = annotate(merge([*others, *self._kept, *self._take()]), report_mtime=self._job.mtime)
        if self._job.enrich:
            write_atomically(Path(self._job.plain), dump(merged, packed=True))
            module, _, function = self._job.enrich.partition(":")
            enrich = cast("Callable[[Profile], Profile]", getattr(importlib.import_module(module), function))
            merged = enrich(merged)
        write_atomically(Path(self._job.whole), dump(merged, packed=True))
        self._channel.send(finished=True)


def main() -> int:
    """Do the orders of one job; the exit status is 0 unless the process had to give up."""
    channel = _take_output()
    gc.disable()  # this process ends before cycles could matter, and looking for them costs a tenth of the time
    job = Job.parse(sys.stdin.buffer.readline())
    guard(job.memory_limit_mb)
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=watch_parent, args=(sys.stdin.buffer, orders), daemon=True).start()
    work = Work(job, channel)
    try:
        while (order := Order.parse(orders.get())).kind != "end":
            work.do(order)
    except OptimasError as error:
        where = error.where
        channel.send(
            error={
                "kind": type(error).__name__,
                "what": error.what,
                "where": where,
                "line": error.line,
                "remedy": error.remedy,
            }
        )
    except MemoryError:
        return MEMORY_EXIT
    return 0


def _take_output() -> Channel:
    """Keep the parent's pipes for ourselves and give the native reader nothing to write to."""
    out, err = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.stderr = cast("TextIO", os.fdopen(err, "w", buffering=1, encoding="utf-8", errors="backslashreplace"))
    return Channel(os.fdopen(out, "wb"))


def _give_up(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say what went wrong and leave, not through the native reader's destructors: they abort and hide the reason."""
    sys.__excepthook__(kind, error, trace)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    sys.excepthook = _give_up
    os._exit(main())
