"""How far a kernel is from the limits of its GPU: a hierarchical roofline and the ceiling it implies.

Work counts floating-point operations per precision (an FMA two), traffic counts bytes at DRAM, L2 and L1. For each
resource the least time a launch could take is its work or bytes over the resource's peak rate; the ceiling is the
greatest of these. Formulas: Williams, Waterman, Patterson (CACM 52(4), 2009); hierarchical levels: Yang (arXiv
2009.02449). Peaks are the report's own (``….sum.peak_sustained`` times the measured clock of that unit), else those of
``peaks.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from optimas_lsp.insight.evidence import Ceiling, PrecisionWork, Roofline, RooflineLevel
from optimas_lsp.insight.peaks import DevicePeaks, find
from optimas_lsp.insight.readings import Columns, Readings
from optimas_lsp.insight.traffic import Rate, bytes_at, operations, useful_dram
from optimas_lsp.profile.model import Launch, Profile

Level = Literal["dram", "l2", "l1"]
Precision = Literal["fp64", "fp32", "fp16", "tensor"]
Verdict = Literal["compute", "memory", "latency"]

LEVELS: tuple[Level, ...] = ("dram", "l2", "l1")
PRECISIONS: tuple[Precision, ...] = ("fp64", "fp32", "fp16", "tensor")
COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
"""The profiler's own throughputs: the greatest utilisation of any part of the compute and memory system."""

WORK = ("dram", *PRECISIONS)
"""Resources whose use does not depend on how data is asked for inside the chip."""

BOUND_PCT = 60.0
"""From this share of a peak on a kernel is bound by it; below it on both sides it is latency-bound."""

LEVEL_NAMES: dict[str, str] = {"dram": "DRAM", "l2": "L2", "l1": "L1"}
RESOURCE_NAMES: dict[str, str] = {
    **LEVEL_NAMES,
    "fp64": "double-precision arithmetic",
    "fp32": "single-precision arithmetic",
    "fp16": "half-precision arithmetic",
    "tensor": "tensor arithmetic",
    "issue": "instruction issue",
}


@dataclass
class _Sums:
    """What one resource did over all launches: amount (FLOP or bytes), seconds at peak, seconds of those launches."""

    amount: float = 0.0
    at_peak_s: float = 0.0
    seconds: float = 0.0
    known: bool = True
    rated: bool = True


@dataclass
class _Total:
    resources: dict[str, _Sums] = field(default_factory=dict[str, _Sums])
    seconds: float = 0.0
    least_s: float = 0.0
    work_s: float = 0.0
    useful_s: float = 0.0
    compute_s: float = 0.0
    memory_s: float = 0.0
    from_table: bool = False
    throughputs: bool = False


def roofline(profile: Profile, launches: Sequence[Launch]) -> Roofline | None:
    """The roofline of launches of one kernel, summed; None where the report has neither durations nor any rate.

    Launches without a duration are left out. A level whose bytes were not collected has ``bytes`` None and keeps the
    profiler's own utilisation of that level, if it is there, as ``achieved_pct``.
    """
    table = find(profile.device.name)
    total = _Total()
    columns = Columns(profile)
    for readings in (Readings(columns, launch) for launch in launches):
        if readings.seconds is not None and readings.seconds > 0:
            _add(total, readings, readings.seconds, table)
    if total.seconds <= 0 or not (total.resources or total.throughputs):
        return None
    levels: dict[Level, RooflineLevel] = {level: _level(total, level) for level in LEVELS}
    precisions: dict[Precision, PrecisionWork] = {
        name: _precision(total, name) for name in PRECISIONS if _amount(total, name) > 0
    }
    main: Precision | None = max(precisions, key=lambda name: _weight(total, name), default=None)
    if main is not None:
        levels = {level: _with_intensity(levels[level], precisions[main].flop) for level in LEVELS}
    compute = _greatest([100 * total.compute_s / total.seconds, *(work.achieved_pct for work in precisions.values())])
    memory = _greatest([100 * total.memory_s / total.seconds, *(level.achieved_pct for level in levels.values())])
    found = Roofline(
        verdict=_verdict(compute, memory),
        precision=main or "none",
        levels=levels,
        ceiling=_ceiling(total),
        peaks_from="table" if total.from_table else "report",
        precisions=precisions,
        compute_pct=compute,
        memory_pct=memory,
        compute_limiter=_limiter(columns, launches, COMPUTE),
        memory_limiter=_limiter(columns, launches, MEMORY),
        time_ns=total.seconds * 1e9,
    )
    return found.model_copy(update={"text": _sentence(found)})


def _greatest(values: Iterable[float | None]) -> float:
    return min(100.0, max(value for value in values if value is not None))


def _add(total: _Total, readings: Readings, seconds: float, table: DevicePeaks | None) -> None:
    """Add one launch: every resource's amount and its least time at peak."""
    least: dict[str, float] = {}
    for level in LEVELS:
        rate = bytes_at(readings, level)
        if rate.peak is None and level == "dram" and table is not None and rate.amount is not None:
            rate = Rate(rate.amount, table.dram_bytes_per_s)
            total.from_table = True
        _accumulate(total, level, rate, seconds, least)
    for precision in PRECISIONS:
        rate = operations(readings, precision)
        if not rate.amount:
            continue
        if rate.peak is None and table is not None:
            rate = Rate(rate.amount, table.flop_per_s(precision))
            total.from_table = True
        _accumulate(total, precision, rate, seconds, least)
    issue = readings.first("sm__inst_executed.avg.pct_of_peak_sustained_elapsed")
    if issue is not None:
        _accumulate(total, "issue", Rate(None, None, issue), seconds, least)
    compute = readings.first(COMPUTE)
    memory = readings.first(MEMORY)
    total.throughputs = total.throughputs or compute is not None or memory is not None
    total.compute_s += seconds * (compute or 0.0) / 100
    total.memory_s += seconds * (memory or 0.0) / 100
    total.seconds += seconds
    total.least_s += min(seconds, max(least.values(), default=0.0))
    total.work_s += min(seconds, max((least[name] for name in WORK if name in least), default=0.0))
    moved, useful = bytes_at(readings, "dram").amount, useful_dram(readings)
    if useful is not None and moved and "dram" in least:
        least["dram"] *= min(1.0, useful / moved)
    total.useful_s += min(seconds, max((least[name] for name in WORK if name in least), default=0.0))


def _accumulate(total: _Total, name: str, rate: Rate, seconds: float, least: dict[str, float]) -> None:
    at_peak = rate.seconds_at_peak(seconds)
    if at_peak is None and rate.amount is None:
        return
    sums = total.resources.setdefault(name, _Sums())
    sums.seconds += seconds
    sums.known = sums.known and rate.amount is not None
    sums.amount += rate.amount or 0.0
    sums.rated = sums.rated and at_peak is not None
    if at_peak is not None:
        sums.at_peak_s += at_peak
        least[name] = at_peak


def _amount(total: _Total, name: str) -> float:
    sums = total.resources.get(name)
    return sums.amount if sums is not None else 0.0


def _weight(total: _Total, name: str) -> tuple[float, float]:
    sums = total.resources[name]
    return sums.at_peak_s, sums.amount


def _level(total: _Total, name: Level) -> RooflineLevel:
    sums = total.resources.get(name)
    if sums is None or sums.seconds < total.seconds * (1 - 1e-9):
        return RooflineLevel(bytes=None, intensity=None, achieved_pct=None)
    achieved = 100 * sums.at_peak_s / sums.seconds if sums.rated else None
    if not sums.known:
        return RooflineLevel(bytes=None, intensity=None, achieved_pct=achieved)
    peak = sums.amount / sums.at_peak_s if sums.rated and sums.at_peak_s > 0 else None
    return RooflineLevel(
        bytes=sums.amount,
        intensity=None,
        achieved_pct=achieved,
        bytes_per_s=sums.amount / sums.seconds,
        peak_bytes_per_s=peak,
    )


def _precision(total: _Total, name: Precision) -> PrecisionWork:
    """Rates are over the whole kernel's time: a launch without such operations did zero of them."""
    sums = total.resources[name]
    rated = sums.rated and sums.at_peak_s > 0
    return PrecisionWork(
        flop=sums.amount,
        flop_per_s=sums.amount / total.seconds,
        peak_flop_per_s=sums.amount / sums.at_peak_s if rated else None,
        achieved_pct=100 * sums.at_peak_s / total.seconds if rated else None,
    )


def _with_intensity(level: RooflineLevel, flop: float) -> RooflineLevel:
    return level.model_copy(update={"intensity": flop / level.bytes}) if level.bytes else level


def _verdict(compute: float, memory: float) -> Verdict:
    if max(compute, memory) < BOUND_PCT:
        return "latency"
    return "compute" if compute > memory else "memory"


def _ceiling(total: _Total) -> Ceiling | None:
    each = {name: sums.at_peak_s * 1e9 for name, sums in total.resources.items() if sums.rated and sums.at_peak_s > 0}
    if not each or total.least_s <= 0:
        return None
    return Ceiling(
        time_ns=total.least_s * 1e9,
        speedup=max(1.0, total.seconds / total.least_s),
        limited_by=max(each, key=lambda name: each[name]),
        each_ns=dict(sorted(each.items(), key=lambda item: -item[1])),
        work_time_ns=total.work_s * 1e9 if total.work_s > 0 else None,
        work_speedup=max(1.0, total.seconds / total.work_s) if total.work_s > 0 else None,
        useful_speedup=total.seconds / total.useful_s if 0 < total.useful_s < 0.99 * total.work_s else None,
    )


def _sentence(found: Roofline) -> str:
    compute, memory = found.compute_pct or 0.0, found.memory_pct or 0.0
    if found.verdict == "latency":
        start = (
            f"Latency-bound: neither compute ({compute:.0f} % of its peak) nor memory ({memory:.0f} %) reaches "
            f"{BOUND_PCT:.0f} %"
        )
    elif found.verdict == "memory":
        start = f"Memory-bound{_where(found)}: memory at {memory:.0f} % of its peak, compute at {compute:.0f} %"
        busiest = max(LEVELS, key=lambda level: found.levels[level].achieved_pct or 0.0)
        needed = found.levels[busiest].achieved_pct
        if needed is not None and needed < memory - 5:
            start += (
                f"; the bytes alone need {needed:.0f} % ({LEVEL_NAMES[busiest]}), the rest is how they are asked for"
            )
    else:
        start = f"Compute-bound: compute at {compute:.0f} % of its peak, memory at {memory:.0f} %"
    ceiling = found.ceiling
    if ceiling is None:
        return f"{start}."
    text = f"{start}. At most {ceiling.speedup:.2f}x is left as it is (limit: {RESOURCE_NAMES[ceiling.limited_by]})"
    if ceiling.work_speedup is not None and ceiling.work_speedup > 1.05 * ceiling.speedup:
        text += (
            f", at most {ceiling.work_speedup:.1f}x for the same DRAM bytes and arithmetic asked for in a better way"
        )
    return f"{text} (peaks from our device table, not from the report)." if found.peaks_from == "table" else f"{text}."


def _where(found: Roofline) -> str:
    level = level_of(found.memory_limiter) if found.memory_limiter else None
    return f" ({LEVEL_NAMES[level]})" if level else ""


_UNITS: dict[str, Level] = {"dram": "dram", "fbpa": "dram", "lts": "l2", "l1tex": "l1"}
"""Hardware unit, the part of a counter's name before the double underscore, and the memory level it belongs to."""


def level_of(counter: str) -> Level | None:
    """The memory level whose unit a counter belongs to, or None for any other unit."""
    return _UNITS.get(counter.partition("__")[0])


def _limiter(columns: Columns, launches: Sequence[Launch], throughput: str) -> str | None:
    """The counter that makes up a throughput of the longest launch: such a throughput is the greatest of its parts."""
    longest = max(launches, key=lambda launch: launch.duration_ns or 0.0)
    readings = Readings(columns, longest)
    value = readings.first(throughput)
    return readings.equal_to(value, ".avg.pct_of_peak_sustained_elapsed") if value else None
