"""What a proof concluded, read from result.json only when the runner ended in order and sealed it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field, ValidationError

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Frozen
from optimas_lsp.prove.runner.blame import BASELINE
from optimas_lsp.prove.runner.record import seal

CANCELLED = 130
"""The runner's exit status after it was told to stop."""


class ExecutorError(OptimasError):
    """A job could not be started, reached or brought back."""


class GateOutcome(Frozen):
    """One rung of the ladder; ``files`` are evidence, relative to the job's folder."""

    name: str
    status: Literal["pass", "fail", "skipped"]
    sentence: str
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    facts: dict[str, Any] = Field(default_factory=dict)


class Outcome(Frozen):
    """The end of a proof. ``verdict`` is None when it was cancelled; ``recorded`` says where and when, if it was.

    Where the unchanged program failed (``fault``), nothing was shown of the candidate, and the verdict is "not proven".

    ``cost`` has each stage's seconds of wall time, and those of it that others took: builds, runs, tools, waiting.
    ``pending`` names the gates that stay open until the new profiles are read; everything else that is required passed.
    """

    verdict: Literal["proven", "rejected", "not proven"] | None
    gates: tuple[GateOutcome, ...]
    not_checked: tuple[str, ...] = ()
    machine: dict[str, Any] = Field(default_factory=dict)
    timing: dict[str, Any] | None = None
    cost: dict[str, Any] = Field(default_factory=dict)
    job: str = ""
    recorded: str | None = None
    pending: tuple[str, ...] = ()

    def gate(self, name: str) -> GateOutcome | None:
        """The gate of this name, if it was reached."""
        return next((gate for gate in self.gates if gate.name == name), None)

    @property
    def fault(self) -> GateOutcome | None:
        """The gate that the unchanged program failed; None: none, so that what failed is the candidate's."""
        failed = (gate for gate in self.gates if gate.status == "fail")
        return next((gate for gate in failed if gate.facts.get("side") == BASELINE), None)


class Event(Frozen):
    """One line of progress: the gate or state, a sentence, and counts where they are known."""

    stage: str
    text: str
    done: int | None = None
    total: int | None = None


class Running(Protocol):
    """A submitted job. ``events`` ends when the job does; ``cancel`` may be called at any moment, from any thread."""

    def events(self) -> Iterator[Event]:
        """Progress, as it happens."""
        ...

    def cancel(self) -> None:
        """End every process of the job, here and there; returns when they are gone."""
        ...

    def collect(self) -> Outcome:
        """Wait for the end and bring results and logs into the job's folder; raises ExecutorError."""
        ...


class Executor(Protocol):
    """A place where jobs run."""

    def submit(self, job: Path) -> Running:
        """Start the job in the folder ``job``; raises ExecutorError when that is not possible."""
        ...


def parse_outcome(result: dict[str, Any], *, where: Path | str, recorded: str | None = None) -> Outcome:
    """An Outcome from the content of result.json; raises ExecutorError."""
    known = {key: result[key] for key in Outcome.model_fields if key in result}
    try:
        return Outcome.model_validate({**known, "recorded": recorded})
    except ValidationError as error:
        raise ExecutorError(
            f"this is no result of a proof: {error.errors()[0]['msg']}", where=where, remedy="prove again"
        ) from None


def read_outcome(job: Path, key: str, status: int | None) -> Outcome:
    """The outcome of a job whose runner ended with exit status ``status`` (None: not known).

    Nothing is believed that the runner did not seal with ``key``, and no success without exit status 0: the candidate
    can write to the job's folder. Raises ExecutorError.
    """
    where = job / "result.json"
    try:
        result: dict[str, Any] = json.loads(where.read_text("utf-8"))
    except (OSError, ValueError):
        raise ExecutorError(
            f"the runner left no result (exit status {status})", where=job, remedy="look at the logs there"
        ) from None
    if not hmac.compare_digest(str(result.get("seal", "")), seal(result, key.encode())):
        raise ExecutorError("the result was not written by its runner", where=where, remedy="prove again")
    outcome = parse_outcome(result, where=where)
    if outcome.verdict == "proven" and status not in {0, None}:
        raise ExecutorError(f"the runner says proven but ended with exit status {status}", where=where)
    if outcome.verdict is None and status != CANCELLED:
        log = (job / "runner.log").read_text("utf-8", "replace") if (job / "runner.log").is_file() else ""
        words = log.strip().splitlines()[-1:] or [f"exit status {status}"]
        raise ExecutorError(
            f"the runner ended before the proof did ({words[0]})",
            where=job,
            remedy="look at the logs there, prove again",
        )
    return outcome


def parse_event(line: str) -> Event | None:
    """An Event from one line of events.jsonl; None for a line that is none."""
    try:
        entry = json.loads(line)
        return Event.model_validate({key: entry[key] for key in Event.model_fields if key in entry})
    except (ValueError, TypeError):
        return None
