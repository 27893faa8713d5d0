"""The corpus: every attack is caught by the rule that names it, honest rewrites get through."""

from __future__ import annotations

import pytest

from benchmarks.guardrails import Entry, entries
from optimas_lsp.rewrite.guard.rulebook import RULES, TRITON_RULES

ATTACKS = list(entries("attacks"))
HONEST = list(entries("honest"))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.id)
def test_an_attack_is_caught_by_its_rule(attack: Entry) -> None:
    verdict = attack.verdict()
    assert verdict.rule(attack.rule).status == attack.status, verdict.rule(attack.rule)
    assert verdict.rule(attack.rule).message
    assert verdict.accepted == (not verdict.failures())


@pytest.mark.parametrize("rewrite", HONEST, ids=lambda each: each.id)
def test_an_honest_rewrite_is_accepted(rewrite: Entry) -> None:
    assert [(rule.id, rule.message) for rule in rewrite.verdict().failures()] == []


def test_the_corpus_is_large_enough_and_every_rule_has_an_attack() -> None:
    assert len(ATTACKS) >= 80
    assert len(HONEST) >= 60
    assert len({each.id for each in ATTACKS}) == len(ATTACKS)
    assert {rule.id for rule in (*RULES, *TRITON_RULES)} == {each.rule for each in ATTACKS}
