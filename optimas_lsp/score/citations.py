"""Evidence coverage and citation precision: which findings an answer cites, and whether they were given to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optimas_lsp.insight.ranking import merge
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.score.answer import Answer, of_rounds
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.model import Citations

SEVERAL_ROUNDS = "the change is of several rounds, each with citations of its own (optimas score --round N)"
NOTHING_GIVEN = "the prompt gave no finding"
NOTHING_CITED = "the answer cites nothing"


def items(rewriting: Rewriting) -> tuple[tuple[str, ...], ...]:
    """The findings that the prompt gave, each with the ids it stands for (findings of one rule on one line are one)."""
    given = rewriting.prompt.evidence
    groups = () if rewriting.analysis is None else merge(rewriting.analysis)
    found: dict[str, tuple[str, ...]] = {}
    for each in groups:
        ids = (each.evidence.id, *each.merged)
        shared = tuple(name for name in given if name in ids)
        found |= dict.fromkeys(shared, shared)
    return tuple(dict.fromkeys(found.get(name, (name,)) for name in given))


def citations(answer: Answer) -> Citations:
    """The scores of what ``answer`` cites."""
    proposal = answer.proposal
    if proposal is None or of_rounds(answer.rewriting):
        why = Measure.unknown(answer.no_change or SEVERAL_ROUNDS)
        return Citations(coverage=why, considered=why, precision=why)
    given = items(answer.rewriting)
    applied = _distinct(name for change in proposal.changes for name in change.evidence)
    every = _distinct([*applied, *(name for idea in proposal.not_applied for name in idea.evidence)])
    known = {name for ids in given for name in ids}
    cited = _held(given, applied)
    coverage = (
        Measure.unknown(answer.no_change)
        if answer.no_change
        else Measure.share(len(cited), len(given), nothing=NOTHING_GIVEN)
    )
    return Citations(
        coverage=coverage,
        considered=Measure.share(len(_held(given, every)), len(given), nothing=NOTHING_GIVEN),
        precision=Measure.share(sum(name in known for name in every), len(every), nothing=NOTHING_CITED),
        cited=tuple(ids[0] for ids in cited),
        uncited=tuple(ids[0] for ids in given if ids not in cited),
        invented=tuple(name for name in every if name not in known),
    )


def _held(given: Sequence[tuple[str, ...]], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The items of which an id is among ``names``."""
    wanted = set(names)
    return [ids for ids in given if not wanted.isdisjoint(ids)]


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
