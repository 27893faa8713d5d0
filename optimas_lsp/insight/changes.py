"""What a comparison of two profiles says: the published schema ``optimas.compare/1``."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from optimas_lsp.insight.evidence import Ceiling, EvidenceSource, ReportInfo
from optimas_lsp.profile.model import Frozen

SCHEMA: Literal["optimas.compare/1"] = "optimas.compare/1"

Moved = Literal["down", "up", "same", "unknown"]
"""``same``: by no more than the noise. ``unknown``: not measured on both sides."""


class Change(Frozen):
    """One quantity before and after, each per launch. ``noise`` is what a difference must exceed, in the same unit."""

    metric: str
    unit: str
    before: float | None
    after: float | None
    noise: float = 0.0
    moved: Moved = "unknown"


class StallChange(Frozen):
    """One stall reason over a kernel: share of the samples, and that share of the launch's time (``cost``).

    Shares are None where that report has no samples of the kernel.
    """

    reason: str
    share_before: float | None
    share_after: float | None
    cost: Change


class EvidenceChange(Frozen):
    """What became of one finding of the profile before: each expectation with the way it really moved.

    ``where`` says over what it was compared: the same ``line``, the ``block`` of lines that replaced it, or the whole
    ``kernel``. ``consistent`` is None where nothing moved by more than the noise or nothing was measured.
    """

    id: str
    source: EvidenceSource
    rule: str
    place: str | None
    where: Literal["line", "block", "kernel"]
    expected: Literal["down", "up"]
    change: Change
    consistent: bool | None


class Consistency(Frozen):
    """Directional consistency: of the findings whose quantity moved by more than the noise, the share that moved as the
    finding implies (``share`` is None where none moved)."""

    measured: int
    moved: int
    consistent: int
    share: float | None


class KernelComparison(Frozen):
    """One kernel in both profiles. ``speedup`` is time before over time after, per launch."""

    name: str
    mangled_before: str
    mangled_after: str
    matched_by: Literal["mangled", "base-name", "only-kernels"]
    launches_before: int
    launches_after: int
    same_work: bool = Field(description="whether the launches have equal grids; otherwise times are of other work")
    time: Change
    speedup: float | None
    verdict_before: str | None = None
    verdict_after: str | None = None
    ceiling_before: Ceiling | None = None
    stalls: tuple[StallChange, ...] = ()
    counters: tuple[Change, ...] = ()
    evidence: tuple[EvidenceChange, ...] = ()
    consistency: Consistency


class Comparison(Frozen):
    """``optimas.compare/1``: two reports, kernel by kernel."""

    schema_: Literal["optimas.compare/1"] = Field(default=SCHEMA, alias="schema")
    before: ReportInfo
    after: ReportInfo
    kernels: tuple[KernelComparison, ...]
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)
