"""Whether findings moved as they implied: by hand, and on two real profiles of one change on an H200."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import RULES, comparison, prompt, proposal, rewriting, row

from optimas_lsp.insight.changes import EvidenceChange
from optimas_lsp.rewrite.outcome import Proof
from optimas_lsp.score import score
from optimas_lsp.score.model import Direction


def found(*rows: EvidenceChange, **more: Any) -> Direction:
    return score(rewriting(proposal(cites=("BL-1", "PC-1"))), compared=comparison(*rows, **more)).direction


def test_the_worked_example_of_the_manual() -> None:
    """PC-1 as implied, PC-3 within the noise, PC-2 the other way, BL-1 not measured: 1 of 3; of those cited, 1 of 1."""
    rows = (row("PC-1", 100, 40), row("PC-3", 20, 18), row("PC-2", 30, 60), row("BL-1", 100, None))
    told = found(*rows)
    assert (told.given.hits, told.given.of) == (1, 3)
    assert (told.given.low, told.given.high) == pytest.approx((0.0615, 0.7923), abs=1e-4)
    assert (told.cited.hits, told.cited.of) == (1, 1)
    assert (told.as_implied, told.within_noise, told.other_way, told.not_measured) == (
        ("PC-1",), ("PC-3",), ("PC-2",), ("BL-1",)
    )  # fmt: skip


def test_a_finding_with_several_expectations_counts_once() -> None:
    rows = (row("RL-1", 100, 99), row("RL-1", 100, 50), row("RL-1", 100, 150))
    assert (found(*rows).given.hits, found(*rows).given.of) == (1, 1)


def test_nothing_that_moved_is_zero_and_nothing_measured_is_unknown() -> None:
    assert found(row("PC-1", 100, 99)).given.value == 0.0
    told = found(row("PC-1", None, None))
    assert told.given.value is None
    assert told.given.why_not == "no finding was measured in both profiles"


def test_without_a_second_profile_it_is_not_measurable() -> None:
    assert score(rewriting()).direction.given.why_not == "the kernel was not profiled again after the change"


def test_a_comparison_of_something_else_is_not_used() -> None:
    rows = (row("PC-1", 100, 40),)
    assert "not the one" in found(*rows, sha256="1" * 64).given.why_not
    assert "does not hold this kernel" in found(*rows, mangled="q").given.why_not


def test_findings_are_known_by_what_they_are_not_by_their_number() -> None:
    """A comparison looks at every kernel and may number the same finding otherwise."""
    told = found(row("PC-1", 100, 40, id="PC-17"), row("PC-2", 100, 40, id="PC-1", rule="something-else"))
    assert told.as_implied == ("PC-1",)
    assert told.given.of == 1


def test_what_the_prompt_did_not_give_does_not_count() -> None:
    outcome = rewriting(proposal(cites=("PC-1",)), prompt=prompt(("PC-1",)))
    told = score(outcome, compared=comparison(row("PC-1", 100, 40), row("PC-2", 100, 40))).direction
    assert (told.given.of, told.as_implied) == (1, ("PC-1",))


def test_what_the_proof_compared_is_known_by_the_ids_that_were_given() -> None:
    """A proof profiles both versions anew: another report, perhaps other lines, the findings under their old ids."""
    rows = (row("PC-1", 100, 40, place="k.cu:80"), row("PC-2", 100, 40, rule="another"))
    outcome = rewriting(compared=comparison(*rows, sha256="1" * 64).model_dump(mode="json"))
    told = score(outcome).direction
    assert (told.as_implied, told.given.of) == (("PC-1",), 1)


def test_another_answer_is_judged_by_its_own_comparison() -> None:
    compared = comparison(row("PC-1", 40, 100)).model_dump(mode="json")
    proof = Proof(state="refuted", sentence="slower", compared=compared)
    first = rewriting(compared=comparison(row("PC-1", 100, 40)).model_dump(mode="json"))
    other = first.attempts[0].model_copy(update={"number": 2, "proof": proof})
    outcome = first.model_copy(update={"attempts": (*first.attempts, other), "chosen": 1})
    assert score(outcome).direction.given.value == 1.0
    assert score(outcome, attempt=2).direction.given.value == 0.0


@given(st.lists(st.tuples(st.sampled_from(sorted(RULES)), st.integers(0, 200), st.integers(0, 200)), max_size=5))
def test_every_finding_ends_in_one_list(rows: list[tuple[str, int, int]]) -> None:
    distinct = {name: row(name, before, after) for name, before, after in rows}
    told = found(*distinct.values())
    lists = (told.as_implied, told.other_way, told.within_noise, told.not_measured)
    assert sorted(name for each in lists for name in each) == sorted(distinct)
    if distinct:
        assert told.given.hits == len(told.as_implied)
        assert told.given.of == len(distinct) - len(told.not_measured)
