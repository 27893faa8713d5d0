"""Launches of one kernel from several reports as one set of observations for the counter ranking."""

from __future__ import annotations

from collections.abc import Sequence

from optimas_lsp.insight.counters import importance
from optimas_lsp.insight.evidence import Analysis, CounterImportance, Evidence, KernelAnalysis
from optimas_lsp.insight.whole_kernel import kernel_evidence
from optimas_lsp.profile.model import Launch, Profile

Pair = tuple[Profile, Analysis]


def combine(pairs: Sequence[Pair]) -> tuple[Analysis, ...]:
    """The analyses, each kernel's counters ranked over its launches in all of the reports.

    Kernels are the same where their mangled names are. A kernel that only one report holds keeps its own ranking; where
    any changes, the ``IA-n`` of that report are numbered anew.
    """
    if len(pairs) < 2:
        return tuple(analysis for _, analysis in pairs)
    launches = [_launches(profile) for profile, _ in pairs]
    ranked: dict[str, CounterImportance] = {}
    for _, analysis in pairs:
        for kernel in analysis.kernels:
            if kernel.mangled not in ranked and kernel.importance is not None:
                sources = [
                    (profile, own[kernel.mangled])
                    for (profile, _), own in zip(pairs, launches, strict=True)
                    if kernel.mangled in own
                ]
                if len(sources) > 1:
                    (first, chosen), *others = sources
                    ranked[kernel.mangled] = importance(first, chosen, others)
    return tuple(_with(analysis, ranked) for _, analysis in pairs)


def _launches(profile: Profile) -> dict[str, list[Launch]]:
    found: dict[str, list[Launch]] = {}
    for launch in profile.launches:
        found.setdefault(profile.kernels[launch.kernel].mangled, []).append(launch)
    return found


def _with(analysis: Analysis, ranked: dict[str, CounterImportance]) -> Analysis:
    if not any(kernel.mangled in ranked for kernel in analysis.kernels):
        return analysis
    number = 0
    kernels: list[KernelAnalysis] = []
    for kernel in analysis.kernels:
        found = ranked.get(kernel.mangled, kernel.importance) if kernel.importance is not None else None
        own = list(kernel_evidence(kernel.mangled, None, found, kernel.share))
        numbered: list[Evidence] = []
        for evidence in own:
            number += 1
            numbered.append(evidence.model_copy(update={"id": f"IA-{number}"}))
        others = tuple(evidence for evidence in kernel.evidence if evidence.source != "ia")
        kernels.append(kernel.model_copy(update={"importance": found, "evidence": (*others, *numbered)}))
    return analysis.model_copy(update={"kernels": tuple(kernels)})
