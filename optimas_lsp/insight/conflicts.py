"""Where two sources point different ways: shown to the reader, never hidden by preferring one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from optimas_lsp.insight.evidence import Conflict, Evidence, KernelAnalysis
from optimas_lsp.insight.roofline import LEVEL_NAMES, level_of

COMPUTE_STALLS = frozenset({"math_pipe_throttle", "wait", "dispatch_stall", "warpgroup_arrive", "gmma"})
MEMORY_STALLS = frozenset({"long_scoreboard", "lg_throttle", "drain", "tex_throttle"})
DOMINANT = 0.40
"""From this share of a kernel's samples on, a family of stalls speaks for the kernel."""

NEAR_CEILING = 1.10
"""A ceiling below this leaves nothing worth a change."""


def conflicts(kernel: KernelAnalysis, busy_issue: float) -> tuple[Conflict, ...]:
    """Every disagreement between a kernel's roofline, stalls and counters; ``busy_issue`` is the setting (0 to 1)."""
    rules: tuple[Callable[[KernelAnalysis, float], Iterator[Conflict]], ...] = (
        _roofline_against_stalls,
        _ceiling_against_stalls,
        _latency_against_issue,
        _counters_against_roofline,
    )
    return tuple(found for rule in rules for found in rule(kernel, busy_issue))


def _stalls(kernel: KernelAnalysis, reasons: frozenset[str]) -> list[Evidence]:
    return [item for item in kernel.evidence if item.source == "pc" and item.rule in reasons]


def _samples(kernel: KernelAnalysis, reasons: frozenset[str]) -> float:
    """Share of the kernel's samples with one of these reasons, over all lines and not only those kept as evidence."""
    total = kernel.samples.total
    listed = sum(each.samples for line in kernel.lines for each in line.reasons if each.reason in reasons)
    return listed / total if total else 0.0


def _ids(items: Sequence[Evidence], most: int = 3) -> tuple[str, ...]:
    return tuple(item.id for item in items[:most])


def _source(kernel: KernelAnalysis, source: str) -> tuple[str, ...]:
    return tuple(item.id for item in kernel.evidence if item.source == source)


def _roofline_against_stalls(kernel: KernelAnalysis, busy_issue: float) -> Iterator[Conflict]:
    del busy_issue
    roof = kernel.roofline
    if roof is None:
        return
    compute, memory = _samples(kernel, COMPUTE_STALLS), _samples(kernel, MEMORY_STALLS)
    if roof.verdict == "memory" and compute >= DOMINANT and compute > memory:
        yield Conflict(
            rule="memory-roofline-compute-stalls",
            evidence=(*_source(kernel, "rl"), *_ids(_stalls(kernel, COMPUTE_STALLS))),
            text=f"The roofline says memory-bound ({roof.memory_pct or 0:.0f} % of peak), yet {100 * compute:.0f} % of "
            f"the samples wait for arithmetic and {100 * memory:.0f} % for memory: the memory system is busy but not "
            "what most warps wait for. Cheaper arithmetic helps until memory becomes the wait; fewer bytes help after.",
        )
    if roof.verdict == "compute" and memory >= DOMINANT and memory > compute:
        yield Conflict(
            rule="compute-roofline-memory-stalls",
            evidence=(*_source(kernel, "rl"), *_ids(_stalls(kernel, MEMORY_STALLS))),
            text=f"The roofline says compute-bound ({roof.compute_pct or 0:.0f} % of peak), yet {100 * memory:.0f} % "
            "of the samples wait for memory: other warps hide most of that wait. Removing it helps less than its share "
            "suggests.",
        )


def _ceiling_against_stalls(kernel: KernelAnalysis, busy_issue: float) -> Iterator[Conflict]:
    del busy_issue
    ceiling = kernel.roofline.ceiling if kernel.roofline is not None else None
    acts = [item for item in kernel.evidence if item.source in {"pc", "bl"} and item.level == "act"]
    best = ceiling.work_speedup or ceiling.speedup if ceiling is not None else None
    if best is not None and best < NEAR_CEILING and acts:
        yield Conflict(
            rule="near-ceiling-stalls",
            evidence=(*_source(kernel, "rl"), *_ids(acts)),
            text=f"The stalls look large, but the kernel is within {100 * (best - 1):.0f} % of what its GPU can do "
            "for these bytes and operations: the waits are the transfer itself. Only fewer bytes or less work helps.",
        )


def _latency_against_issue(kernel: KernelAnalysis, busy_issue: float) -> Iterator[Conflict]:
    roof = kernel.roofline
    if roof is not None and roof.verdict == "latency" and (kernel.issue_active or 0.0) > busy_issue:
        yield Conflict(
            rule="latency-roofline-busy-schedulers",
            evidence=_source(kernel, "rl"),
            text=f"No resource reaches 60 % of its peak, yet schedulers that have warps issue in "
            f"{100 * (kernel.issue_active or 0):.0f} % of their cycles: some multiprocessors are busy while others "
            "have nothing to do. More or better balanced blocks help, shorter waits do not.",
        )


def _counters_against_roofline(kernel: KernelAnalysis, busy_issue: float) -> Iterator[Conflict]:
    del busy_issue
    roof, ranked = kernel.roofline, kernel.importance
    if roof is None or ranked is None or not ranked.counters or roof.verdict != "memory":
        return
    first = ranked.counters[0]
    wanted = level_of(roof.memory_limiter or "")
    levels = {level_of(name) for name in (first.name, *first.together)}
    if wanted is not None and first.low > 0.2 and wanted not in levels:
        yield Conflict(
            rule="counters-against-roofline",
            evidence=(*_source(kernel, "rl"), *_source(kernel, "ia")[:1]),
            text=f"The roofline names {LEVEL_NAMES[wanted]}, but over the launches the run time follows {first.name} "
            f"and no counter of {LEVEL_NAMES[wanted]}: the longest launch may not speak for the others.",
        )
