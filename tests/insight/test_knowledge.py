"""The knowledge base covers what we report, cites what exists, and its pages can be made."""

from __future__ import annotations

import re

import pytest

from optimas_lsp.insight.knowledge import Rule, index, page, references, rules
from optimas_lsp.insight.patterns import RULES as PATTERNS
from optimas_lsp.insight.stalls import table

ALL = list(rules().values())


def test_every_stall_reason_has_a_page() -> None:
    assert set(table()) == {rule.stall for rule in ALL if rule.kind == "stall"}


def test_every_verdict_and_kernel_rule_has_a_page() -> None:
    assert {"memory-bound", "compute-bound", "latency-bound", "counter-importance", "cause"} <= set(rules())


def test_every_pattern_has_a_page_and_every_pattern_page_a_pattern() -> None:
    assert set(PATTERNS) == {rule.name for rule in ALL if rule.kind == "pattern"}


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_page_says_what_it_means_when_it_does_not_matter_and_where_to_read_on(rule: Rule) -> None:
    text = page(rule)
    assert len(rule.means) > 40
    assert rule.not_when
    assert rule.helps or rule.stall in {"dispatch_stall", "misc", "not_selected", "selected"}
    assert set(rule.references) <= set(references())
    assert rule.references
    assert set(rule.see) <= set(rules())
    assert text.startswith(f"# {rule.title}\n")
    assert "When it does not" in text
    for line in text.splitlines():
        assert line == line.rstrip()


def test_every_source_is_cited() -> None:
    assert {key for rule in ALL for key in rule.references} == set(references())


def test_identifiers_of_papers_are_well_formed() -> None:
    for reference in references().values():
        for found in re.findall(r"arXiv (\S+)", reference.where):
            assert re.fullmatch(r"\d{4}\.\d{4,5}", found.rstrip(".,"))


def test_the_index_lists_every_rule_once() -> None:
    links = re.findall(r"\]\(([\w-]+)\.md\)", index())
    assert sorted(links) == sorted(rules())
