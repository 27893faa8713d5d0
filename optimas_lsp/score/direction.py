"""Directional consistency: whether what a second profile shows moved as the findings of the first imply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from pydantic import ValidationError

from optimas_lsp.insight.changes import Comparison, EvidenceChange, KernelComparison
from optimas_lsp.insight.evidence import Evidence
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.score.answer import Answer, shown
from optimas_lsp.score.citations import items
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.model import Direction

NOT_AGAIN = "the kernel was not profiled again after the change"
NOTHING_MEASURED = "no finding was measured in both profiles"
NOTHING_CITED = "no finding that a change cites was measured in both profiles"


def direction(answer: Answer, compared: Comparison | None) -> Direction:
    """The scores of what the answer's own proof compared, else of ``compared``.

    A proof compares the findings that were given, under their ids, in new profiles of both versions. Another comparison
    must begin with the report that the answer was given; it may number its findings otherwise.
    """
    found = compared or comparison_of(answer.rewriting, answer.attempt)
    why = answer.no_change or (NOT_AGAIN if found is None else "")
    foreign = compared is not None and answer.rewriting.report_sha256 not in {"", compared.before.sha256}
    if not why and foreign:
        why = "the comparison's first report is not the one that the answer was given"
    kernel = None if found is None or why else kernel_of(found, answer.rewriting.prompt.kernel)
    if kernel is None:
        missing = Measure.unknown(why or "the comparison does not hold this kernel")
        return Direction(given=missing, cited=missing)
    proposal = answer.proposal
    cited = {name for change in proposal.changes for name in change.evidence} if proposal is not None else set[str]()
    own = compared is None
    return of_kernel(kernel, cited, _given(answer, own=own), own=own)


def comparison_of(rewriting: Rewriting, attempt: Attempt | None = None) -> Comparison | None:
    """What the proof of an answer compared, of the one that the outcome is about unless another is given."""
    found = rewriting.compared
    if attempt is not None and attempt is not shown(rewriting):
        found = attempt.proof.compared if attempt.proof is not None else None
    try:
        return None if found is None else Comparison.model_validate(found)
    except ValidationError:
        return None


def kernel_of(compared: Comparison, mangled: str) -> KernelComparison | None:
    """The comparison of one kernel by its mangled name in the first report."""
    return next((each for each in compared.kernels if each.mangled_before == mangled), None)


Item = tuple[str, ...]
"""The ids of one given finding."""

Key = tuple[str, str, str | None]
"""A finding's source, its rule, and its id or its place."""

Names = Mapping[Key, Item]


def key_of(row: EvidenceChange | Evidence, *, own: bool) -> Key:
    """What tells a finding in a comparison: its id in one that a proof made, else its place."""
    if own:
        return (row.source, row.rule, row.id)
    return (row.source, row.rule, row.place if isinstance(row, EvidenceChange) else place_of(row))


def of_kernel(kernel: KernelComparison, cited: set[str], names: Names | None = None, *, own: bool = False) -> Direction:
    """The scores of one kernel; ``names`` are the findings to look at (None: all, under the comparison's ids)."""
    groups: dict[Item, list[EvidenceChange]] = {}
    for each in kernel.evidence:
        item = (each.id,) if names is None else names.get(key_of(each, own=own))
        if item is not None:
            groups.setdefault(item, []).append(each)
    verdicts = {item: judged(group) for item, group in groups.items()}
    measured = {item: said for item, said in verdicts.items() if said != "not-measured"}
    of_cited = [said for item, said in measured.items() if not cited.isdisjoint(item)]

    def named(wanted: Said) -> tuple[str, ...]:
        return tuple(item[0] for item, said in verdicts.items() if said == wanted)

    return Direction(
        given=_share(list(measured.values()), NOTHING_MEASURED),
        cited=_share(of_cited, NOTHING_CITED),
        as_implied=named("as-implied"),
        other_way=named("other-way"),
        within_noise=named("within-noise"),
        not_measured=named("not-measured"),
    )


def _given(answer: Answer, *, own: bool) -> Names | None:
    kernel = answer.rewriting.analysis
    if kernel is None:
        return None
    known = {each.id: each for each in kernel.evidence}
    return {key_of(known[name], own=own): item for item in items(answer.rewriting) for name in item if name in known}


def place_of(evidence: Evidence) -> str | None:
    """A finding's place as a comparison names it."""
    at = evidence.shown or evidence.location
    return None if at is None else f"{PurePosixPath(at.file.replace(chr(92), '/')).name}:{at.line}"


Said = Literal["as-implied", "other-way", "within-noise", "not-measured"]


def deciding(changes: Sequence[EvidenceChange]) -> EvidenceChange:
    """Of one finding's expectations the first that moved by more than the noise, else the first that was measured."""
    moved = next((each for each in changes if each.consistent is not None), None)
    return moved or next((each for each in changes if each.change.moved != "unknown"), changes[0])


def judged(changes: Sequence[EvidenceChange]) -> Said:
    """What became of one finding."""
    row = deciding(changes)
    if row.consistent is not None:
        return "as-implied" if row.consistent else "other-way"
    return "not-measured" if row.change.moved == "unknown" else "within-noise"


def _share(said: Sequence[str], nothing: str) -> Measure:
    return Measure.share(sum(each == "as-implied" for each in said), len(said), nothing=nothing)
