"""Evidence about a kernel as a whole: its roofline (``RL-n``) and the counters that explain its time (``IA-n``)."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.counters import counter_text
from optimas_lsp.insight.evidence import Bound, CounterImportance, Evidence, Expectation, Roofline
from optimas_lsp.insight.roofline import level_of

TRAFFIC: dict[str, str] = {"dram": "dram__bytes", "l2": "lts__t_sectors", "l1": "l1tex__data_pipe_lsu_wavefronts"}
"""The counter whose fall shows that less is asked of a memory level."""

ISSUE_ACTIVE = "smsp__issue_active.avg.per_cycle_active"
STRONG = 0.5
"""A counter whose interval starts above this share of the run time is worth showing beside the roofline."""


def whole_program(speedup: float, share: float | None) -> float:
    """Speed-up of the whole program when a kernel with this share of the GPU time becomes ``speedup`` times faster."""
    part = 1.0 if share is None else share
    return 1.0 / (1.0 - part + part / speedup)


def kernel_evidence(
    mangled: str, roofline: Roofline | None, importance: CounterImportance | None, share: float | None
) -> Iterator[Evidence]:
    """Roofline first, then counters, best first; ids are given by the caller. ``share`` is of the GPU time (0 to 1)."""
    if roofline is not None:
        yield Evidence(
            id="RL-0",
            source="rl",
            rule=f"{roofline.verdict}-bound",
            kernel=mangled,
            location=None,
            level="hot",
            text=roofline.text,
            expects=_expected(roofline),
            bound=Bound(speedup=whole_program(roofline.ceiling.speedup, share), method="ceiling")
            if roofline.ceiling is not None
            else None,
        )
    if importance is None:
        return
    for scored in importance.counters:
        yield Evidence(
            id="IA-0",
            source="ia",
            rule="counter-importance",
            kernel=mangled,
            location=None,
            level="hot" if scored.low >= STRONG else "note",
            text=counter_text(scored, importance.observations),
            expects=(Expectation(metric=scored.name, direction="down"),),
        )


def _expected(roofline: Roofline) -> tuple[Expectation, ...]:
    time = Expectation(metric="time", direction="down")
    if roofline.verdict == "latency":
        return (time, Expectation(metric=ISSUE_ACTIVE, direction="up"))
    if roofline.verdict == "compute":
        return (time, Expectation(metric="smsp__inst_executed", direction="down"))
    level = level_of(roofline.memory_limiter or "") or max(
        roofline.levels, key=lambda name: roofline.levels[name].achieved_pct or 0.0
    )
    return (time, Expectation(metric=TRAFFIC[level], direction="down"))
