"""The seven subsets of evidence: each tells its own sources and nothing of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optimas_lsp.errors import ConfigError
from optimas_lsp.rewrite.prompt import EvidenceMissingError, Subject, build_prompt
from optimas_lsp.rewrite.subsets import EVERYTHING, SEVEN, parse_subset

OF_SOURCE = {"pc": {"PC", "BL", "PT"}, "rl": {"RL"}, "ia": {"IA"}}


def test_the_seven_are_read_in_any_order_and_spelling() -> None:
    assert {parse_subset(name).name for name in SEVEN} == set(SEVEN)
    assert parse_subset("rl, pc") == parse_subset("pc+rl")
    assert parse_subset("all") == parse_subset("ia,rl,pc") == EVERYTHING


@pytest.mark.parametrize("text", ["", "pc,xx", "roofline", "all,pc", "+"])
def test_anything_else_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(ConfigError, match=r"pc\+rl\+ia"):
        parse_subset(text)


@pytest.mark.parametrize("name", [name for name in SEVEN if name != "ia"])
def test_a_prompt_lists_evidence_of_its_subset_only(subject: Callable[[str], Subject], name: str) -> None:
    prompt = build_prompt(subject("stencil"), subset=parse_subset(name))
    kinds = {each.partition("-")[0] for each in prompt.evidence}
    allowed = {kind for source in name.split("+") for kind in OF_SOURCE[source]}
    assert kinds
    assert kinds <= allowed
    assert prompt.subset == name


def test_without_the_roofline_nothing_tells_it(subject: Callable[[str], Subject]) -> None:
    text = build_prompt(subject("accuracy"), subset=parse_subset("pc")).user
    for word in ("ceiling", "latency-bound", "memory throughput", "DRAM throughput", "% of peak", "2.12x"):
        assert word not in text
    assert "ceiling" in build_prompt(subject("accuracy"), subset=parse_subset("rl")).user


def test_without_stalls_no_line_is_marked(subject: Callable[[str], Subject]) -> None:
    text = build_prompt(subject("accuracy"), subset=parse_subset("rl")).user
    assert "PC-" not in text
    assert "samples" not in text
    assert "40 |         float score" in text


def test_a_subset_without_evidence_says_why(subject: Callable[[str], Subject]) -> None:
    with pytest.raises(EvidenceMissingError, match="too few to rank counters"):
        build_prompt(subject("accuracy"), subset=parse_subset("ia"))
