"""Two profiles of one kernel: what changed, by more than the noise or not, and whether as the evidence implied.

A share of samples cannot be compared across two runs of different length: a stall that stays as it is grows in share
when another disappears. So shares are turned into time per launch first. Lines are matched through the sources embedded
in the reports; a changed line is compared over the block of lines that replaced it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from optimas_lsp.insight.changes import (
    Change,
    Comparison,
    Consistency,
    EvidenceChange,
    KernelComparison,
    StallChange,
)
from optimas_lsp.insight.costs import LineMap, Side, change, stall_cost, time_change
from optimas_lsp.insight.evidence import Analysis, Evidence, Expectation, KernelAnalysis
from optimas_lsp.insight.stalls import is_stall, table
from optimas_lsp.insight.whole_kernel import ISSUE_ACTIVE
from optimas_lsp.profile.model import Profile

Pair = tuple[Profile, Analysis]

COUNTERS: tuple[tuple[str, str], ...] = (
    ("dram__bytes", "byte"),
    ("lts__t_sectors", "sector"),
    ("l1tex__data_pipe_lsu_wavefronts", "wavefront"),
    ("smsp__inst_executed", "inst"),
    (ISSUE_ACTIVE, "inst/cycle"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    ("launch__registers_per_thread", "register"),
)
"""Counters every comparison shows where both reports have them; one with a rollup is taken as it stands."""


def compare(before: Pair, after: Pair) -> Comparison:
    """Compare two reports kernel by kernel; both analyses must hold the lines of the kernels that matter (keep_all)."""
    pairs, alone_before, alone_after = _match(before[1].kernels, after[1].kernels, _same_program(before, after))
    kernels = tuple(_kernel(before, old, after, new, how) for old, new, how in pairs)
    notes = [f"{name} is in the first report only" for name in alone_before]
    notes += [f"{name} is in the second report only" for name in alone_after]
    if not kernels:
        notes.append("the reports have no kernel in common, so nothing is compared")
    for old, new, how in pairs:
        if how == "only-kernels":
            notes.append(
                f"{old.base_name} is compared with {new.base_name}: the names differ, and no other kernel is left"
            )
        for kernel, which in ((old, "first"), (new, "second")):
            if not kernel.samples.total:
                notes.append(f"{kernel.base_name} has no samples in the {which} report: its stalls are not compared")
    if before[1].report.device != after[1].report.device:
        notes.append(
            f"the reports are of different GPUs ({before[1].report.device} and {after[1].report.device}): times and "
            "counters differ for that reason too"
        )
    if before[1].report.sha256 == after[1].report.sha256:
        notes.append("both reports are the same file")
    return Comparison(
        before=before[1].report,
        after=after[1].report,
        kernels=kernels,
        only_before=tuple(alone_before),
        only_after=tuple(alone_after),
        notes=tuple(notes),
    )


def _same_program(before: Pair, after: Pair) -> bool:
    """Whether both reports may be of one program: they embed a source of one name, or one of them embeds none."""
    first, second = ({Path(file.path).name for file in pair[0].files if file.text} for pair in (before, after))
    return not first or not second or not first.isdisjoint(second)


def _match(
    before: Sequence[KernelAnalysis], after: Sequence[KernelAnalysis], same_program: bool
) -> tuple[list[tuple[KernelAnalysis, KernelAnalysis, str]], list[str], list[str]]:
    """Kernels by mangled name, then by base names that occur once on both sides, then the only ones left.

    The last only within one program: there a kernel was renamed.
    """
    left, right = list(before), list(after)
    pairs: list[tuple[KernelAnalysis, KernelAnalysis, str]] = []

    def take(how: str, old: KernelAnalysis, new: KernelAnalysis) -> None:
        pairs.append((old, new, how))
        left.remove(old)
        right.remove(new)

    for old in list(left):
        same = [new for new in right if new.mangled == old.mangled]
        if len(same) == 1 and [each.mangled for each in left].count(old.mangled) == 1:
            take("mangled", old, same[0])
    for old in list(left):
        same = [new for new in right if new.base_name == old.base_name]
        if len(same) == 1 and [each.base_name for each in left].count(old.base_name) == 1:
            take("base-name", old, same[0])
    if same_program and len(left) == 1 and len(right) == 1:
        take("only-kernels", left[0], right[0])
    pairs.sort(key=lambda pair: -(pair[0].gpu_time_ns or 0.0))
    return pairs, [each.base_name for each in left], [each.base_name for each in right]


def _side(pair: Pair, kernel: KernelAnalysis) -> Side:
    profile, analysis = pair
    same = [each for each in analysis.kernels if each.mangled == kernel.mangled]
    wanted = {at for at, each in enumerate(profile.kernels) if each.mangled == kernel.mangled}
    launches = tuple(launch for launch in profile.launches if launch.kernel in wanted)
    if len(same) > 1:  # several builds under one name: tell them apart by their launches' shape
        shaped = tuple(launch for launch in launches if launch.grid == kernel.grid and launch.block == kernel.block)
        launches = shaped or launches
    return Side(profile, kernel, launches)


def _kernel(before: Pair, old: KernelAnalysis, after: Pair, new: KernelAnalysis, how: str) -> KernelComparison:
    first, second = _side(before, old), _side(after, new)
    time = time_change(first, second)
    lines = LineMap(first, second)
    kept = [each for each in old.evidence if each.level != "note"]
    evidence = tuple(item for each in kept for item in _evidence(each, first, second, lines, time))
    return KernelComparison.model_validate(
        {
            "name": old.base_name,
            "mangled_before": old.mangled,
            "mangled_after": new.mangled,
            "matched_by": how,
            "launches_before": len(first.launches),
            "launches_after": len(second.launches),
            "same_work": sorted(launch.grid for launch in first.launches)
            == sorted(launch.grid for launch in second.launches),
            "time": time,
            "speedup": time.before / time.after if time.before and time.after else None,
            "verdict_before": old.roofline.verdict if old.roofline else None,
            "verdict_after": new.roofline.verdict if new.roofline else None,
            "ceiling_before": old.roofline.ceiling if old.roofline else None,
            "stalls": tuple(_stalls(first, second)),
            "counters": tuple(_counters(first, second)),
            "evidence": evidence,
            "consistency": consistency(evidence),
        }
    )


def _stalls(first: Side, second: Side) -> Iterator[StallChange]:
    names = {each.reason for side in (first, second) for line in side.kernel.lines for each in line.reasons}
    rows = [
        StallChange(
            reason=name,
            share_before=first.share(name, None)[0],
            share_after=second.share(name, None)[0],
            cost=stall_cost(first, second, name, None, None),
        )
        for name in names
        if is_stall(name)
    ]
    yield from sorted(rows, key=lambda row: (-max(row.cost.before or 0.0, row.cost.after or 0.0), row.reason))


def _counters(first: Side, second: Side) -> Iterator[Change]:
    for name, unit in COUNTERS:
        found = change(name, unit, first.counter(name), second.counter(name))
        if found.before is not None and found.after is not None:
            yield found


def _evidence(evidence: Evidence, first: Side, second: Side, lines: LineMap, time: Change) -> Iterator[EvidenceChange]:
    at = evidence.shown or evidence.location
    # A cause is judged by the lines that wait for it.
    waiting = evidence.waits if evidence.source == "bl" and evidence.waits else ((at,) if at is not None else ())
    for expectation in evidence.expects:
        where, found = "kernel", _measure(expectation, first, second, time)
        if found is None:  # a stall reason: over its lines, else over those that replaced them, else over the kernel
            places = lines.all(waiting) if waiting else None
            if places is None:
                found = stall_cost(first, second, expectation.metric)
            else:
                where = "line" if len(places[0]) == len(places[1]) == len(waiting) else "block"
                found = stall_cost(first, second, expectation.metric, *places)
        moved = found.moved
        yield EvidenceChange.model_validate(
            {
                "id": evidence.id,
                "source": evidence.source,
                "rule": evidence.rule,
                "place": f"{at.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{at.line}" if at is not None else None,
                "where": where,
                "expected": expectation.direction,
                "change": found,
                "consistent": moved == expectation.direction if moved in {"down", "up"} else None,
            }
        )


def _measure(expectation: Expectation, first: Side, second: Side, time: Change) -> Change | None:
    """The change of a time or counter; None for a stall reason, which has lines."""
    if expectation.metric == "time":
        return time
    name = expectation.metric
    if name in {*first.profile.reasons, *second.profile.reasons} or name in table():
        return None
    return change(name, "", first.counter(name), second.counter(name))


def consistency(evidence: Sequence[EvidenceChange]) -> Consistency:
    """Of the findings that moved by more than the noise, the share that moved as they imply.

    A finding with several expectations counts once, by its first one that moved.
    """
    by_id: dict[str, list[EvidenceChange]] = {}
    for each in evidence:
        by_id.setdefault(each.id, []).append(each)
    first = [next((each for each in group if each.consistent is not None), None) for group in by_id.values()]
    moved = [each for each in first if each is not None]
    measured = sum(any(each.change.moved != "unknown" for each in group) for group in by_id.values())
    agree = sum(each.consistent is True for each in moved)
    return Consistency(
        measured=measured, moved=len(moved), consistent=agree, share=agree / len(moved) if moved else None
    )
