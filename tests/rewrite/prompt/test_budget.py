"""A prompt fits its budget: the least valuable goes first and is named, the kernel and its best evidence stay."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.rewrite.budget import BudgetError, Droppable, fit, tokens_of
from optimas_lsp.rewrite.prompt import PastCase, Subject, build_prompt


def test_smaller_budgets_drop_more_from_the_same_end(subject: Callable[[str], Subject]) -> None:
    whole = build_prompt(subject("stencil"))
    assert whole.dropped == ()
    before: tuple[str, ...] = ()
    for limit in range(whole.tokens, 5000, -700):
        try:
            prompt = build_prompt(subject("stencil"), max_tokens=limit)
        except BudgetError:
            break
        assert tokens_of(prompt.system) + tokens_of(prompt.user) == prompt.tokens <= limit
        assert prompt.dropped[: len(before)] == before
        assert prompt.evidence == whole.evidence[: len(prompt.evidence)], "the most valuable stay"
        assert all(words in prompt.user for words in prompt.dropped)
        assert all(
            f"{name} " not in prompt.user.split("## Left out")[0] for name in set(whole.evidence) - set(prompt.evidence)
        )
        before = prompt.dropped
    assert any(words.startswith("evidence") for words in before)


def test_what_is_for_reading_only_goes_before_the_best_evidence(subject: Callable[[str], Subject]) -> None:
    case = PastCase(id="c", rules=("wait",), transformation="unroll", outcome="1.1x", code="x\n" * 50)
    whole = build_prompt(subject("stencil"), cases=[case, case])
    prompt = whole
    for limit in range(whole.tokens, 0, -100):
        try:
            prompt = build_prompt(subject("stencil"), cases=[case, case], max_tokens=limit)
        except BudgetError:
            break
    kinds = [words.split()[0] for words in prompt.dropped]
    assert kinds[-2:] == ["evidence", "evidence"]
    assert kinds[-8:-2] == ["past", "past", "known", "what", "declarations", "functions"]
    assert prompt.dropped[-8:-6] == ("past case 2", "past case 1")
    assert len(prompt.evidence) == 1
    assert "void update(" in prompt.user
    assert "second_derivative(const" not in prompt.user


def test_a_budget_below_the_kernel_is_refused_with_what_it_needs(subject: Callable[[str], Subject]) -> None:
    with pytest.raises(BudgetError, match=r"needs about [\d,]+ tokens .* and 500 are allowed") as caught:
        build_prompt(subject("accuracy"), max_tokens=500)
    [needed] = re.findall(r"needs about ([\d,]+)", caught.value.what)
    assert build_prompt(subject("accuracy"), max_tokens=int(needed.replace(",", ""))).evidence, "what it says is enough"


@given(st.lists(st.text(max_size=40), max_size=12), st.integers(min_value=0, max_value=200))
def test_fit_drops_no_more_than_it_must(words: list[str], limit: int) -> None:
    parts = [Droppable(str(at), text) for at, text in enumerate(words)]

    def render(dropped: object) -> str:
        return "".join(part.words for part in parts[len(list(dropped)) :])  # type: ignore[call-overload]

    found = fit(parts, render, limit)
    assert found.tokens == tokens_of(found.text) <= limit
    count = len(found.dropped)
    assert list(found.dropped) == parts[:count]
    assert count == 0 or tokens_of(render(parts[: count - 1])) > limit
