"""An answer in plain text is either one proposal or says, in its own sentence, why it is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.rewrite import parse
from optimas_lsp.rewrite.parse import NoProposal, parse_answer
from optimas_lsp.rewrite.proposal import Proposal

TEXT = '__global__ void scale(float* x, int n)\n{\n    if (n > 0) x[threadIdx.x] *= 2.0f;  // "}" \\n\n}'
ANSWER = {
    "schema": "optimas.proposal/1",
    "functions": [{"function": "scale", "text": TEXT}],
    "changes": [
        {
            "function": "scale",
            "original_lines": [2, 4],
            "evidence": ["PC-1"],
            "transformation": "unroll",
            "reason": "one load at a time",
            "expects": [{"metric": "long_scoreboard", "direction": "down"}],
        }
    ],
    "not_applied": [{"transformation": "tiling", "reason": "no reuse"}],
}
WANTED = Proposal.model_validate(ANSWER)
PLAIN = json.dumps(ANSWER, indent=2)


def kind_of(text: str, finish_reason: str | None = None) -> str:
    result = parse_answer(text, finish_reason=finish_reason)
    assert isinstance(result, NoProposal), result
    assert result.sentence
    return result.kind


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        f"```json\n{PLAIN}\n```",
        f"Sure! Here is the proposal {{as asked}}:\n\n```json\n{PLAIN}\n```\nIt cites PC-1 only. {{}}",
        f"<think>maybe {{'functions': 1}} or {PLAIN[:80]}</think>\n{PLAIN}",
        PLAIN.replace("]\n}", "],\n}").replace('"no reuse"\n', '"no reuse",\n'),
        PLAIN.replace('"changes"', '// what changed\n "changes"').replace('"not_applied"', '/* rest */ "not_applied"'),
        PLAIN.replace("\\n}", "\n}"),
        f"{PLAIN}\n\nAgain, for the record:\n{PLAIN}",
    ],
)
def test_wrapping_is_forgiven(text: str) -> None:
    assert parse_answer(text) == WANTED


def test_a_fence_around_a_functions_text_is_taken_off() -> None:
    answer = {**ANSWER, "functions": [{"function": "scale", "text": f"```cuda\n{TEXT}\n```"}]}
    assert parse_answer(json.dumps(answer)) == WANTED


def test_one_citation_one_line_and_other_words_for_a_direction_are_understood() -> None:
    change = {
        **ANSWER["changes"][0],  # type: ignore[index]
        "original_lines": "lines 2-4",
        "evidence": "[PC-1], BL-2",
        "expects": {"metric": "time", "direction": "Decrease"},
        "confidence": 0.9,
    }
    proposal = parse_answer(json.dumps({**ANSWER, "changes": change, "comment": "hi"}))
    assert isinstance(proposal, Proposal)
    assert proposal.changes[0].original_lines == (2, 4)
    assert proposal.changes[0].evidence == ("PC-1", "BL-2")
    assert proposal.changes[0].expects[0].direction == "down"


def test_an_answer_that_changes_nothing_is_a_proposal() -> None:
    assert parse_answer('{"functions": []}') == Proposal(functions=())


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff"])
def test_nothing_is_empty(text: str) -> None:
    assert kind_of(text) == "empty"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with modifying this code.",
        "As an AI language model, I am unable to do that.",
    ],
)
def test_a_refusal_is_a_refusal(text: str) -> None:
    assert kind_of(text) == "refusal"
    assert kind_of("anything", "content_filter") == "refusal"


@pytest.mark.parametrize("cut", [20, 60, 150, 300, len(PLAIN) - 2])
def test_a_cut_off_answer_is_truncated_wherever_it_was_cut(cut: int) -> None:
    assert kind_of(PLAIN[:cut]) == "truncated"
    assert kind_of("```json\n" + PLAIN[:cut]) == "truncated"


def test_the_services_word_that_it_cut_the_answer_is_believed() -> None:
    assert kind_of(PLAIN, "length") == "truncated"
    assert kind_of(PLAIN, "FinishReason.MAX_TOKENS") == "truncated"
    assert kind_of("<think>still going") == "truncated"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}', "api-error"),
        ('{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded"}}', "rate-limit"),
        ("Error: 503 Service Unavailable", "api-error"),
        ("Error code: 429 - Rate limit reached for requests", "rate-limit"),
        ("<!DOCTYPE html><html><body>Bad gateway</body></html>", "api-error"),
        ("502 Bad Gateway", "api-error"),
        ("Traceback (most recent call last):\n  File ...", "api-error"),
        ("The model is currently overloaded. Please try again later.", "api-error"),
        ("Too many requests, slow down.", "rate-limit"),
    ],
)
def test_an_error_text_is_never_taken_for_code(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```cuda\n" + TEXT + "\n```", "no JSON"),
        ("Here you go: use shared memory.", "no JSON"),
        ('{"code": "x"}', "no 'functions'"),
        ('{"functions": "rewrite it"}', "functions.0"),
        ('{"functions": [{"function": "scale"}]}', "functions.0.text"),
        ('{"functions": [{"function": "a", "text": 3}]}', "functions.0.text"),
        (PLAIN + PLAIN.replace("2.0f", "3.0f"), "2 different proposals"),
        ('{"functions": [], "schema": "optimas.proposal/9"}', "schema"),
    ],
)
def test_what_is_no_proposal_says_what_is_wrong(text: str, words: str) -> None:
    result = parse_answer(text)
    assert isinstance(result, NoProposal)
    assert result.kind == "malformed"
    assert words in result.sentence


def test_an_enormous_or_deep_answer_is_refused_quickly() -> None:
    assert kind_of("x" * 3_000_000) == "malformed"
    assert kind_of('{"functions": ' + "[" * 100_000) in {"truncated", "malformed"}
    assert kind_of("{" * 50_000) in {"truncated", "malformed"}


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    parse_answer(text)


@given(st.integers(0, len(PLAIN)), st.sampled_from(list('{}[]",:\\\n`/*')))
def test_no_damage_makes_it_fail(place: int, char: str) -> None:
    parse_answer(PLAIN[:place] + char + PLAIN[place:])


def test_a_key_given_twice_is_no_guess() -> None:
    for answer in (
        '{"functions": [{"function": "a", "text": "one"}], "functions": [{"function": "a", "text": "two"}]}',
        '{"functions": [{"function": "a", "text": "one", "text": "two",}]}',
    ):
        found = parse_answer(answer)
        assert isinstance(found, NoProposal)
        assert "twice, in different ways" in found.sentence
    same = '{"functions": [{"function": "a", "text": "one", "text": "one"}]}'
    assert isinstance(parse_answer(same), Proposal)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 500_000,
        '{"' * 100_000,
        '{"a":"' * 60_000,
        '{"a":' * 300 + "/*" * 100_000,
        '{"functions":' + "[" * 100_000,
        '{"functions": [], "x": ' + "[" * 900 + "]" * 900 + "}",
        ("{" + " " * 1000) * 400,
    ],
)
def test_no_text_is_walked_again_and_again(text: str) -> None:
    places: list[int] = []

    def closing(whole: str, place: int) -> int | None:
        places.append(place)
        return walk(whole, place)

    walk = parse._closing  # pyright: ignore[reportPrivateUsage]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "_closing", closing)
        parse.parse_answer(text)
    assert len(places) <= parse._MOST_OPEN + 1  # pyright: ignore[reportPrivateUsage] - each is a walk to the end


@pytest.mark.parametrize("wrong", ["true", "[true, false]", "[1, Infinity]", "[1.5, 2]", "[1, " + "9" * 5000 + "]"])
def test_lines_that_are_no_lines_are_no_proposal(wrong: str) -> None:
    rest = '"function": "a", "evidence": ["PC-1"], "transformation": "t", "reason": "r"'
    change = f'{{"original_lines": {wrong}, {rest}}}'
    found = parse_answer(f'{{"functions": [{{"function": "a", "text": "x"}}], "changes": [{change}]}}')
    assert isinstance(found, NoProposal)
