"""Run a job on this machine, as a process group of its own."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.prove.executors.outcome import Event, ExecutorError, Outcome, Running, read_outcome
from optimas_lsp.prove.executors.shared_witness import SharedWitness
from optimas_lsp.prove.executors.tail import EventTail
from optimas_lsp.prove.runner.process import PARENT
from optimas_lsp.prove.runner.record import KEY

POLL_S = 0.1
PATIENCE_S = 20.0
"""How long a runner may take to end what it started before it is killed."""

WITNESS = SharedWitness()


@dataclass(frozen=True)
class Local:
    """This machine; ``python`` is any Python 3.8 or newer."""

    python: str = sys.executable

    def submit(self, job: Path) -> Running:
        """Start the runner; raises ExecutorError when there is no such Python.

        The first time on a machine with a GPU it takes seconds, because the witness is built.
        """
        return LocalRun(self.python, job, WITNESS.variables(job))


class LocalRun:
    """One runner process; it does not outlive this one."""

    def __init__(self, python: str, job: Path, witness: Mapping[str, str]) -> None:
        self._job = job.absolute()
        self._key = secrets.token_hex(32)
        self._tail = EventTail(self._job / "events.jsonl")
        with (self._job / "runner.log").open("wb") as log:
            try:
                self._process = subprocess.Popen(
                    [python, str(self._job / "runner.pyz"), str(self._job)],
                    env={**os.environ, **witness, KEY: self._key, PARENT: str(os.getpid())},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                raise ExecutorError(f"cannot be started: {error.strerror}", where=python) from None

    def events(self) -> Iterator[Event]:
        """Progress until the runner ends."""
        ended = False
        while not ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_S)
                ended = True
            yield from self._tail.new()

    def cancel(self) -> None:
        """Ask the runner to end everything; kill it, and what it left, when it does not."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            from optimas_lsp.prove.runner.process import end_leftovers

            end_leftovers(self._job / "work")

    def collect(self) -> Outcome:
        """Wait for the end; raises ExecutorError when the runner left nothing that can be believed."""
        status = self._process.wait()
        return read_outcome(self._job, self._key, status)
