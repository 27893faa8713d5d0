"""What acting on one finding can buy at most, from its samples.

Two estimates after GPA (arXiv 2009.04061), in samples of one kernel: T all, A those of cycles with an issue, M the
finding's of cycles without one. Removing the stall altogether gives T / (T - M) (*elimination*); hiding it behind other
work cannot hide more than there is to issue, T / (T - min(A, M)) (*hiding*). Neither passes the kernel's ceiling from
the roofline: for a stall that of the work as it is; for a pattern, which changes how data is asked for, that of the
same DRAM bytes and arithmetic. The kernel's share of the GPU time makes it a bound for the whole program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from optimas_lsp.insight.evidence import Bound, Evidence, Roofline, SampleTotals
from optimas_lsp.insight.whole_kernel import whole_program

HIDDEN = frozenset({"wait", "barrier", "branch_resolving", "no_instructions", "no_instruction"})
"""Reasons of which every kernel has some: they are hidden by other work rather than removed."""

LIMITLESS = 1000.0
"""Shown instead of anything larger: all sampled time in one finding."""


def elimination(total: int, matched: int) -> float:
    """T / (T - M): the speed-up when the matched samples vanish."""
    return min(LIMITLESS, total / max(total - matched, 1)) if 0 < matched <= total else 1.0


def hiding(total: int, active: int, matched: int) -> float:
    """T / (T - min(A, M)): the speed-up when other work fills the matched samples' cycles."""
    return elimination(total, min(active, matched))


def kernel_bound(evidence: Evidence, totals: SampleTotals, roofline: Roofline | None) -> Bound | None:
    """The bound for the kernel alone: a pattern's own if it knows one; None for what has no not-issued samples."""
    method: Literal["elimination", "hiding", "ceiling", "vendor"] = "elimination"
    matched = min(evidence.not_issued, totals.total)
    if evidence.bound is not None:
        speedup, method = evidence.bound.speedup, evidence.bound.method
    elif matched <= 0:
        return None
    elif evidence.rule in HIDDEN:
        method = "hiding"
        speedup = hiding(totals.total, totals.total - totals.not_issued, matched)
    else:
        speedup = elimination(totals.total, matched)
    ceiling = roofline.ceiling if roofline is not None else None
    if ceiling is not None:
        most = max(ceiling.speedup, ceiling.work_speedup or 1.0) if evidence.source == "pt" else ceiling.speedup
        if most < speedup:
            return Bound(speedup=max(1.0, most), method="ceiling")
    return Bound(speedup=speedup, method=method)


def bounded(
    items: Iterable[tuple[Evidence, bool]], totals: SampleTotals, roofline: Roofline | None, share: float | None
) -> tuple[tuple[Evidence, bool], ...]:
    """Each stall, cause and pattern with its bound for the whole program.

    ``share`` is the kernel's of the report's GPU time (0 to 1), None when unknown: then the bound is the kernel's. A
    bound that a pattern brings along is its kernel's.
    """
    found: list[tuple[Evidence, bool]] = []
    for item, kept in items:
        bound = kernel_bound(item, totals, roofline)
        if bound is not None:
            bound = bound.model_copy(update={"speedup": round(whole_program(bound.speedup, share), 4)})
        found.append((item.model_copy(update={"bound": bound}), kept))
    return tuple(found)
