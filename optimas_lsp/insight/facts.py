"""What a kernel ran like, from the report's counters: registers, occupancy, memory use, issue rate.

Each fact is read from counters under their full names; where a report lacks one, the fact is absent, never 0.
Over several launches a share or rate is the mean weighted by duration, a resource is the greatest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.profile.model import Launch, Profile

Combine = Literal["mean", "max", "sum"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the hover. ``metrics`` are alternatives, the first collected one counts.

    ``unit`` is what the value is in after multiplying by ``scale``; ``%`` values are 0 to 100.
    """

    key: str
    label: str
    unit: str
    metrics: tuple[str, ...]
    combine: Combine = "mean"
    scale: float = 1.0


FACTS: tuple[Fact, ...] = (
    Fact("registers_per_thread", "registers per thread", "", ("launch__registers_per_thread",), "max"),
    Fact("static_shared_bytes", "static shared memory per block", "B", ("launch__shared_mem_per_block_static",), "max"),
    Fact(
        "dynamic_shared_bytes", "dynamic shared memory per block", "B", ("launch__shared_mem_per_block_dynamic",), "max"
    ),
    Fact("waves_per_sm", "waves per SM", "", ("launch__waves_per_multiprocessor",), "max"),
    Fact("theoretical_occupancy_pct", "theoretical occupancy", "%", ("sm__maximum_warps_per_active_cycle_pct",)),
    Fact("achieved_occupancy_pct", "achieved occupancy", "%", ("sm__warps_active.avg.pct_of_peak_sustained_active",)),
    Fact("compute_throughput_pct", "compute throughput", "%", ("sm__throughput.avg.pct_of_peak_sustained_elapsed",)),
    Fact(
        "memory_throughput_pct",
        "memory throughput",
        "%",
        ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",),
    ),
    Fact(
        "dram_throughput_pct",
        "DRAM throughput",
        "%",
        (
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    Fact("l1_hit_pct", "L1 hit rate", "%", ("l1tex__t_sector_hit_rate.pct",)),
    Fact("l2_hit_pct", "L2 hit rate", "%", ("lts__t_sector_hit_rate.pct",)),
    Fact("eligible_warps", "eligible warps per scheduler", "", ("smsp__warps_eligible.avg.per_cycle_active",)),
    Fact("spill_instructions", "register-spill instructions", "", ("sass__inst_executed_register_spilling",), "sum"),
    Fact("local_loads", "local-memory load instructions", "", ("sass__inst_executed_local_loads",), "sum"),
    Fact("local_stores", "local-memory store instructions", "", ("sass__inst_executed_local_stores",), "sum"),
)

_ISSUE_ACTIVE: tuple[tuple[str, float], ...] = (
    ("smsp__issue_active.avg.per_cycle_active", 1.0),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", 0.01),
    ("smsp__issue_active.avg.pct", 0.01),
    ("sm__inst_issued.avg.pct_of_peak_sustained_active", 0.01),
)
"""Counters that say in which share of its active cycles a scheduler issues, best first."""

_LIMITERS: tuple[tuple[str, str], ...] = (
    ("registers", "launch__occupancy_limit_registers"),
    ("shared memory", "launch__occupancy_limit_shared_mem"),
    ("warps", "launch__occupancy_limit_warps"),
    ("blocks", "launch__occupancy_limit_blocks"),
    ("barriers", "launch__occupancy_limit_barriers"),
)


class Counters:
    """The counters of one kernel's launches by name."""

    def __init__(self, profile: Profile, launches: Sequence[Launch]) -> None:
        self._index = {metric.name: at for at, metric in enumerate(profile.metrics)}
        self._launches = launches

    def value(self, name: str, combine: Combine = "mean") -> float | None:
        """The counter over all launches, or None where a launch lacks it or its value is unknown."""
        at = self._index.get(name)
        if at is None or not self._launches:
            return None
        pairs = [(launch.counters[at], launch.duration_ns) for launch in self._launches]
        values = [value for value, _ in pairs if value is not None]
        if len(values) < len(pairs):
            return None
        if combine == "max":
            return max(values)
        if combine == "sum":
            return sum(values)
        weights = [duration if duration is not None else 0.0 for _, duration in pairs]
        if sum(weights) <= 0:
            return sum(values) / len(values)
        return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def issue_active(counters: Counters) -> float | None:
    """Share of active cycles in which a scheduler issues an instruction (0 to 1), if it was counted."""
    for name, scale in _ISSUE_ACTIVE:
        value = counters.value(name)
        if value is not None:
            return value * scale
    return None


def occupancy_limiter(counters: Counters) -> str | None:
    """What bounds the blocks per SM: the resources with the smallest limit, if any is below the warp limit's."""
    limits = {name: counters.value(metric) for name, metric in _LIMITERS}
    known = {name: value for name, value in limits.items() if value is not None and value > 0}
    if not known:
        return None
    least = min(known.values())
    return " and ".join(name for name, value in known.items() if value == least)


def facts(counters: Counters) -> dict[str, float | str | None]:
    """Every fact the report has counters for, by key, in the order of the hover."""
    found: dict[str, float | str | None] = {}
    for fact in FACTS:
        values = (counters.value(name, fact.combine) for name in fact.metrics)
        value = next((each for each in values if each is not None), None)
        if value is not None:
            found[fact.key] = value * fact.scale
    limiter = occupancy_limiter(counters)
    if limiter is not None:
        found["occupancy_limited_by"] = limiter
    return found


LABELS: dict[str, tuple[str, str]] = {
    **{fact.key: (fact.label, fact.unit) for fact in FACTS},
    "occupancy_limited_by": ("occupancy limited by", ""),
}
"""Label and unit of each key of :func:`facts`."""


def describe(found: dict[str, float | str | None]) -> list[tuple[str, str]]:
    """Facts as (label, value with unit) for a person; unknown keys keep their name, unknown values say so."""
    rows: list[tuple[str, str]] = []
    for key, value in found.items():
        label, unit = LABELS.get(key, (key, ""))
        if value is None:
            text = "unknown"
        elif isinstance(value, str):
            text = value
        elif unit == "%":
            text = f"{value:.1f} %"
        else:
            number = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
            text = f"{number} {unit}".strip()
        rows.append((label, text))
    return rows
