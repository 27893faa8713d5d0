"""One worker process as its parent sees it: its pipes, its last words and its certain end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import optimas_lsp

Events = queue.SimpleQueue[tuple["WorkerProcess", dict[str, Any] | None]]
_KEPT = 4096
"""Bytes of standard error that are kept, from its end."""


class WorkerProcess:
    """A worker in a process group of its own.

    Whatever it answers is put on ``events`` as (this, message), and (this, None) once it has ended. ``done`` is for
    the owner's book-keeping: launches of the present slice read so far.
    """

    def __init__(self, folder: Path, events: Events) -> None:
        """Start it in ``folder``; raises OSError when the system starts no process."""
        self.done = 0
        self._events = events
        self._complaint = b""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "optimas_lsp.profile.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
        )
        for work in (self._listen, self._keep_complaint):
            threading.Thread(target=work, daemon=True, name="optimas-worker").start()

    @property
    def status(self) -> int:
        """Exit status, the negative signal number if a signal ended it, 0 while it runs."""
        return self._process.returncode or 0

    @property
    def last_words(self) -> str:
        """The last line it wrote to standard error, empty if it said nothing."""
        lines = self._complaint.decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def send(self, line: bytes) -> None:
        """Give it one line; a worker that has died already is no error here, its end is an event."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line)
                self._process.stdin.flush()  # left open: its end tells the worker that we are gone

    def close(self) -> None:
        """Let go of the pipe to a worker that has ended."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def kill(self) -> None:
        """End it and whatever it started, and wait until it is gone."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)  # it leads a group of its own, which has its id
        self._process.kill()
        self._process.wait()
        self.close()

    def _listen(self) -> None:
        if self._process.stdout is not None:
            with self._process.stdout as out:
                for line in out:
                    self._events.put((self, cast("dict[str, Any]", json.loads(line))))
        self._process.wait()
        self._events.put((self, None))

    def _keep_complaint(self) -> None:
        """Read standard error to its end, so that the worker never blocks on it."""
        if self._process.stderr is not None:
            with self._process.stderr as err:
                while chunk := os.read(err.fileno(), 65536):
                    self._complaint = (self._complaint + chunk)[-_KEPT:]


def _environment() -> dict[str, str]:
    """Ours, with this package importable; with ``-P``, workers never look for modules in a workspace folder."""
    home = str(Path(optimas_lsp.__file__).resolve().parents[1])
    inherited = [str(Path(item).resolve()) for item in os.environ.get("PYTHONPATH", "").split(os.pathsep) if item]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([home, *inherited])}
