"""Coverage and precision: worked by hand, and what must hold for every answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import EVIDENCE, GIVEN, kernel, pc, prompt, proposal, rewriting

from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.score import score
from optimas_lsp.score.model import Citations

ids = st.lists(st.sampled_from([*GIVEN, "PC-99", "BL-7", "nonsense"]), max_size=8).map(tuple)


def cited(found: Rewriting) -> Citations:
    return score(found).citations


def test_two_of_five_given_findings_are_cited() -> None:
    found = cited(rewriting(proposal(cites=("BL-1", "PC-1"))))
    assert (found.coverage.hits, found.coverage.of, found.coverage.value) == (2, 5, 0.4)
    assert (found.coverage.low, found.coverage.high) == pytest.approx((0.1176, 0.7693), abs=1e-4)
    assert found.precision.value == 1.0
    assert found.cited == ("PC-1", "BL-1")
    assert found.uncited == ("PC-2", "PC-3", "RL-1")


def test_an_invented_citation_shows_in_the_precision_and_covers_nothing() -> None:
    found = cited(rewriting(proposal(cites=("BL-1", "PC-99", "PC-99"))))
    assert (found.precision.hits, found.precision.of) == (1, 2)
    assert found.invented == ("PC-99",)
    assert found.coverage.hits == 1


def test_an_idea_not_applied_is_considered_but_covers_nothing() -> None:
    found = cited(rewriting(proposal(cites=("BL-1",), ideas=(("PC-2",), ("RL-1", "BL-9")))))
    assert (found.coverage.hits, found.considered.hits) == (1, 3)
    assert (found.precision.hits, found.precision.of) == (3, 4)
    assert found.invented == ("BL-9",)


def test_findings_told_as_one_are_one_item() -> None:
    """PC-4 is PC-1's rule on PC-1's line: the prompt says ``holds also: PC-4``, and citing either covers the item."""
    twin = kernel(evidence=(*EVIDENCE, pc(4, 8, 30)))
    for name in ("PC-1", "PC-4"):
        found = cited(rewriting(proposal(cites=(name,)), analysis=twin, prompt=prompt((*GIVEN, "PC-4"))))
        assert (found.coverage.hits, found.coverage.of) == (1, 5)
        assert found.precision.value == 1.0


def test_an_answer_that_cites_nothing_covers_zero_and_has_no_precision() -> None:
    found = cited(rewriting(proposal(cites=())))
    assert found.coverage.value == 0.0
    assert found.precision.value is None
    assert "cites nothing" in found.precision.why_not


def test_an_empty_answer_has_no_coverage_but_is_judged_by_its_ideas() -> None:
    empty = proposal(ideas=(("PC-2",),)).model_copy(update={"functions": (), "changes": ()})
    found = cited(rewriting(empty))
    assert found.coverage.why_not == "the answer changes nothing"
    assert found.considered.hits == 1
    assert found.precision.value == 1.0


def test_a_refusal_is_not_measurable_with_its_reason() -> None:
    scores = score(rewriting(NoProposal(kind="refusal", sentence="the model declined")))
    measures = [scores.citations.coverage, scores.citations.precision, scores.localisation.hot_samples]
    assert {each.why_not for each in [*measures, scores.direction.given]} == {
        "there is no proposal: the model declined"
    }


def test_nothing_asked_is_not_measurable() -> None:
    scores = score(rewriting(attempts=(), edits=(), edited=None, status="dry-run"))
    assert scores.attempt is None
    assert scores.citations.coverage.why_not == "nothing was asked"


def test_nothing_given_is_not_measurable() -> None:
    found = cited(rewriting(proposal(cites=("PC-1",)), prompt=prompt(())))
    assert found.coverage.why_not == "the prompt gave no finding"
    assert found.precision.value == 0.0


def test_an_answer_the_guardrails_refused_is_scored_like_any_other() -> None:
    found = cited(rewriting(proposal(cites=("PC-99",)), stands=False))
    assert (found.coverage.value, found.precision.value) == (0.0, 0.0)


@given(ids, ids)
def test_citing_more_never_lowers_coverage_and_order_does_not_matter(
    one: tuple[str, ...], more: tuple[str, ...]
) -> None:
    def of(cites: tuple[str, ...]) -> Citations:
        return cited(rewriting(proposal(cites=cites), stands=False))

    first, both = of(one), of(one + more)
    assert first.coverage.value is not None
    assert both.coverage.value is not None
    assert both.coverage.value >= first.coverage.value
    assert of(tuple(reversed(one))).coverage == first.coverage
    assert set(both.cited) | set(both.uncited) == set(GIVEN)
    assert set(both.invented) == {each for each in one + more if each not in GIVEN}
