"""Evidence, the one currency: what a diagnostic shows, a prompt lists, a rewrite cites and EAR scores.

``Analysis`` is the published schema ``optimas.analysis/1`` that ``optimas analyze --format json`` writes.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from optimas_lsp.profile.model import Frozen, Note

SCHEMA: Literal["optimas.analysis/1"] = "optimas.analysis/1"

EvidenceSource = Literal["pc", "bl", "rl", "ia", "pt"]
"""pc: a stall on a waiting line; bl: a cause; rl: roofline; ia: counter importance; pt: a pattern rule."""


class Location(Frozen):
    """A source line. ``file`` is as the profiler names it; ``path`` the workspace file it was mapped to, if any.

    ``line`` is 1-based and refers to the text that was profiled; 0 is "no line" and only occurs unattributed.
    """

    file: str
    line: int
    path: str | None = None
    function: str | None = None


class Cause(Frozen):
    """One instruction that made a line wait. ``share`` is of the samples of the evidence it belongs to (0 to 1).

    The shares of one evidence sum to 1: what no instruction could be given is a last entry with opcode ``unknown``, no
    file, line 0 and confidence ``none``.
    """

    file: str
    line: int
    opcode: str
    share: float
    confidence: Literal["certain", "dominant", "shared", "none"]
    kind: Literal["raw", "war", "sync", "self", "drain"] = "raw"
    path: str | None = None
    inlined_at: tuple[Location, ...] = ()


class Expectation(Frozen):
    """Which way a fix should move what: ``metric`` is a stall reason, counter or ``time``."""

    metric: str
    direction: Literal["down", "up"]


class Bound(Frozen):
    """An upper bound of what acting on one finding buys: whole-program speed-up factor, "at most"."""

    speedup: float
    method: Literal["elimination", "hiding", "ceiling", "vendor"]


class Evidence(Frozen):
    """One diagnosed fact. ``share`` is of all PC samples of the kernel, ``margin`` its 95 % half-width (both 0 to 1).

    ``level``: ``act`` is worth changing (Warning), ``hot`` says where time goes (Information), ``note`` is the rest.
    ``location`` is the innermost line; ``inlined_at`` the call sites out to the kernel, innermost first.
    ``shown`` is the frame to show it at: an editable one if the workspace is known.
    """

    id: str = Field(description="stable within one analysis: PC-3, BL-1, RL-1, IA-2, PT-1")
    source: EvidenceSource
    rule: str = Field(description="the stall reason as the profiler names it, or the rule's own name")
    kernel: str = Field(description="mangled name")
    location: Location | None
    inlined_at: tuple[Location, ...] = ()
    shown: Location | None = None
    samples: int = 0
    not_issued: int = 0
    share: float = 0.0
    margin: float = 0.0
    level: Literal["act", "hot", "note"] = "note"
    text: str = ""
    expects: tuple[Expectation, ...] = ()
    causes: tuple[Cause, ...] | None = None
    waits: tuple[Location, ...] = Field(default=(), description="for source 'bl': the lines that wait for this one")
    confidence: Literal["certain", "dominant", "shared", "none"] | None = None
    bound: Bound | None = None

    @property
    def known_causes(self) -> tuple[Cause, ...]:
        """The causes that have a line; the remainder without one is left out."""
        return tuple(cause for cause in self.causes or () if cause.file)


class UnattributedCause(Frozen):
    """Part of a kernel's samples that no source line can be given, with the reason in words."""

    why: Literal["no-lineinfo", "line-0", "generated", "no-file"]
    text: str
    samples: int


class SampleTotals(Frozen):
    """Sums over one kernel. ``stalled`` leaves out ``selected`` and ``not_selected``."""

    total: int
    stalled: int
    not_issued: int
    unattributed: int
    why_unattributed: tuple[UnattributedCause, ...] = ()


class LineReason(Frozen):
    """One stall reason on one line: sample counts, all and not-issued."""

    reason: str
    samples: int
    not_issued: int


class LineHeat(Frozen):
    """Everything sampled on one source line of one kernel; what a hover's table shows.

    A library line inlined at two lines of the user's is two items, each ``shown`` at its own line.
    """

    location: Location
    inlined_at: tuple[Location, ...] = ()
    shown: Location | None = None
    samples: int
    stalled: int
    not_issued: int
    share: float
    margin: float
    reasons: tuple[LineReason, ...] = Field(description="all reasons, most samples first")


class RooflineLevel(Frozen):
    """Traffic at one memory level, summed over the kernel's launches.

    ``intensity`` is FLOP per byte of the verdict's precision (``None`` without floating-point work), ``achieved_pct``
    the achieved share of the level's peak rate (0 to 100), rates are bytes per second. ``None``: not collected.
    """

    bytes: float | None
    intensity: float | None
    achieved_pct: float | None
    bytes_per_s: float | None = None
    peak_bytes_per_s: float | None = None


class PrecisionWork(Frozen):
    """Floating-point work of one precision (an FMA counts two), summed over launches; rates are FLOP per second."""

    flop: float
    flop_per_s: float
    peak_flop_per_s: float | None = None
    achieved_pct: float | None = None


class Ceiling(Frozen):
    """The least time the kernel could take for the bytes and operations it did, and what that leaves to gain.

    ``time_ns`` sums over launches; ``limited_by`` names the resource that takes it: ``dram``, ``l2``, ``l1``, a
    precision or ``issue``; ``each_ns`` is the least time each resource alone would need. Traffic inside the chip and
    instruction counts depend on how data is asked for, so a rewrite may lower them and pass ``speedup``;
    ``work_speedup`` counts only DRAM bytes and arithmetic (``work_time_ns``): no rewrite that reads the same data from
    DRAM and does the same arithmetic can pass that. Where part of the DRAM bytes only moved because of how data was
    asked for, ``useful_speedup`` counts the others (``traffic.useful_dram``); a claim above it needs an explanation.
    """

    time_ns: float
    speedup: float
    limited_by: str
    each_ns: dict[str, float] = Field(default={})
    work_time_ns: float | None = None
    work_speedup: float | None = None
    useful_speedup: float | None = None

    @property
    def plausible_speedup(self) -> float | None:
        """The most that a rewrite may claim without somebody looking at it."""
        return self.useful_speedup or self.work_speedup


class Roofline(Frozen):
    """Where one kernel stands against the limits of its GPU.

    ``verdict``: ``latency`` when neither compute nor any memory level reaches 60 % of its peak, else whichever is
    closer to its peak. ``compute_pct`` and ``memory_pct`` are those two figures (0 to 100).
    ``precision`` is the one whose operations take longest at peak; ``none`` if no floating-point work was counted.
    """

    verdict: Literal["compute", "memory", "latency"]
    precision: Literal["fp64", "fp32", "fp16", "tensor", "none"]
    levels: dict[Literal["dram", "l2", "l1"], RooflineLevel]
    ceiling: Ceiling | None
    peaks_from: Literal["report", "table"]
    precisions: dict[Literal["fp64", "fp32", "fp16", "tensor"], PrecisionWork] = Field(default={})
    compute_pct: float | None = None
    memory_pct: float | None = None
    compute_limiter: str | None = Field(default=None, description="the counter that sets compute_pct")
    memory_limiter: str | None = Field(default=None, description="the counter that sets memory_pct")
    time_ns: float = 0.0
    text: str = ""


class CounterScore(Frozen):
    """One counter that explains the run time over several launches.

    ``score`` is the share of the run time's norm the counter explains alone with its ensemble coefficient (0 to 1),
    ``low`` and ``high`` its 95 % interval over resampled observations, ``selected`` the share of ensemble members that
    chose it. ``together`` are counters too collinear to tell apart from it.
    """

    name: str
    unit: str
    group: str = Field(description="hardware unit the counter belongs to, e.g. dram, lts, l1tex, smsp")
    description: str
    score: float
    low: float
    high: float
    selected: float
    together: tuple[str, ...] = ()


class CounterImportance(Frozen):
    """Counters ranked over ``observations`` launches, or ``why_not`` in words where a ranking would be made up."""

    observations: int
    counters: tuple[CounterScore, ...] = ()
    explained: float | None = Field(default=None, description="share of the variation of run time explained, 0 to 1")
    why_not: str | None = None


class Conflict(Frozen):
    """Two sources that point different ways: the ids of the evidence and what the disagreement means."""

    rule: str
    evidence: tuple[str, ...]
    text: str


class KernelAnalysis(Frozen):
    """One kernel of the report. ``gpu_time_ns`` sums its launches; ``share`` is of the report's GPU time."""

    name: str
    mangled: str
    base_name: str
    launches: int
    gpu_time_ns: float | None
    share: float | None
    hot: bool
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    location: Location | None = Field(default=None, description="where the kernel's definition starts, if known")
    issue_active: float | None = Field(default=None, description="share of cycles with an issue, 0 to 1")
    facts: dict[str, float | str | None] = Field(default={}, description="registers, occupancy, … for the hover")
    samples: SampleTotals
    evidence: tuple[Evidence, ...]
    lines: tuple[LineHeat, ...] = ()
    roofline: Roofline | None = None
    importance: CounterImportance | None = None
    conflicts: tuple[Conflict, ...] = ()


class ReportInfo(Frozen):
    """Which report an analysis is of."""

    path: str
    sha256: str
    tool: str
    tool_version: str
    device: str


class Analysis(Frozen):
    """``optimas.analysis/1``: everything ``analyze`` found in one report."""

    schema_: Literal["optimas.analysis/1"] = Field(default=SCHEMA, alias="schema")
    report: ReportInfo
    kernels: tuple[KernelAnalysis, ...]
    notes: tuple[Note, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)
