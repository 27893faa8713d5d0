"""From a Profile to an Analysis: hot kernels, their lines, and one piece of evidence per line and dominant reason.

Evidence is ranked by not-issued samples: only waiting in a cycle in which the scheduler had nothing to issue can cost
time. What a finding is worth is its level: ``act`` where the source can move it, ``hot`` where time goes, ``note`` for
the rest and for noise (schedulers that are busy anyway).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optimas_lsp.config import Settings
from optimas_lsp.insight import facts as kernel_facts
from optimas_lsp.insight.blame import Stall, blame_evidence
from optimas_lsp.insight.bounds import bounded
from optimas_lsp.insight.conflicts import conflicts
from optimas_lsp.insight.counters import importance
from optimas_lsp.insight.definition import Definitions
from optimas_lsp.insight.evidence import (
    Analysis,
    Evidence,
    EvidenceSource,
    Expectation,
    KernelAnalysis,
    ReportInfo,
    SampleTotals,
)
from optimas_lsp.insight.lines import Line, lines_of
from optimas_lsp.insight.locate import Locator, Resolve
from optimas_lsp.insight.patterns import pattern_evidence
from optimas_lsp.insight.roofline import roofline
from optimas_lsp.insight.sentences import percent, stall_text
from optimas_lsp.insight.stalls import StallReason, is_stall, reason
from optimas_lsp.insight.whole_kernel import kernel_evidence
from optimas_lsp.profile.aggregate import margin
from optimas_lsp.profile.model import Kernel, Launch, Note, Profile
from optimas_lsp.profile.select import gpu_times_ns, select

SAMPLED_RATE_EXCESS = 0.07
"""How far the issue rate estimated from samples lies above the counted one at most (share of cycles)."""

Level = Literal["act", "hot", "note"]


def analyze(
    profile: Profile,
    settings: Settings,
    *,
    report_path: Path,
    resolve: Resolve | None = None,
    keep_all: bool = False,
    wanted: Callable[[Kernel], bool] | None = None,
) -> Analysis:
    """Everything the report says about its kernels, costliest kernel first.

    ``resolve`` leads from a profiled file to the workspace's (or None). ``keep_all`` also keeps findings below the
    thresholds and the lines of kernels that are not hot; the ids of the other findings stay the same. ``wanted``
    restricts the answer to the kernels it accepts and looks at those whether they are hot or not.
    """
    selection = select(profile, settings.hot_kernels.coverage, settings.hot_kernels.maximum)
    times = gpu_times_ns(profile)
    all_time = sum(time for time in times if time is not None)
    locator = Locator(profile, resolve)
    definitions = Definitions(profile, locator)
    launches: list[list[Launch]] = [[] for _ in profile.kernels]
    for launch in profile.launches:
        launches[launch.kernel].append(launch)
    order = sorted(range(len(profile.kernels)), key=lambda at: (-selection.weights[at], profile.kernels[at].mangled))
    found: list[_Found] = []
    notes = [*profile.notes, *([selection.note] if selection.note else [])]
    for at in order:
        if wanted is not None and not wanted(profile.kernels[at]):
            continue
        time = times[at]
        one = _kernel(
            profile,
            profile.kernels[at],
            launches[at],
            settings,
            locator,
            definitions=definitions,
            hot=at in selection.hot,
            looked_at=at in selection.hot or wanted is not None,
            gpu_time_ns=time,
            share=time / all_time if time is not None and all_time > 0 else None,
            keep_all=keep_all,
        )
        found.append(one)
        notes += one.notes
    return Analysis(
        report=ReportInfo(
            path=str(report_path),
            sha256=profile.report_sha256,
            tool=profile.tool.name,
            tool_version=profile.tool.version,
            device=profile.device.name,
        ),
        kernels=tuple(
            kernel.model_copy(update={"conflicts": conflicts(kernel, settings.lines.busy_issue)})
            for kernel in _numbered(found)
        ),
        notes=tuple(_distinct([*notes, *_unknown_reasons(profile)])),
    )


@dataclass(frozen=True)
class _Found:
    """One kernel before its evidence has ids; ``ranked`` holds each item and whether it passed the thresholds."""

    kernel: KernelAnalysis
    ranked: tuple[tuple[Evidence, bool], ...]
    notes: tuple[Note, ...]


def _kernel(
    profile: Profile,
    kernel: Kernel,
    launches: Sequence[Launch],
    settings: Settings,
    locator: Locator,
    *,
    definitions: Definitions,
    hot: bool,
    looked_at: bool,
    gpu_time_ns: float | None,
    share: float | None,
    keep_all: bool,
) -> _Found:
    lines, totals = lines_of(profile, kernel, locator)
    counters = kernel_facts.Counters(profile, launches)
    active = kernel_facts.issue_active(counters)
    rate = active if active is not None else _issue_rate(totals)
    busy = rate if rate is not None and rate > settings.lines.busy_issue else None
    ranked: tuple[tuple[Evidence, bool], ...] = ()
    if looked_at or keep_all:
        stalls = _stalls(kernel, lines, totals, settings, looked_at=looked_at, busy=busy)
        blame = blame_evidence(profile, kernel, stalls, locator, settings)
        kept = tuple((stall.evidence, stall.kept) for stall in blame.stalls if keep_all or stall.kept)
        ranked = (*kept, *((cause, True) for cause in blame.causes))
    roof = roofline(profile, launches)
    ranking = importance(profile, launches) if looked_at or keep_all else None
    definition = definitions.of(kernel)
    if looked_at or keep_all:
        known = pattern_evidence(
            profile, kernel, launches, locator, settings, definition=definition, busy=busy is not None
        )
        ranked = bounded((*ranked, *((item, True) for item in known)), totals, roof, share)
        ranked = (*ranked, *((item, True) for item in kernel_evidence(kernel.mangled, roof, ranking, share)))
    longest = max(launches, key=lambda launch: launch.duration_ns or 0.0, default=None)
    found = KernelAnalysis(
        name=kernel.name,
        mangled=kernel.mangled,
        base_name=kernel.base_name,
        launches=len(launches),
        gpu_time_ns=gpu_time_ns,
        share=share,
        hot=hot,
        grid=longest.grid if longest else (0, 0, 0),
        block=longest.block if longest else (0, 0, 0),
        location=definition,
        issue_active=active,
        facts=kernel_facts.facts(counters),
        samples=totals,
        evidence=(),
        lines=tuple(line.heat(totals.total) for line in lines) if looked_at or keep_all else (),
        roofline=roof,
        importance=ranking,
    )
    return _Found(found, ranked, tuple(_kernel_notes(kernel, totals, settings, busy)) if looked_at else ())


def _issue_rate(totals: SampleTotals) -> float | None:
    """The share of cycles with an issue as the samples show it, for reports without the counter.

    A sample is marked not-issued when its scheduler issued nothing in that cycle, so the others estimate the rate. For
    the sample programs here the estimate lies 0.00 to 0.07 above the counter; that much is taken off.
    """
    return 1 - totals.not_issued / totals.total - SAMPLED_RATE_EXCESS if totals.total and totals.not_issued else None


def _stalls(
    kernel: Kernel,
    lines: Sequence[Line],
    totals: SampleTotals,
    settings: Settings,
    *,
    looked_at: bool,
    busy: float | None,
) -> list[Stall]:
    """One item per line and stall reason, most not-issued samples first."""
    few = totals.total < settings.lines.minimum_samples
    found: list[Stall] = []
    for line in lines:
        line_share = line.samples / totals.total if totals.total else 0.0
        stalled = line.stalled
        for name, count in line.all_.items():
            if not is_stall(name) or count <= 0:
                continue
            row = reason(name)
            share = count / totals.total
            error = margin(share, totals.total)
            kept = (
                looked_at
                and line_share >= settings.lines.minimum_share
                and count >= settings.lines.dominant_reason * stalled
            )
            evidence = Evidence(
                id="PC-0",
                source="pc",
                rule=name,
                kernel=kernel.mangled,
                location=line.place.location,
                inlined_at=line.place.inlined_at,
                shown=line.place.shown,
                samples=count,
                not_issued=line.not_issued[name],
                share=share,
                margin=error,
                level=_level(row, share, settings, few=few, busy=busy is not None) if kept else "note",
                text=stall_text(row, share=share, margin=error, total=totals.total, few=few, busy=busy),
                expects=(Expectation(metric=name, direction=row.direction),),
            )
            found.append(Stall(evidence, tuple(line.instructions[name]), kept))
    return sorted(found, key=lambda stall: _rank(stall.evidence))


def _level(row: StallReason, share: float, settings: Settings, *, few: bool, busy: bool) -> Level:
    if busy:
        return "note"
    if few or not row.actionable or share < settings.lines.actionable_share:
        return "hot"
    return "act"


def _rank(evidence: Evidence) -> tuple[int, int, str, int, str, int, str]:
    """Sort key: most not-issued samples first; equal ones by samples, place and rule, so that runs agree."""
    location, shown = evidence.location, evidence.shown
    file, line = (location.file, location.line) if location else ("", 0)
    shown_file, shown_line = (shown.file, shown.line) if shown else ("", 0)
    return (-evidence.not_issued, -evidence.samples, file, line, shown_file, shown_line, evidence.rule)


def _numbered(found: Sequence[_Found]) -> tuple[KernelAnalysis, ...]:
    """Give every evidence its id: kernels by cost, inside one by rank, what fails the thresholds last of all."""
    last: Counter[EvidenceSource] = Counter()
    numbered: list[list[Evidence]] = [[] for _ in found]
    for wanted in (True, False):
        for at, one in enumerate(found):
            for evidence, kept in one.ranked:
                if kept is wanted:
                    last[evidence.source] += 1
                    name = f"{evidence.source.upper()}-{last[evidence.source]}"
                    numbered[at].append(evidence.model_copy(update={"id": name}))
    return tuple(
        one.kernel.model_copy(update={"evidence": tuple(items)}) for one, items in zip(found, numbered, strict=True)
    )


def _kernel_notes(kernel: Kernel, totals: SampleTotals, settings: Settings, busy: float | None) -> list[Note]:
    notes: list[Note] = []
    if 0 < totals.total < settings.lines.minimum_samples:
        notes.append(
            Note(
                code="few-samples",
                text=f"too few samples in {kernel.base_name} ({totals.total}, a ranking of lines needs "
                f"{settings.lines.minimum_samples}): profile a larger input, more launches or with a shorter "
                "--sampling-interval",
                kernel=kernel.mangled,
            )
        )
    if busy is not None:
        notes.append(
            Note(
                code="busy-schedulers",
                text=f"{kernel.base_name} issues in {percent(busy, 0)} of its cycles: its stalls are mostly hidden by "
                "other warps; fewer or cheaper instructions help, removing stalls hardly does",
                kernel=kernel.mangled,
            )
        )
    return notes


def _unknown_reasons(profile: Profile) -> list[Note]:
    return [
        Note(
            code="unknown-reason",
            text=f"this profiler knows a stall reason we do not: '{name}'; it is counted and listed under that name",
        )
        for name in profile.reasons
        if not reason(name).known
    ]


def _distinct(notes: Iterable[Note]) -> list[Note]:
    """Notes in order, each (code, kernel, text) once."""
    return list({(note.code, note.kernel, note.text): note for note in notes}.values())
