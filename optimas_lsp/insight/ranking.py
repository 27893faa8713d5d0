"""What is worth reading first: evidence ordered by what acting on it could buy, with duplicates merged.

The order is: findings worth a change before those that only say where time goes, and within these the greatest bound
first. A finding without a bound of its own gets the elimination bound T / (T − M) of its not-issued samples M among the
kernel's samples T (GPA, arXiv 2009.04061), weighed by the kernel's share of the GPU time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimas_lsp.insight.evidence import Evidence, KernelAnalysis
from optimas_lsp.insight.whole_kernel import whole_program

_LEVELS = {"act": 0, "hot": 1, "note": 2}
_SOURCES = {"bl": 0, "pt": 1, "pc": 2, "rl": 3, "ia": 4}
MOST_REMOVED = 0.98
"""No bound assumes that more than this share of a kernel's samples goes away."""


@dataclass(frozen=True)
class Ranked:
    """One finding, what acting on it buys at most (whole-program factor) and the ids of findings merged into it."""

    evidence: Evidence
    buys: float
    merged: tuple[str, ...] = ()


def buys(evidence: Evidence, kernel: KernelAnalysis) -> float:
    """Whole-program speed-up factor that acting on one finding buys at most; 1 is nothing."""
    if evidence.bound is not None:
        return evidence.bound.speedup
    if not kernel.samples.total or evidence.source in {"rl", "ia"}:
        return 1.0
    removed = min(evidence.not_issued / kernel.samples.total, MOST_REMOVED)
    return whole_program(min(1.0 / (1.0 - removed), _most(kernel)), kernel.share)


def _most(kernel: KernelAnalysis) -> float:
    """The greatest speed-up of the kernel that its ceiling leaves, without bound where there is none."""
    ceiling = kernel.roofline.ceiling if kernel.roofline is not None else None
    return math.inf if ceiling is None else ceiling.work_speedup or ceiling.speedup


def rank(kernels: Iterable[KernelAnalysis]) -> tuple[tuple[KernelAnalysis, tuple[Ranked, ...]], ...]:
    """Every kernel with its findings, best first; kernels keep their order (costliest first)."""
    return tuple((kernel, tuple(sorted(merge(kernel), key=_key))) for kernel in kernels)


def _key(ranked: Ranked) -> tuple[int, float, int, int, str]:
    evidence = ranked.evidence
    number = int(evidence.id.rpartition("-")[2]) if evidence.id.rpartition("-")[2].isdigit() else 0
    return (_LEVELS[evidence.level], -ranked.buys, _SOURCES[evidence.source], number, evidence.id)


def merge(kernel: KernelAnalysis) -> list[Ranked]:
    """Findings of one kernel; those with the same rule on the same shown line become one.

    A library line inlined twice into one line of the user's, or one line sampled under two chains, is one place to
    change. Samples and shares add; the first id stays, the others are named.
    """
    groups: dict[tuple[str, str, str, int] | str, list[Evidence]] = {}
    for evidence in kernel.evidence:
        groups.setdefault(_place(evidence), []).append(evidence)
    return [_merged(group, kernel) for group in groups.values()]


def _place(evidence: Evidence) -> tuple[str, str, str, int] | str:
    at = evidence.shown or evidence.location
    return evidence.id if at is None else (evidence.source, evidence.rule, at.path or at.file, at.line)


def _merged(group: Sequence[Evidence], kernel: KernelAnalysis) -> Ranked:
    first = min(group, key=lambda evidence: (_LEVELS[evidence.level], -evidence.not_issued))
    if len(group) == 1:
        return Ranked(first, buys(first, kernel))
    total = first.model_copy(
        update={
            "samples": sum(evidence.samples for evidence in group),
            "not_issued": sum(evidence.not_issued for evidence in group),
            "share": min(1.0, sum(evidence.share for evidence in group)),
            "margin": max(evidence.margin for evidence in group),
        }
    )
    others = tuple(evidence.id for evidence in group if evidence.id != first.id)
    return Ranked(total, buys(total if total.bound is None else first, kernel), others)
