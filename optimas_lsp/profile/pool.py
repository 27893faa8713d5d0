"""Runs the worker processes that distil one report, and keeps their deaths from hurting anybody else."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import optimas_lsp
from optimas_lsp.errors import OptimasError, ReportError, WorkerError
from optimas_lsp.profile.job import MEMORY_EXIT, Job
from optimas_lsp.profile.limits import Limits, Progress

_POLL_SECONDS = 0.05
_STDERR_KEPT = 4096
_PIECES = 4
"""A slice whose worker died is read once more in this many pieces."""


class CancelledError(WorkerError):
    """Whoever asked for a profile no longer wants it."""


@dataclass(eq=False)
class _Worker:
    job: Job
    process: subprocess.Popen[bytes]
    retried: bool
    done: int = 0
    merged: bool = False
    complaint: deque[bytes] = field(default_factory=lambda: deque(maxlen=1))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where the distilled profile is. ``failure`` says why ``path`` lacks what enriching adds, None when whole."""

    path: Path
    failure: str | None = None


class Pool:
    """Distils one report in worker processes; one object a report."""

    def __init__(
        self, job: Job, folder: Path, limits: Limits, progress: Progress | None, cancel: threading.Event | None
    ) -> None:
        self._job = job
        self._folder = folder
        self._limits = limits
        self._progress = progress
        self._cancel = cancel
        self._deadline = time.monotonic() + limits.time_limit_seconds
        self._events: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]] = queue.SimpleQueue()
        self._running: list[_Worker] = []
        self._pending: deque[tuple[Job, bool]] = deque()
        self._total = 0
        self._read = 0
        self._told = 0  # progress never runs backwards, even when a slice is read again
        self._parts: list[str] = []
        self._unenriched = "the worker ended without an answer"

    def run(self) -> Outcome:
        """Distil; returns when the profile is on disk.

        Raises ReportError as the reader found it, WorkerError when a worker died, CancelledError when cancelled.
        No process is left behind whichever way this ends.
        """
        try:
            self._pending.append((self._job, False))
            self._drain()
            if Path(self._job.whole).exists():
                return Outcome(Path(self._job.whole))
            if not Path(self._job.plain).exists():
                self._pending.append((replace(self._job, kind="finish", parts=tuple(sorted(self._parts))), True))
                self._drain()
            if Path(self._job.whole).exists():
                return Outcome(Path(self._job.whole))
            return Outcome(Path(self._job.plain), self._unenriched)
        finally:
            for worker in self._running:
                _kill(worker.process)

    def _drain(self) -> None:
        workers = self._job.workers
        while self._pending or self._running:
            while self._pending and len(self._running) < workers:
                self._start(*self._pending.popleft())
            if self._cancel is not None and self._cancel.is_set():
                raise CancelledError("reading was cancelled", where=self._job.shown)
            if time.monotonic() > self._deadline:
                raise WorkerError(
                    f"reading took longer than {self._limits.time_limit_seconds:g} s and was ended",
                    where=self._job.shown,
                    remedy="raise profiles.timeLimitSeconds, or profile fewer launches (ncu -c N, -k regex:NAME)",
                )
            try:
                worker, message = self._events.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if message is None:
                self._ended(worker)
            else:
                self._answer(worker, message)

    def _start(self, job: Job, retried: bool) -> None:
        part = self._folder / f"{job.start:09}-{job.stop:09}-{retried:d}.part"
        job = replace(job, part=str(part))
        command = [sys.executable, "-P", "-m", "optimas_lsp.profile.worker"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env=_environment(),
            start_new_session=True,
        )
        worker = _Worker(job, process, retried)
        self._running.append(worker)
        threading.Thread(target=self._listen, args=(worker,), daemon=True, name="optimas-worker-out").start()
        threading.Thread(target=_keep_end, args=(worker,), daemon=True, name="optimas-worker-err").start()
        if process.stdin is not None:
            try:
                process.stdin.write(job.line())
                process.stdin.flush()  # left open: its end tells the worker that we are gone
            except BrokenPipeError:
                pass  # it died at once; its exit status says why

    def _listen(self, worker: _Worker) -> None:
        if worker.process.stdout is not None:
            with worker.process.stdout as out:
                for line in out:
                    self._events.put((worker, cast("dict[str, Any]", json.loads(line))))
        worker.process.wait()
        self._events.put((worker, None))

    def _answer(self, worker: _Worker, message: dict[str, Any]) -> None:
        if "error" in message:
            raise _rebuild(message["error"])
        if "slices" in message:
            slices = [(int(start), int(stop)) for start, stop in message["slices"]]
            self._total = slices[-1][1]
            worker.job = replace(worker.job, start=slices[0][0], stop=slices[0][1])
            self._pending.extend((replace(self._job, kind="slice", start=a, stop=b), False) for a, b in slices[1:])
        if "part" in message:
            self._parts.append(str(message["part"]))
        worker.merged = worker.merged or "merged" in message
        if "done" in message:
            self._advance(int(message["done"]) - worker.done)
            worker.done = int(message["done"])

    def _advance(self, launches: int) -> None:
        self._read += launches
        if self._progress is not None and self._read > self._told:
            self._told = self._read
            self._progress(self._read, self._total)

    def _ended(self, worker: _Worker) -> None:
        self._running.remove(worker)
        if worker.process.stdin is not None:
            worker.process.stdin.close()
        status = worker.process.returncode
        if status == 0:
            return
        why = _describe(worker, self._limits)
        if worker.merged:
            self._unenriched = why
            return
        size = worker.job.stop - worker.job.start
        if worker.job.kind == "finish" or worker.retried or size < 2:
            raise WorkerError(
                f"{why} while reading {_launches(worker.job)}",
                where=self._job.shown,
                remedy="raise profiles.memoryLimitMb, or profile fewer launches"
                if status in (MEMORY_EXIT, -signal.SIGKILL)
                else "copy the report again; if it opens in ncu-ui, please file an issue with it",
            )
        self._advance(-worker.done)
        edges = [worker.job.start + size * at // _PIECES for at in range(_PIECES + 1)]
        self._pending.extend(
            (replace(self._job, kind="slice", start=a, stop=b), True) for a, b in pairwise(edges) if a < b
        )


def _environment() -> dict[str, str]:
    """Ours, with this package importable; workers never look for modules in a workspace folder."""
    home = str(Path(optimas_lsp.__file__).resolve().parents[1])
    inherited = [str(Path(item).resolve()) for item in os.environ.get("PYTHONPATH", "").split(os.pathsep) if item]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([home, *inherited]), "PYTHONUNBUFFERED": "1"}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the worker and whatever it started, and wait until it is gone."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)  # the worker leads its own group, which has its id
        except (ProcessLookupError, PermissionError):
            process.kill()
    else:
        process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _keep_end(worker: _Worker) -> None:
    """Read standard error to its end (so that the worker never blocks on it) and keep the last few lines."""
    if worker.process.stderr is not None:
        with worker.process.stderr as err:
            end = b""
            while chunk := os.read(err.fileno(), 65536):
                end = (end + chunk)[-_STDERR_KEPT:]
                worker.complaint.append(end)


def _describe(worker: _Worker, limits: Limits) -> str:
    status = worker.process.returncode
    if status == MEMORY_EXIT:
        return f"a worker reached its memory limit of {limits.memory_limit_mb} MB"
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        hint = " (out of memory, or somebody killed it)" if -status == signal.SIGKILL else ""
        return f"a worker was ended by {name}{hint}"
    said = worker.complaint[0].decode("utf-8", "replace").strip().splitlines() if worker.complaint else []
    return f"a worker failed with status {status}" + (f" ({said[-1][:300]})" if said else "")


def _launches(job: Job) -> str:
    return "the report" if job.kind == "finish" or job.stop == 0 else f"launches {job.start} to {job.stop - 1}"


def _rebuild(error: dict[str, Any]) -> OptimasError:
    kind = ReportError if error["kind"] == "ReportError" else WorkerError
    return kind(error["what"], where=error["where"], line=error["line"], remedy=error["remedy"])
