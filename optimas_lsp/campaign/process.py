"""One experiment in a process of its own, with a time limit and the seconds of each stage; all can be ended at once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from optimas_lsp.course.request import Request
from optimas_lsp.errors import OptimasError

GRACE_S = 20.0
"""An experiment that was told to end has this long to end what it started (seconds)."""


class LostError(OptimasError):
    """The process of an experiment died without an answer; it may be tried again."""


class NotAcceptedError(OptimasError):
    """An experiment would send or run what was not accepted."""


@dataclass
class Answer:
    """The last message of the process, and wall seconds by stage, with ``start`` and ``total``."""

    message: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


class Children:
    """The processes that this one started for experiments."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False

    def start(self, command: list[str], stderr: Any, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start one in a session of its own, so that a Ctrl-C on the terminal reaches us first; adds ``variables``."""
        with self._lock:
            if self._closed:
                raise LostError("the campaign is being ended")
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **variables},
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
            self._running.add(process)
        return process

    @property
    def closed(self) -> bool:
        """Whether all are being ended."""
        return self._closed

    def gone(self, process: subprocess.Popen[str]) -> None:
        """It has ended and was waited for."""
        with self._lock:
            self._running.discard(process)

    def open(self) -> None:
        """Let processes be started (again)."""
        with self._lock:
            self._closed = False

    def end_all(self) -> None:
        """Let none start any more, end those that run, and return when they are gone."""
        with self._lock:
            self._closed = True
            running = tuple(self._running)
        for process in running:
            _tell(process)
        until = time.monotonic() + GRACE_S
        for process in running:
            _kill_after(process, until - time.monotonic())


CHILDREN = Children()


def run(request: Request, limit_s: float, variables: Mapping[str, str] | None = None) -> Answer:
    """Run one request to its answer; an experiment over its time limit is ended, which is an answer, too.

    ``variables`` are added to its process's environment.
    Raises LostError when the process died, NotAcceptedError when something was not accepted before.
    """
    began = last = time.monotonic()
    seconds: dict[str, float] = {}
    stage = "start"
    with tempfile.TemporaryFile() as stderr:
        process = CHILDREN.start([sys.executable, "-P", "-m", "optimas_lsp.course"], stderr, variables or {})
        expired = threading.Event()
        late = threading.Timer(limit_s, _expire, [process, expired])
        late.daemon = True
        late.start()
        message: dict[str, Any] = {}
        try:
            if process.stdin is None or process.stdout is None:
                raise LostError("the experiment's process has no pipes")
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(request.model_dump_json() + "\n")
                process.stdin.flush()
            for line in process.stdout:
                message = cast("dict[str, Any]", json.loads(line))
                now = time.monotonic()
                seconds[stage] = seconds.get(stage, 0.0) + now - last
                last = now
                if message["kind"] != "progress":
                    break
                stage = str(message["stage"])
        except ValueError:
            message = {}
        finally:
            late.cancel()
            _end(process)
            CHILDREN.gone(process)
        seconds["total"] = time.monotonic() - began
        if message.get("kind") in {"outcome", "error"}:
            return Answer(message, seconds)
        if message.get("kind") == "consent":
            words = "; ".join(str(each["sentence"]) for each in message["actions"])
            raise NotAcceptedError(
                f"this was not accepted: {words}", where=str(message["folder"]), remedy="start the campaign again"
            )
        if expired.is_set():
            what = f"it took longer than the time limit of {limit_s:g} s and was ended in the stage {stage}"
            return Answer({"kind": "error", "type": "TimeLimitError", "what": what}, seconds)
        stderr.seek(0)
        words = stderr.read().decode("utf-8", "replace").strip().splitlines()
    raise LostError(
        f"the experiment's process ended with status {process.returncode} in the stage {stage} and gave no answer"
        + (f": {words[-1][:300]}" if words else "")
    )


def _expire(process: subprocess.Popen[str], expired: threading.Event) -> None:
    expired.set()
    _end(process)


def _tell(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


def _end(process: subprocess.Popen[str]) -> None:
    """End it in order: its standard input closes and it is told; what does not end in time is killed."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    if process.poll() is None:
        _tell(process)
    _kill_after(process, GRACE_S)


def _kill_after(process: subprocess.Popen[str], seconds: float) -> None:
    try:
        process.wait(max(0.1, seconds))
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
