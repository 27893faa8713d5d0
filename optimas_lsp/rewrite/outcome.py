"""How a rewrite ended and everything that led there (schema ``optimas.rewrite/1``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field

from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.profile.model import Device, Frozen, Tool
from optimas_lsp.rewrite.backends.model import Destination, Reply, Usage
from optimas_lsp.rewrite.compile import Compiled
from optimas_lsp.rewrite.edits import LineEdit
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt import Prompt

SCHEMA: Literal["optimas.rewrite/1"] = "optimas.rewrite/1"

Stage = Literal["select", "prompt", "propose", "guard", "compile", "prove"]

Status = Literal["dry-run", "candidate", "refuted", "nothing", "no-proposal", "manual-review"]
"""``candidate``: passed the guardrails and builds; whether it is right and faster only ``proof`` says. ``refuted``: the
proof says that it is not. ``nothing``: the backend found nothing worth changing, or no candidate changes the machine
code. ``no-proposal``: it gave none. ``manual-review``: no try held, all is kept."""

_NUMBERS = re.compile(
    r"(kernel|program) time ([\d.e+-]+) times shorter \(([\d.]+) % interval ([\d.e+-]+) to ([\d.e+-]+), (\d+) pairs\)"
)
"""The figures in a sentence of the proof's gate ``time``."""


class Gain(Frozen):
    """How many times shorter a candidate is than the original, with its interval of confidence ``level``.

    ``what``: whose time; ``pairs``: of runs, 0 where that is not known. ``stopped_early``: others were clearly better,
    so that it was not measured to the end.
    """

    speedup: float
    low: float
    high: float
    stopped_early: bool = False
    what: Literal["kernel", "program"] = "kernel"
    level: float = 0.95
    pairs: int = 0

    @property
    def words(self) -> str:
        """What was measured, with three decimals as in every table: shorter, or longer where it clearly is."""
        pairs = f", {self.pairs} pairs" if self.pairs else ""
        return f"{self.what} time {self.factor} ({100 * self.level:g} % interval {self.interval}{pairs})"

    @property
    def factor(self) -> str:
        """The factor alone, such as ``3.823 times shorter``."""
        return f"{1 / self.speedup:.3f} times longer" if self.high < 1 else f"{self.speedup:.3f} times shorter"

    @property
    def interval(self) -> str:
        """The interval of the factor."""
        low, high = (1 / self.high, 1 / self.low) if self.high < 1 else (self.low, self.high)
        return f"{low:.3f} to {high:.3f}"


class Proof(Frozen):
    """What the proof said; ``not-proven`` when it could not be made, with the reason."""

    state: Literal["proven", "refuted", "not-proven"]
    sentence: str
    details: dict[str, Any] = Field(default={}, description="the proof's own outcome")
    compared: dict[str, Any] | None = Field(default=None, description="optimas.compare/1 of both versions' profiles")

    @property
    def gain(self) -> Gain | None:
        """What was timed, on the input that decides: kernel times where there are some, else program times."""
        timing: dict[str, Any] = self.details.get("timing") or {}
        main: dict[str, Any] | None = timing.get("kernel_ns") or timing.get("program_s")
        if main is None:
            return None
        return Gain(
            speedup=main["speedup"],
            low=main["low"],
            high=main["high"],
            stopped_early=timing.get("stopped") == "race",
            what="kernel" if timing.get("kernel_ns") else "program",
            level=timing.get("level") or 0.95,
            pairs=timing.get("pairs") or 0,
        )

    @property
    def said(self) -> str:
        """The sentence as a person reads it: figures rounded alike, and slower said as longer."""
        return self.spoken(self.sentence)

    def spoken(self, words: str) -> str:
        """``words`` of this proof or one of its gates with the figures as ``Gain`` says them."""
        gain = self.gain

        def said(found: re.Match[str]) -> str:
            what, speedup, level, low, high, pairs = found.groups()
            if gain is not None and speedup == f"{gain.speedup:.4g}":  # which is not rounded yet
                return gain.words
            figures = {"speedup": speedup, "low": low, "high": high, "level": float(level) / 100, "pairs": pairs}
            return Gain.model_validate({"what": what, **figures}, strict=False).words

        return _NUMBERS.sub(said, words)


class Attempt(Frozen):
    """One answer and what became of it. ``problem`` is the sentence why it went no further, empty if it did.

    ``diff`` is the change as a unified diff, where the answer could be put into the file. ``proof`` is the whole proof,
    None where there was none (earlier outcomes repeat the short one there).
    """

    number: int
    reply: Reply
    verdict: Verdict | None = None
    compiled: Compiled | None = None
    diff: str = ""
    problem: str = ""
    proof: Proof | None = None
    screened: Proof | None = Field(default=None, description="the short proof by which candidates were compared")
    stopped_at: Stage | None = None

    @property
    def judged(self) -> Proof | None:
        """What the last proof said of it, whole or short."""
        return self.proof or self.screened

    @property
    def unchanged(self) -> bool:
        """Whether the compiler made the machine code that was there before."""
        return self.verdict is not None and "unchanged-code" in {rule.id for rule in self.verdict.failures()}


def nearest(attempts: Sequence[Attempt]) -> Attempt | None:
    """Of alternatives of which none stands, the one that came furthest, among those that were timed the fastest.

    None where no change was tried.
    """
    return max((each for each in attempts if each.verdict is not None), key=_distance, default=None)


def _distance(attempt: Attempt) -> tuple[int, float]:
    stages: dict[Stage | None, int] = {"guard": 1, "compile": 2, "prove": 3, None: 3}
    gain = None if attempt.judged is None else attempt.judged.gain
    return stages.get(attempt.stopped_at, 0), 0.0 if gain is None else gain.speedup


class Rewriting(Frozen):
    """``optimas.rewrite/1``: one kernel, one backend, one outcome in ``sentence``.

    Where later rounds started from earlier winners, ``rounds`` holds them all, each with the ``parent`` that it started
    from; the change, the proof and the sentence are then those of the last winner against the original.
    """

    schema_: Literal["optimas.rewrite/1"] = Field(default=SCHEMA, alias="schema")
    status: Status
    sentence: str
    source: str
    kernel: str = Field(description="demangled name")
    backend: str
    destination: Destination | None = None
    prompt: Prompt
    commands: tuple[tuple[str, ...], ...] = Field(default=(), description="how the candidate is built")
    attempts: tuple[Attempt, ...] = ()
    chosen: int | None = Field(default=None, description="number of the attempt that stands")
    nearest: int | None = Field(
        default=None,
        description="number of the attempt that came nearest, where several were alternatives and none stands",
    )
    usage: Usage = Usage()
    proof: Proof | None = Field(
        default=None, description="of the attempt that stands or came nearest, else of the last"
    )
    edits: tuple[LineEdit, ...] = Field(default=(), description="the candidate as line edits, status 'candidate' only")
    edited: str | None = Field(default=None, description="the candidate's whole text, status 'candidate' only")
    diff: str = Field(default="", description="the candidate as a unified diff, status 'candidate' only")
    analysis: KernelAnalysis | None = Field(default=None, description="the kernel, its evidence and lines")
    device: Device | None = Field(default=None, description="the profiled GPU")
    tool: Tool | None = Field(default=None, description="the profiler")
    report_sha256: str = Field(default="", description="of the report's bytes")
    base_sha256: str = Field(default="", description="of the source's bytes that the edits are for")
    started: str = Field(default="", description="UTC, ISO 8601")
    scores: dict[str, Any] | None = Field(default=None, description="EAR scores, optimas.ear/1; None: not scored")
    explanation: tuple[str, ...] = Field(default=(), description="evidence, cause, change and effect in sentences")
    compared: dict[str, Any] | None = Field(default=None, description="optimas.compare/1 of both versions' profiles")
    parent: str = Field(default="", description="base_sha256 of the round that this one started from; '' for the first")
    rounds: tuple[Rewriting, ...] = Field(default=(), description="every round, where there were several")
    ended: str = Field(default="", description="why no further round was made, where several were asked for")
    kept: str | None = Field(default=None, description="folder with everything, status 'manual-review' only")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    @property
    def standing(self) -> Attempt | None:
        """The attempt that the candidate is from."""
        return next((each for each in self.attempts if each.number == self.chosen), None)

    @property
    def shown(self) -> Attempt | None:
        """The answer that the outcome is about: the one that stands, else the one that came nearest, else the last."""
        near = next((each for each in self.attempts if each.number == self.nearest), None)
        return self.standing or near or self.last

    @property
    def last(self) -> Attempt | None:
        """The last answer, if there was one."""
        return self.attempts[-1] if self.attempts else None

    @property
    def no_proposal(self) -> NoProposal | None:
        """Why the last answer was no proposal."""
        outcome = self.last.reply.outcome if self.last is not None else None
        return outcome if isinstance(outcome, NoProposal) else None
