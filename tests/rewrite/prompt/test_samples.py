"""Prompts of the sample programs' real reports are what they were, hold what they must, and nothing of the rest."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from prompt_samples import GOLDEN, blocks, outside, without_advice

from optimas_lsp.insight import knowledge
from optimas_lsp.rewrite.catalogue.registry import entry
from optimas_lsp.rewrite.guard.rulebook import RULES
from optimas_lsp.rewrite.prompt import PastCase, Subject, build_prompt
from optimas_lsp.rewrite.prompt_rules import answer_schema, system_text


@pytest.mark.parametrize("name", ["accuracy", "stencil", "softmax_triton"])
def test_the_prompt_of_a_real_kernel_is_the_expected_one(frozen: Callable[[str], Subject], name: str) -> None:
    expected = (GOLDEN / f"{name}.txt").read_text("utf-8")
    first, second = (without_advice(build_prompt(frozen(name)).user) for _ in range(2))
    assert first == second
    assert first == expected, "read the difference, then run tests/rewrite/prompt/renew.py"


def test_source_is_the_kernel_and_what_it_reaches_and_not_the_file(subject: Callable[[str], Subject]) -> None:
    prompt = build_prompt(subject("stencil"))
    assert prompt.functions == ("interior::update", "acceleration")
    source = {title: lines for _, title, lines in blocks(prompt.user) if title.startswith("source")}
    assert [title.split(" (")[0] for title in source] == ["source stencil.cu", "source derivatives.cuh"]
    whole = "\n".join(line for lines in source.values() for line in lines)
    for reached in (
        "void update(const double* previous",
        "acceleration(const",
        "mixed_derivative(const",
        "struct Grid",
    ):
        assert reached in whole
    for other in ("int main", "void update(double* next, Grid grid)", "static void check", "printf", "kSponge"):
        assert other not in whole


def test_every_line_has_its_number_and_the_ids_of_its_evidence(subject: Callable[[str], Subject]) -> None:
    prompt = build_prompt(subject("accuracy"))
    [own, other] = [lines for _, title, lines in blocks(prompt.user) if title.startswith("source")]
    text = subject("accuracy").source.syntax.text
    for line in own:
        number, _, code = line.partition("|")
        assert code.removeprefix(" ") == text.line(int(number.split()[0])).rstrip()
    [hot] = [line for line in own if "= scores[(size_t)row * classes + c]" in line]
    assert "BL-1" in hot.partition("|")[0]
    assert any(re.match(r"\s*9\s+8\d\.\d% PC-1\b", line) for line in other)


def test_evidence_has_share_margin_cause_and_bound_and_the_kernel_its_ceiling(
    subject: Callable[[str], Subject],
) -> None:
    text = build_prompt(subject("accuracy")).user
    assert re.search(r"BL-1 \[act\] long_scoreboard at accuracy\.cu:40: 8\d\.\d ± 0\.\d % of [\d,]+ samples", text)
    assert re.search(r"because of accuracy\.cu:40 LDG \(\d+ % of this wait, dominant\)", text)
    assert re.search(r"buys at most \d\.\d\dx of the whole program's GPU time", text)
    assert re.search(r"ceiling: at least [\d.]+ µs", text)
    assert "NVIDIA H200, compute capability 9.0" in text
    assert "shared memory per block on request 232,448 B" in text


def test_known_transformations_are_those_of_the_evidence_listed(subject: Callable[[str], Subject]) -> None:
    prompt = build_prompt(subject("accuracy"))
    advice = next(part for part in prompt.user.split("\n\n") if part.startswith("## What usually helps"))
    assert all(f"- {sentence}" in advice for sentence in knowledge.rules()["long_scoreboard"].helps)
    assert all(f"- not when: {sentence}" in advice for sentence in knowledge.rules()["long_scoreboard"].not_when)
    assert knowledge.rules()["bank-conflicts"].helps[0] not in advice
    listed = next(part for part in prompt.user.split("\n\n") if part.startswith("## Known transformations"))
    named = [row[2:].partition(":")[0] for row in listed.split("\n")[1:]]
    rules = {each.rule for each in subject("accuracy").kernel.evidence}
    assert "batched-loads" in named
    assert all(rules & set(entry(name).rules) and entry(name).allowance is None for name in named)


def test_past_cases_are_told_as_data(subject: Callable[[str], Subject]) -> None:
    case = PastCase(
        id="c-17",
        rules=("long_scoreboard",),
        transformation="unroll",
        outcome="proven, 1.42x",
        code="#pragma unroll 4\nDATA-0>>>",
    )
    prompt = build_prompt(subject("accuracy"), cases=[case])
    [lines] = [lines for _, title, lines in blocks(prompt.user) if title == "case 1"]
    assert lines[0] == "c-17: unroll for long_scoreboard"
    assert "proven, 1.42x" in lines[1]
    assert lines[-1].endswith("DATA-0>>>")
    assert "1.42x" not in outside(prompt.user)


def test_every_rule_that_refuses_is_told_and_the_schema_is_closed() -> None:
    system = system_text("cuda")
    assert all(rule.demand in system for rule in RULES if rule.status == "fail" and rule.id != "empty")
    schema = answer_schema()
    assert schema["required"] == list(schema["properties"]) == ["functions", "changes", "not_applied", "bit_exact"]
    assert schema["properties"]["changes"]["items"]["additionalProperties"] is False
    assert "$ref" not in str(schema)
    assert "Allowed here beyond that\n- helpers\n" in system_text("cuda", ["helpers"])
