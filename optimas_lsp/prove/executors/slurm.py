"""Run a job under Slurm, from a machine that has sbatch and shares its files with the compute nodes."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.prove.executors.outcome import Event, ExecutorError, Outcome, Running, read_outcome
from optimas_lsp.prove.executors.tail import EventTail
from optimas_lsp.prove.runner.record import KEY
from optimas_lsp.prove.scratch import QUEUED

POLL_S = 1.0
_OVER = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL", "DEADLINE"}
)
_EXPORTED = ("PATH", "HOME", "LANG", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", KEY)


@dataclass(frozen=True)
class Slurm:
    """How to ask for a node: ``gpus`` is what --gres asks for ('' for none), ``time`` as sbatch reads it."""

    partition: str = ""
    account: str = ""
    gpus: str = "gpu:1"
    time: str = "00:30:00"
    options: tuple[str, ...] = ()
    python: str = "python3"

    def submit(self, job: Path) -> Running:
        """Queue the job; raises ExecutorError with sbatch's own words."""
        if shutil.which("sbatch") is None:
            raise ExecutorError("sbatch was not found", remedy="run this where jobs are submitted, or use ssh")
        return SlurmRun(self, job.absolute())

    @property
    def asked(self) -> list[str]:
        """What the settings have sbatch ask for."""
        named = (("partition", self.partition), ("account", self.account), ("gres", self.gpus), ("time", self.time))
        return [*(f"--{name}={value}" for name, value in named if value), *self.options]

    def arguments(self, job: Path) -> list[str]:
        """The command line of sbatch; the script comes on standard input."""
        output = ["--job-name=optimas-proof", f"--output={job / 'runner.log'}", f"--chdir={job}"]
        return [
            "sbatch",
            "--parsable",
            "--no-requeue",
            f"--export={','.join(_EXPORTED)}",
            *output,
            *self.asked,
        ]


class SlurmRun:
    """One queued or running job."""

    def __init__(self, place: Slurm, job: Path) -> None:
        self._job, self._key = job, secrets.token_hex(32)
        self._tail = EventTail(job / "events.jsonl")
        self._cancelled = threading.Event()
        script = f"#!/bin/sh\nexec {shlex.quote(place.python)} runner.pyz {shlex.quote(str(job))}\n"
        done = subprocess.run(
            place.arguments(job),
            input=script,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, KEY: self._key},
        )
        if done.returncode:
            raise ExecutorError(f"sbatch refused: {done.stderr.strip()}", remedy="check partition, account and gpus")
        self.number = done.stdout.strip().split(";")[0]
        (job / QUEUED).write_text(self.number, "utf-8")

    def state(self) -> tuple[str, int | None]:
        """(Slurm's state, exit status when it is over); ('UNKNOWN', None) when Slurm has forgotten the job."""
        done = subprocess.run(
            ["scontrol", "show", "job", "-o", self.number], capture_output=True, text=True, check=False
        )
        state = re.search(r"\bJobState=(\w+)", done.stdout)
        status = re.search(r"\bExitCode=(\d+):(\d+)", done.stdout)
        if state is None:
            return "UNKNOWN", None
        number = int(status.group(1)) or -int(status.group(2)) if status else None
        return state.group(1), number if state.group(1) in _OVER else None

    def events(self) -> Iterator[Event]:
        """Slurm's states (queued, running, …) and the runner's progress, until the job is over."""
        shown, over = "", False
        while not over:
            state, _status = self.state()
            over = state in _OVER or state == "UNKNOWN"
            if state != shown:
                shown = state
                yield Event(stage="slurm", text=f"job {self.number}: {_WORDS.get(state, state.lower())}")
            yield from self._tail.new()
            if not over:
                time.sleep(0.2 if self._cancelled.is_set() else POLL_S)

    def cancel(self) -> None:
        """scancel, and wait until Slurm says that the job is over."""
        self._cancelled.set()
        subprocess.run(["scancel", self.number], capture_output=True, check=False)
        for _ in self.events():
            pass

    def collect(self) -> Outcome:
        """Wait for the end; raises ExecutorError when the runner left nothing that can be believed."""
        for _ in self.events():
            pass
        return read_outcome(self._job, self._key, self.state()[1])


_WORDS = {"PENDING": "queued", "RUNNING": "running", "COMPLETING": "ending", "COMPLETED": "done", "FAILED": "ended"}
