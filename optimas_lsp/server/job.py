"""A rewrite (or a profiling) that a user asked for, as it is kept and shown: plain data, never changed in place."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from optimas_lsp.profile.model import Frozen
from optimas_lsp.server.regions import Block, Edit

State = Literal["queued", "running", "waiting-for-consent", "done", "failed", "cancelled", "interrupted"]
LIVE: frozenset[State] = frozenset({"queued", "running", "waiting-for-consent"})

STAGES = ("select", "propose", "guard", "compile", "prove")
"""The stages of a rewrite, in order; a repair goes back to ``propose``."""


class Speedup(Frozen):
    """How many times less time, with its 95 % interval; of the kernel or of the whole program (``what``)."""

    value: float
    low: float
    high: float
    what: str = "kernel"


class Proven(Frozen):
    """What the proof said, in few words: its state, whether it was recorded elsewhere, and the gain.

    ``failed``: a gate failed, be it by the unchanged program, so that there is more against it than a missing proof.
    """

    state: Literal["proven", "refuted", "not-proven"] | None = None
    sentence: str = ""
    recorded: str | None = None
    speedup: Speedup | None = None
    failed: bool = False


class Job(Frozen):
    """One job. Times are UTC, ISO 8601. ``owner`` is the server that runs it (``Presence.id``), empty when it is over.

    ``number`` counts the jobs of a folder: clocks are set back, and two windows ask within one second.
    ``base`` is the SHA-256 of the file's bytes it started from; ``blocks`` are the lines it is about, ``edits`` what
    the outcome would change. ``by_model``: a language model made the change, not the catalogue.
    """

    id: str
    kind: Literal["rewrite", "profile"] = "rewrite"
    title: str
    state: State = "queued"
    path: Path
    uri: str
    folder: Path = Field(description="the workspace folder, under which the job is kept")
    report: Path
    report_sha256: str = ""
    kernel: str
    mangled: str
    finding: str = ""
    transformation: str = ""
    backend: str = ""
    by_model: bool = False
    base: str = ""
    blocks: tuple[Block, ...] = ()
    edits: tuple[Edit, ...] = ()
    stage: str = ""
    words: str = ""
    created: str
    started: str = ""
    ended: str = ""
    sentence: str = ""
    status: str = ""
    proven: Proven = Proven()
    told_stale: bool = False
    owner: str = ""
    number: int = 0

    @field_validator("owner", mode="before")
    @classmethod
    def _of_today(cls, owner: object) -> object:
        """Versions before kept a process id, which tells nothing about today."""
        return "" if isinstance(owner, int) else owner

    @property
    def age(self) -> tuple[int, str, str]:
        """What sorts jobs of one folder, the oldest first."""
        return self.number, self.created, self.id

    def conflicts(self, other: Job) -> bool:
        """Whether both would rewrite the same kernel, or some of the same lines."""
        if self.path != other.path or "profile" in (self.kind, other.kind):
            return False
        mine = [(each.first, each.end) for each in self.blocks]
        shared = any(first < each.end and each.first < end for first, end in mine for each in other.blocks)
        return shared or self.mangled == other.mangled

    @property
    def live(self) -> bool:
        """Whether it is not over."""
        return self.state in LIVE

    @property
    def step(self) -> int:
        """Which of ``STAGES`` it is in, from 1; 0 before the first."""
        return STAGES.index(self.stage) + 1 if self.stage in STAGES else 0

    @property
    def steps(self) -> int:
        """How many stages there are."""
        return len(STAGES)

    @property
    def percentage(self) -> int:
        """How far it is, by stages alone (0 to 100)."""
        return 100 * max(self.step - 1, 0) // self.steps

    def offered(self, offer: str) -> bool:
        """Whether its outcome may be offered under the setting ``prove.offer``."""
        if self.state != "done" or self.status != "candidate" or not self.edits:
            return False
        if self.proven.state == "proven":
            return True
        return offer == "built" and self.proven.state == "not-proven" and not self.proven.failed
