"""Scores in outcomes: filled in where a rewrite is made, and of a proof that carries less than a rewrite."""

from __future__ import annotations

from collections.abc import Sequence

from optimas_lsp.insight.changes import Comparison
from optimas_lsp.prove.report import Proof
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score.answer import shown
from optimas_lsp.score.direction import NOT_AGAIN, of_kernel
from optimas_lsp.score.ear import score
from optimas_lsp.score.explain import explain, explain_rounds
from optimas_lsp.score.localisation import unknown
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.model import Citations, Direction, Scores
from optimas_lsp.score.places import through

NOT_IN_A_PROOF = "a proof holds neither the proposal nor the evidence: score what optimas optimize --format json writes"


def scored(rewriting: Rewriting, subject: Subject) -> Rewriting:
    """The outcome with its scores and explanation, while the report's text is at hand to lead its lines through.

    An outcome whose answer changes nothing is returned as it is.
    """
    attempt = shown(rewriting)
    outcome = None if attempt is None else attempt.reply.outcome
    if not isinstance(outcome, Proposal) or not outcome.functions or rewriting.status == "nothing":
        return rewriting
    places = through(Marks(subject.profile, subject.files))
    scores = score(rewriting, original=subject.source.syntax.text.text, places=places)
    return rewriting.model_copy(
        update={"scores": scores.model_dump(mode="json"), "explanation": explain(rewriting, places=places)}
    )


def scored_rounds(whole: Rewriting, winners: Sequence[Rewriting], subject: Subject) -> Rewriting:
    """The outcome of several rounds that were proven together, with the scores of the whole change.

    ``subject`` is the first round's. Each round keeps scores of its own: only there citations can be scored.
    """
    scores = score(
        whole, original=subject.source.syntax.text.text, places=through(Marks(subject.profile, subject.files))
    )
    return whole.model_copy(
        update={"scores": scores.model_dump(mode="json"), "explanation": explain_rounds(whole, winners)}
    )


def score_proof(proof: Proof, compared: Comparison | None) -> Scores:
    """What can be scored of a bare proof: the direction, where both versions' profiles of one kernel are given."""
    missing = Measure.unknown(NOT_IN_A_PROOF)
    direction = Direction(given=Measure.unknown(NOT_AGAIN), cited=missing)
    if compared is not None and len(compared.kernels) == 1:
        direction = of_kernel(compared.kernels[0], set()).model_copy(update={"cited": missing})
    elif compared is not None:
        why = f"the comparison is of {len(compared.kernels)} kernels, and a proof does not say which it is about"
        direction = Direction(given=Measure.unknown(why), cited=missing)
    return Scores(
        attempt=None,
        citations=Citations(coverage=missing, considered=missing, precision=missing),
        localisation=unknown(NOT_IN_A_PROOF if proof.diff else "the proof changes nothing"),
        direction=direction,
    )
