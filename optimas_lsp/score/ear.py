"""EAR: three scores that say whether the reasoning behind a rewrite followed the evidence (arXiv 2604.23892).

Formulas and worked examples: ``docs/ear.md``. The paper gives prose; the formulas are ours.
"""

from __future__ import annotations

from pydantic import ValidationError

from optimas_lsp.insight.changes import Comparison
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.prompt_writer import STALE
from optimas_lsp.score.answer import Answer
from optimas_lsp.score.citations import citations
from optimas_lsp.score.direction import direction
from optimas_lsp.score.localisation import localisation, unknown
from optimas_lsp.score.model import Localisation, Scores
from optimas_lsp.score.places import AS_PROFILED, Places

NO_LINES = (
    "the source differs from the profiled one, so its lines are only known with the report "
    "(optimas score --profile REPORT)"
)


def score(
    rewriting: Rewriting,
    *,
    original: str | None = None,
    places: Places | None = None,
    compared: Comparison | None = None,
    attempt: int | None = None,
) -> Scores:
    """The scores of one answer: the one that stands, else the last, unless ``attempt`` names another.

    ``original``: the source's text before the edit, if it is at hand. ``places``: how profiled lines lead to today's;
    without it what was recorded when the report was at hand, else lines are taken to be as profiled. ``compared``: both
    versions' profiles, in the place of what the proof compared. Raises ScoreError for an answer that is not there.
    """
    answer = Answer.of(rewriting, original, attempt)
    number = None if answer.attempt is None else answer.attempt.number
    return Scores(
        attempt=number,
        citations=citations(answer),
        localisation=_localised(answer, places),
        direction=direction(answer, compared),
    )


def recorded(rewriting: Rewriting) -> Scores | None:
    """The scores in an outcome; None where there are none that this version reads."""
    try:
        return None if rewriting.scores is None else Scores.model_validate(rewriting.scores)
    except ValidationError:
        return None


def _localised(answer: Answer, places: Places | None) -> Localisation:
    if places is not None:
        return localisation(answer, places)
    known = recorded(answer.rewriting)
    if known is not None and answer.attempt is not None and known.attempt == answer.attempt.number:
        return known.localisation
    if STALE in answer.rewriting.prompt.notes:
        return unknown(answer.no_change or NO_LINES)
    return localisation(answer, AS_PROFILED)
