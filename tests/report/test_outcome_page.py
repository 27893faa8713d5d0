"""The page of one outcome: the change with evidence beside it, gates, times, stalls, EAR, reasons, and what is open."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "score"))
from html_pages import Page
from made_outcomes import (
    GIVEN,
    SOURCE,
    TIMING,
    NoProposal,
    comparison,
    prompt,
    proposal,
    proven,
    rewriting,
    row,
)

from optimas_lsp.report.html import outcome_page
from optimas_lsp.report.html.side_by_side import Gap, rows_of
from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.score import score

RUNS = {"baseline": {"kernel_ns": [2000, 2100, 1900]}, "candidate": {"kernel_ns": [1000, 1010, 990]}}
GATES = [
    {"name": "compare", "status": "pass", "sentence": "identical bit for bit on 3 inputs"},
    {"name": "time", "status": "fail", "sentence": "slower"},
    {"name": "reprofile", "status": "skipped", "sentence": "no re-profile was asked for"},
]


def timed(**details: object) -> Proof:
    return proven(timing={**TIMING["timing"], "runs": RUNS}, gates=GATES, not_checked=["the binary"], **details)


def page_of(outcome: Rewriting) -> Page:
    text = outcome_page(outcome)
    found = Page(text)
    assert found.stack == []
    [policy] = [each["content"] or "" for each in found.all("meta") if each.get("http-equiv")]
    assert policy.startswith("default-src 'none'")
    assert "'unsafe-inline'" not in policy.partition("script-src")[2]
    assert len(found.all("script")) == 1
    assert not [tag for tag, _ in found.elements if tag in {"img", "iframe", "link", "object", "form", "base"}]
    for _, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert "javascript:" not in (attributes.get("href") or "")
    ids = {each["id"] for _, each in found.elements if each.get("id")}
    links = {each["href"] for each in found.all("a") if each.get("href")}
    assert {link[1:] for link in links} <= ids, "every link leads somewhere on the page"
    return found


def test_everything_of_a_proven_change_is_on_the_page() -> None:
    outcome = rewriting(proof=timed(), compared=comparison(row("PC-1", 100, 40)).model_dump(mode="json"))
    words = page_of(outcome).text
    for said in (
        "Rewrite of k", "a candidate stands", "__ldg", "taken out: ", "put in: ", "Why, and what came of it",
        "identical bit for bit on 3 inputs", "failed", "skipped", "2.000", "1.900 to 2.100", "before, run 1: 2.0 µs",
        "Time per launch that each stall stands for", "as implied", "evidence coverage", "2 of 5 findings",
        "What was not checked", "the binary", "reprofile: no re-profile was asked for", "a model (openai)",
        "own words, which nothing here vouches for",
    ):  # fmt: skip
        assert said in words, said


def test_evidence_stands_beside_the_lines_it_is_about() -> None:
    text = outcome_page(rewriting())
    rows = re.findall(r"<tr><td class=\"ids\">(.*?)</td><td class=\"no\">(\d*)</td>", text)
    assert {number: re.findall(r"#([A-Z]+-\d)", chips) for chips, number in rows if chips} == {
        "6": ["PC-3", "BL-1"], "8": ["PC-1"], "10": ["PC-2"]
    }  # fmt: skip


def test_one_column_holds_the_same_lines_as_two() -> None:
    text = outcome_page(rewriting())
    two, one = (part.partition("</table>")[0] for part in text.split('<table class="source sides')[1:3])
    assert one.startswith(" onecolumn")

    def lines(table: str, kind: str) -> list[str]:
        return re.findall(rf'<td class="{kind}"><span class="hidden">[^<]*</span>(<code>.*?</code>)', table)

    for kind in ("in", "out"):
        assert lines(one, kind) == lines(two, kind) != []
    assert re.findall(r"#([A-Z]+-\d)", one) == re.findall(r"#([A-Z]+-\d)", two)


def test_a_sentence_is_not_told_twice_at_the_top() -> None:
    recorded = "recorded on NVIDIA H200, 2026-12-01"
    sentence = f"a rewrite of k: proven: kernel time 2 times shorter ({recorded})"
    text = outcome_page(rewriting(proof=timed(recorded=recorded)).model_copy(update={"sentence": sentence}))
    assert '<p class="answer">Proven: kernel time 2 times shorter</p>' in text


def test_what_was_not_measured_is_said_and_no_zero() -> None:
    words = page_of(rewriting()).text
    assert "Not profiled again: what warps wait for after the change was not measured." in words
    assert "whether it is right and faster: no candidate came as far as a proof" in words
    assert words.count("not measurable") == 2


def test_recorded_results_are_labelled_at_the_top() -> None:
    words = page_of(rewriting(proof=timed(recorded="recorded on NVIDIA H200, 2026-12-01"))).text
    assert words.index("the program was not run now") < words.index("The change")


def test_an_invented_citation_is_pointed_out() -> None:
    assert "Invented citations:  PC-99" in page_of(rewriting(proposal(cites=("BL-1", "PC-99")))).text


@pytest.mark.parametrize(
    "outcome",
    [
        rewriting(NoProposal(kind="refusal", sentence="the model declined")),
        rewriting(proposal().model_copy(update={"functions": (), "changes": ()}), status="nothing"),
        rewriting(proposal(cites=("PC-99",)), stands=False),
        rewriting(attempts=(), edits=(), edited=None, status="dry-run"),
        rewriting(analysis=None, prompt=prompt(())).model_copy(update={"analysis": None}),
        rewriting(proof=Proof(state="not-proven", sentence="not proven: no GPU")),
        rewriting(proof=Proof(state="proven", sentence="x", details={"timing": 3, "gates": "y"})),
        rewriting(edited="something else"),
        rewriting(proof=proven(timing={"kernel_ns": {**TIMING["timing"]["kernel_ns"], "speedup": 0.0}})),
        rewriting(scores={"schema": "optimas.ear/9"}, compared={"schema": "optimas.compare/9"}),
    ],
    ids=[
        "refusal",
        "nothing",
        "refused",
        "dry-run",
        "no-analysis",
        "not-proven",
        "foreign-proof",
        "other-text",
        "no-speed",
        "newer",
    ],
)
def test_every_end_has_a_page(outcome: Rewriting) -> None:
    assert "What was not checked" in page_of(outcome).text


def spoilt(evil: str) -> Rewriting:
    """Hostile words wherever an answer, a source, a report or a tool may bring some."""
    source = SOURCE.replace("float x = 0;", f"float x = 0; // {evil}")
    answer = proposal(source.replace("x += v;", f"x += v * 1; // {evil}"), cites=("BL-1", evil))
    change = answer.changes[0].model_copy(update={"transformation": evil, "reason": evil})
    outcome = rewriting(answer.model_copy(update={"changes": (change,)}), source=source)
    assert outcome.analysis is not None
    kernel = outcome.analysis.model_copy(
        update={
            "name": evil,
            "base_name": evil,
            "evidence": tuple(
                each.model_copy(update={"text": evil, "rule": evil if each.id == "PC-2" else each.rule})
                for each in outcome.analysis.evidence
            ),
        }
    )
    gates = [{"name": evil, "status": evil, "sentence": evil}]
    proof = proven(gates=gates, not_checked=[evil], recorded=evil, machine={"gpu": {"name": evil}})
    return outcome.model_copy(
        update={"analysis": kernel, "kernel": evil, "sentence": evil, "backend": evil, "proof": proof,
                "started": evil, "explanation": (f"1. {evil}", f"Evidence: {evil}", evil, f"Effect: {evil}")}
    )  # fmt: skip


@pytest.mark.parametrize("own", [True, False])
def test_hostile_sources_answers_and_reports_stay_text(hostile_words: str, *, own: bool) -> None:
    outcome = spoilt(hostile_words)
    if not own:
        outcome = outcome.model_copy(update={"explanation": (), "prompt": prompt((*GIVEN, hostile_words))})
    text = outcome_page(outcome)
    page_of(outcome)
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in Page(text).text


def test_rounds_are_told_with_their_scores_and_why_there_are_no_more() -> None:
    first = rewriting(sentence="the first won")
    first = first.model_copy(update={"scores": score(first).model_dump(mode="json")})
    second = rewriting(proposal(SOURCE.replace("x += v;", "x = x + v;")), sentence="the second won")
    whole = second.model_copy(update={"rounds": (first, second), "ended": "all 2 rounds were made"})
    words = page_of(whole).text
    assert "the first won" in words
    assert "coverage 40 % (2 of 5), precision 100 % (2 of 2)" in words
    assert "No further round: all 2 rounds were made." in words
    assert "the change is of several rounds" in words


def test_a_diff_that_is_none_of_ours_is_no_row() -> None:
    assert rows_of("hello\n-not in a hunk\n") == []
    assert rows_of("") == []
    rows = rows_of("--- a\n+++ b\n@@ -3,2 +3,3 @@ f\n a\n-b\n+c\n+d\n\\ No newline at end of file\n")
    assert isinstance(rows[0], Gap)
    sides = [(old and (old.number, old.text), new and (new.number, new.text)) for old, new in rows[1:]]
    assert sides == [((3, "a"), (3, "a")), ((4, "b"), (4, "c")), (None, (5, "d"))]


lines = st.lists(st.sampled_from(["a", "b", "c", "- d", "+ e", "@@", ""]), max_size=12)


@settings(max_examples=80)
@given(lines, lines)
def test_the_two_columns_are_the_two_texts(before: list[str], after: list[str]) -> None:
    import difflib

    diff = "".join(difflib.unified_diff([f"{x}\n" for x in before], [f"{x}\n" for x in after], n=50))
    rows = [each for each in rows_of(diff) if not isinstance(each, Gap)]
    if before != after:
        assert [old.text for old, _ in rows if old] == before
        assert [new.text for _, new in rows if new] == after
        assert [old.number for old, _ in rows if old] == list(range(1, len(before) + 1))
