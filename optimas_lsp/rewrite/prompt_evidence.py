"""The evidence, the kernel's figures and the GPU's limits in a prompt's words: one block a finding, today's lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from optimas_lsp.insight.evidence import Bound, Cause, CounterImportance, Evidence, KernelAnalysis, Location, Roofline
from optimas_lsp.insight.facts import describe
from optimas_lsp.insight.peaks import find
from optimas_lsp.insight.ranking import Ranked
from optimas_lsp.insight.roofline import LEVEL_NAMES
from optimas_lsp.insight.sentences import duration, percent, share_of
from optimas_lsp.insight.stalls import reason
from optimas_lsp.profile.model import Device
from optimas_lsp.rewrite.prompt_data import phrase
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.subsets import Subset

MOST_CAUSES = 4
MOST_WAITS = 4

ROOFLINE_FACTS = frozenset(
    {"compute_throughput_pct", "memory_throughput_pct", "dram_throughput_pct", "l1_hit_pct", "l2_hit_pct"}
)
"""Facts that tell what the roofline tells: left out where the roofline is."""

_LIMITS: tuple[tuple[str, str, str], ...] = (
    ("multiprocessor_count", "multiprocessors (SM)", ""),
    ("num_schedulers_per_multiprocessor", "schedulers per SM", ""),
    ("max_threads_per_block", "threads per block", ""),
    ("max_threads_per_multiprocessor", "threads per SM", ""),
    ("max_blocks_per_multiprocessor", "blocks per SM", ""),
    ("max_registers_per_thread", "registers per thread", ""),
    ("max_registers_per_multiprocessor", "registers per SM", ""),
    ("max_shared_memory_per_block", "shared memory per block", "B"),
    ("max_shared_memory_per_block_optin", "shared memory per block on request", "B"),
    ("max_shared_memory_per_multiprocessor", "shared memory per SM", "B"),
    ("l2_cache_size", "L2 cache", "B"),
    ("total_constant_memory", "constant memory", "B"),
)


def hardware(device: Device, roofline: Roofline | None) -> Iterator[str]:
    """The profiled GPU and its limits; rates are the report's own peaks, else those of the table of known GPUs."""
    major, minor = device.compute_capability
    yield f"{phrase(device.name)}, compute capability {major}.{minor}"
    limits = [
        f"{label} {value:,.0f}{' ' + unit if unit else ''}"
        for key, label, unit in _LIMITS
        if isinstance(value := device.attributes.get(key), float | int)
    ]
    if limits:
        yield "at most: " + ", ".join(limits)
    peaks = list(_peaks(device, roofline))
    if peaks:
        yield "peak rates: " + ", ".join(peaks)


def _peaks(device: Device, roofline: Roofline | None) -> Iterator[str]:
    table = find(device.name)
    found = False
    for level in ("dram", "l2", "l1") if roofline is not None else ():
        one = roofline.levels.get(level) if roofline is not None else None
        if one is not None and one.peak_bytes_per_s:
            found = True
            yield f"{LEVEL_NAMES[level]} {one.peak_bytes_per_s / 1e9:,.0f} GB/s"
    if not found and table is not None:
        yield f"DRAM {table.dram_bytes_per_s / 1e9:,.0f} GB/s"
    if table is not None:
        for precision in ("fp64", "fp32", "fp16"):
            yield f"{precision.upper()} {table.flop_per_s(precision) / 1e12:,.1f} TFLOP/s"


def figures(kernel: KernelAnalysis, subset: Subset) -> Iterator[str]:
    """What the kernel ran like. Facts that only a source outside of the subset would tell are left out."""
    yield phrase(kernel.name)
    grid, block = ("x".join(map(str, shape)) for shape in (kernel.grid, kernel.block))
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    share = "" if kernel.share is None else f", {percent(kernel.share)} of all GPU time"
    yield f"{duration(kernel.gpu_time_ns)} in {launches}{share}; grid {grid}, block {block}"
    facts: dict[str, float | str | None] = {
        key: value
        for key, value in kernel.facts.items()
        if value is not None and ("rl" in subset.sources or key not in ROOFLINE_FACTS)
    }
    if facts:
        yield ", ".join(f"{phrase(label)} {phrase(value)}" for label, value in describe(facts))
    if "pc" in subset.sources and kernel.samples.total:
        samples = kernel.samples
        issues = (
            "" if kernel.issue_active is None else f"; schedulers issue in {percent(kernel.issue_active)} of cycles"
        )
        lost = samples.unattributed / samples.total
        unknown = f", {percent(lost)} without a source line" if samples.unattributed else ""
        yield (
            f"{samples.total:,} PC samples, {percent(samples.stalled / samples.total)} stalled, "
            f"{percent(samples.not_issued / samples.total)} in cycles without an issue{unknown}{issues}"
        )
    if "rl" in subset.sources:
        yield from _roofline(kernel.roofline)
    if "ia" in subset.sources:
        yield from _importance(kernel.importance)


def _roofline(roofline: Roofline | None) -> Iterator[str]:
    if roofline is None:
        yield "roofline: not in the report"
        return
    parts: list[str] = []
    for level, one in roofline.levels.items():
        words = [] if one.achieved_pct is None else [f"{one.achieved_pct:.0f} % of peak"]
        words += [] if one.bytes is None else [f"{one.bytes:,.0f} B moved"]
        words += [] if one.intensity is None else [f"{one.intensity:.3g} FLOP/B"]
        parts += [f"{LEVEL_NAMES[level]} {', '.join(words)}"] if words else []
    for name, work in roofline.precisions.items():
        pct = "" if work.achieved_pct is None else f", {work.achieved_pct:.0f} % of peak"
        parts.append(f"{name} {work.flop:.3g} FLOP{pct}")
    yield f"roofline: {roofline.verdict}-bound; " + "; ".join(parts)
    ceiling = roofline.ceiling
    if ceiling is not None:
        line = (
            f"ceiling: at least {duration(ceiling.time_ns)} for these bytes and operations (limit: "
            f"{phrase(ceiling.limited_by)}), so at most {ceiling.speedup:.2f}x faster as the work is now"
        )
        if ceiling.work_speedup is not None:
            line += f"; at most {ceiling.work_speedup:.2f}x for the same DRAM bytes and arithmetic asked for in any way"
        yield line


def _importance(importance: CounterImportance | None) -> Iterator[str]:
    if importance is None or importance.why_not is not None:
        why = "not in the report" if importance is None else importance.why_not or ""
        yield f"counter importance: none; {phrase(why)}"
    elif importance.explained is not None:
        yield (
            f"counter importance over {importance.observations} launches: {percent(importance.explained)} of the "
            "variation of run time explained"
        )


def finding(ranked: Ranked, marks: Marks, subset: Subset, total: int) -> list[str]:
    """One piece of evidence: its id and level, where, how much with its margin, why, what acting on it buys."""
    evidence = ranked.evidence
    at = evidence.shown or evidence.location
    head = f"{evidence.id} [{evidence.level}] {phrase(evidence.rule)}"
    if at is not None:
        head += f" at {_place(at, marks)}"
        if evidence.location is not None and evidence.location != at:
            head += f" (inlined from {_place(evidence.location, marks)})"
    if evidence.share:
        head += f": {share_of(evidence.share, evidence.margin, total)}"
    lines = [head]
    if evidence.source in {"rl", "ia", "pt"}:
        lines.append(f"  {phrase(evidence.text)}")
    elif evidence.source == "pc":
        lines.append(f"  warps wait here for {phrase(reason(evidence.rule).waits_for)}")
    if evidence.source == "pc" and evidence.causes:
        lines.append("  because of " + ", ".join(_cause(cause, marks) for cause in evidence.causes[:MOST_CAUSES]))
    if evidence.waits:
        places = ", ".join(_place(place, marks) for place in evidence.waits[:MOST_WAITS])
        lines.append(f"  others wait for this line: {places}" + _sure(evidence))
    if evidence.bound is not None and ranked.buys > 1.005 and _known(evidence.bound, subset):
        lines.append(f"  buys at most {ranked.buys:.2f}x of the whole program's GPU time ({evidence.bound.method})")
    if evidence.expects:
        wanted = ", ".join(f"{phrase(each.metric)} {each.direction}" for each in evidence.expects)
        lines.append(f"  a fix moves: {wanted}")
    if ranked.merged:
        lines.append(f"  holds also: {', '.join(ranked.merged)}")
    return lines


def _known(bound: Bound, subset: Subset) -> bool:
    """A bound that the roofline's ceiling sets is told only with the roofline."""
    return bound.method != "ceiling" or "rl" in subset.sources


def _sure(evidence: Evidence) -> str:
    return f" ({evidence.confidence})" if evidence.confidence is not None else ""


def _cause(cause: Cause, marks: Marks) -> str:
    if not cause.file:
        return f"an instruction not known ({percent(cause.share, 0)})"
    return (
        f"{_place(Location(file=cause.file, line=cause.line, path=cause.path), marks)} "
        f"{phrase(cause.opcode.split('.')[0])} ({percent(cause.share, 0)} of this wait, {cause.confidence})"
    )


def _place(location: Location, marks: Marks) -> str:
    found = marks.today(location)
    if found is None:
        name = PurePosixPath(location.file.replace("\\", "/")).name
        return f"{phrase(name)}:{location.line} (not in the workspace)"
    name = phrase(found.unit.name)
    return f"{name}:{found.line}" if found.line is not None else f"{name} (line {location.line} when profiled, changed)"
