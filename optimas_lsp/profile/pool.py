"""Distils one report in worker processes, and keeps their deaths from hurting anybody else."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optimas_lsp.errors import OptimasError, ReportError, WorkerError
from optimas_lsp.profile.job import MEMORY_EXIT, Job, Order, cut
from optimas_lsp.profile.limits import MB, Limits, Progress
from optimas_lsp.profile.process import WorkerProcess

_POLL_SECONDS = 0.05
_MANY_BYTES = 4 * MB
"""A report of this size holds many launches: further workers start before it is known how many."""

_MOST_DEATHS = 4
_PIECES = 4
"""A slice whose worker died is read once more, in this many pieces."""


class CancelledError(WorkerError):
    """Whoever asked for a profile no longer wants it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where the distilled profile is. ``failure`` says why ``path`` lacks what enriching adds, None when whole."""

    path: Path
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    order: Order
    retried: bool = False


class Pool:
    """Distils one report; one object a report, one :meth:`run` an object."""

    def __init__(
        self, job: Job, folder: Path, limits: Limits, progress: Progress | None, cancel: threading.Event | None
    ) -> None:
        self._job = job
        self._folder = folder
        self._limits = limits
        self._progress = progress
        self._cancel = cancel
        self._deadline = time.monotonic() + limits.time_limit_seconds
        self._events: queue.SimpleQueue[tuple[WorkerProcess, dict[str, Any] | None]] = queue.SimpleQueue()
        self._running: list[WorkerProcess] = []
        self._doing: dict[WorkerProcess, _Task] = {}
        self._held: dict[WorkerProcess, list[Order]] = {}
        self._idle: list[WorkerProcess] = []
        self._deaths = 0
        self._pending: deque[_Task] = deque()
        self._parts: list[str] = []
        self._total = 0
        self._read = 0
        self._told = 0  # progress never runs backwards, even when a slice is read again
        self._failure: str | None = None

    def run(self) -> Outcome:
        """Distil; returns when the profile is on disk.

        Raises ReportError as the reader found it, WorkerError when a worker died, CancelledError when cancelled.
        No process is left behind whichever way this ends.
        """
        try:
            self._give(self._start(), _Task(Order("plan")))
            if Path(self._job.path).stat().st_size > _MANY_BYTES:
                self._idle += [self._start() for _ in range(1, self._job.workers)]
                for worker in self._idle:
                    worker.send(Order("open").line())
            while self._running:
                self._check()
                try:
                    worker, message = self._events.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                if message is None:
                    self._ended(worker)
                else:
                    self._answer(worker, message)
                self._share_out()
        finally:
            for worker in self._running:
                worker.kill()
        whole, plain = Path(self._job.whole), Path(self._job.plain)
        return Outcome(whole) if whole.exists() else Outcome(plain, self._failure or "its worker left no answer")

    def _check(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise CancelledError("reading was cancelled", where=self._job.shown)
        if time.monotonic() > self._deadline:
            raise WorkerError(
                f"reading took longer than {self._limits.time_limit_seconds:g} s and was ended",
                where=self._job.shown,
                remedy="raise profiles.timeLimitSeconds, or profile fewer launches (ncu -c N, -k regex:NAME)",
            )

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._folder, self._events)
        self._running.append(worker)
        worker.send(self._job.line())
        return worker

    def _share_out(self) -> None:
        """Give what is to be done to workers at hand or new ones; let go of those that nothing is left for."""
        while self._pending and (self._idle or len(self._running) < self._job.workers):
            self._give(self._idle.pop() if self._idle else self._start(), self._pending.popleft())
        while self._idle and self._total:
            self._give(self._idle.pop(), None)

    def _give(self, worker: WorkerProcess, task: _Task | None) -> None:
        """Hand over the next task, or let the worker go."""
        worker.done = 0
        if task is None:
            self._doing.pop(worker, None)
        else:
            self._doing[worker] = task
        worker.send((task.order if task else Order("end")).line())

    def _answer(self, worker: WorkerProcess, message: dict[str, Any]) -> None:
        if "error" in message:
            raise _rebuild(message["error"])
        if "slices" in message:
            (start, stop), *others = message["slices"]
            self._total = others[-1][1] if others else stop
            self._doing[worker] = _Task(Order("slice", start=start, stop=stop))
            self._pending.extend(_Task(Order("slice", start=a, stop=b)) for a, b in others)
        if "done" in message:
            self._advance(int(message["done"]) - worker.done)
            worker.done = int(message["done"])
        if "read" in message:
            self._slice_read(worker, int(message["read"]))
        if "part" in message:
            self._parts.append(str(message["part"]))
            del self._held[worker], self._doing[worker]
            self._next(worker)
        if "finished" in message:
            self._give(worker, None)

    def _slice_read(self, worker: WorkerProcess, reached: int) -> None:
        """The worker holds another slice; what it does next depends on what is left and who else is at work."""
        task = self._doing.pop(worker)
        self._held.setdefault(worker, []).append(replace(task.order, stop=reached))
        if reached < task.order.stop:  # it is full: a fresh process reads the rest
            self._pending.appendleft(replace(task, order=replace(task.order, start=reached)))
            self._flush(worker)
        elif self._pending:
            self._give(worker, self._pending.popleft())
        elif self._doing:
            self._flush(worker)
        else:
            self._next(worker)

    def _flush(self, worker: WorkerProcess) -> None:
        part = self._folder / f"{self._held[worker][0].start:09}.part"
        self._give(worker, _Task(Order("flush", part=str(part))))

    def _next(self, worker: WorkerProcess) -> None:
        """Let the worker go, unless it is the last one: that merges everything."""
        last = not self._pending and not self._doing
        self._give(worker, _Task(Order("finish", parts=tuple(sorted(self._parts)))) if last else None)

    def _advance(self, launches: int) -> None:
        self._read += launches
        if self._progress is not None and self._read > self._told:
            self._told = self._read
            self._progress(self._read, self._total)

    def _ended(self, worker: WorkerProcess) -> None:
        self._running.remove(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        task = self._doing.pop(worker, None)
        worker.close()
        if task is None:
            return
        why = self._describe(worker)
        self._deaths += 1
        again = self._again(worker, task, why)
        if again is None or self._deaths > _MOST_DEATHS:
            raise WorkerError(
                f"{why} while reading {_launches(task.order)}",
                where=self._job.shown,
                remedy="raise profiles.memoryLimitMb, or profile fewer launches"
                if worker.status in (MEMORY_EXIT, -signal.SIGKILL)
                else "copy the report again; if it opens in ncu-ui, please file an issue with it",
            )
        self._pending.extend(again)

    def _again(self, worker: WorkerProcess, task: _Task, why: str) -> list[_Task] | None:
        """What has to be done once more because ``worker`` died at ``task``; None when that is hopeless."""
        order = task.order
        lost = [_Task(held, retried=True) for held in self._held.pop(worker, [])]
        self._advance(-worker.done - sum(held.order.stop - held.order.start for held in lost))
        if order.kind == "finish" and Path(self._job.plain).exists():  # it died enriching
            again = [_Task(Order("finish", parts=(self._job.plain,)))] if self._failure is None else []
            self._failure = why
            return again
        if order.kind == "finish" and not lost:
            return [task]
        if order.kind == "slice":
            if task.retried or order.stop - order.start < 2:
                return None
            pieces = cut(order.start, order.stop, _PIECES, fewest=1)
            return lost + [_Task(replace(order, start=a, stop=b), retried=True) for a, b in pieces]
        return lost or None

    def _describe(self, worker: WorkerProcess) -> str:
        if worker.status == MEMORY_EXIT:
            return f"a worker reached its memory limit of {self._limits.memory_limit_mb} MB"
        if worker.status < 0:
            known = -worker.status in set(signal.Signals)
            name = signal.Signals(-worker.status).name if known else f"signal {-worker.status}"
            hint = " (out of memory, or somebody killed it)" if -worker.status == signal.SIGKILL else ""
            return f"a worker was ended by {name}{hint}"
        said = worker.last_words
        return f"a worker failed with status {worker.status}" + (f" ({said})" if said else "")


def _launches(order: Order) -> str:
    return f"launches {order.start} to {order.stop - 1}" if order.stop else "the report"


def _rebuild(error: dict[str, Any]) -> OptimasError:
    kind = ReportError if error["kind"] == "ReportError" else WorkerError
    return kind(error["what"], where=error["where"], line=error["line"], remedy=error["remedy"])
