"""What people read of real searches on an H200: every sentence true, said once, with figures that are rounded alike."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from h200_outcomes import NAMES, measured, told
from html_pages import Page

from optimas_lsp.cli.optimize import as_text
from optimas_lsp.report.html import outcome_page
from optimas_lsp.rewrite.tries import time_spent, tries_of
from optimas_lsp.server.features.outcome import outcome_text

NO_FURTHER = "the catalogue has no further one; optimas prompt prints what a model would be asked"
PROVEN = (
    "a rewrite of {} is proven: kernel time {} times shorter (95 % interval {}, {} pairs); chosen out of 3 candidates"
)
ENDS = {
    "sobol": PROVEN.format("sobol_kernel", "3.823", "3.818 to 3.830", 7),
    "sweep": PROVEN.format("row_sum", "3.693", "3.666 to 3.736", 13),
    "shmem": PROVEN.format("mix_tiles", "4.681", "4.673 to 4.684", 7),
    "lookup": f"none of the 6 candidates for lookup_kernel changes its machine code; {NO_FURTHER}; "
    "findings also lie in grid.cuh: give that file as SOURCE to change it",
    "cub_adjacent": "none of the 7 candidates for variation_kernel is clearly faster; the best, try 3: "
    f"no clear difference: kernel time 1.008 times shorter (95 % interval 0.993 to 1.013, 5 pairs); {NO_FURTHER}",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_sentence_says_what_came_of_it_and_what_to_do(name: str) -> None:
    assert told(name).sentence == ENDS[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_race_comes_out_as_it_did(name: str) -> None:
    before, today = measured(name), told(name)
    assert today.chosen == before.chosen
    assert [each.stopped_at for each in today.attempts] == [each.stopped_at for each in before.attempts]


def test_where_nothing_changes_the_machine_code_nobody_has_to_look() -> None:
    assert told("lookup").status == "nothing"
    assert told("cub_adjacent").status == "refuted"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_slower_is_called_so_many_times_shorter(name: str) -> None:
    outcome = told(name)
    text, page = as_text(outcome), Page(outcome_page(outcome)).text
    for words in (text, page, *(each.problem for each in outcome.attempts)):
        for figure, low, high in re.findall(r"(\S+) times shorter \(95 % interval (\S+) to (\S+),", words):
            assert float(high) >= 1, f"{figure} times shorter is slower"
            assert {len(each.partition(".")[2]) for each in (figure, low, high)} == {3}


def test_slower_is_said_as_longer() -> None:
    problem = told("cub_adjacent").attempts[3].problem
    assert problem == "rejected by time: slower: kernel time 2.367 times longer (95 % interval 2.361 to 2.382, 5 pairs)"


@pytest.mark.parametrize("name", NAMES)
def test_every_try_has_a_line_of_what_it_changes_and_one_of_what_became_of_it(name: str) -> None:
    outcome = told(name)
    rows = tries_of(outcome)
    text = as_text(outcome)
    assert len(re.findall(r"^try \d", text, re.MULTILINE)) == len(rows)
    for each in rows:
        assert each.label in text
    last = outcome.attempts[-1]
    assert not [each for each in rows if "no further transformation" in each.said], "the catalogue's end is no try"
    assert last.number == len(outcome.attempts)


def test_a_short_proof_is_told_as_a_race_and_frightens_nobody() -> None:
    outcome = told("sobol")
    assert [each.problem for each in outcome.attempts] == [
        "not chosen: slower than try 2",
        "",
        "not chosen: clearly slower than try 2, so it was ended early",
    ]
    text = as_text(outcome)
    assert (
        "3.407 times shorter (95 % interval 3.399 to 3.411, 5 pairs) in a short proof; took 13 s and waited 10 s"
        in text
    )
    assert "not proven" not in text
    assert "which only compares" not in text


def test_a_try_that_changes_no_machine_code_says_so_in_short() -> None:
    assert {each.said for each in tries_of(told("lookup"))} == {"changes no machine code"}
    page = Page(outcome_page(told("lookup"))).text
    assert page.count("the compiler makes the same machine code of the new text") == 7, "in each answer, and as a gate"
    assert "kernel time" not in page, "nothing was timed, so there are no columns for it"


def test_candidates_that_measured_alike_are_not_called_slower() -> None:
    problems = [each.problem for each in told("shmem").attempts]
    assert "not chosen: no clear difference to try 2" in problems


def test_a_short_proof_is_kept_once() -> None:
    for attempt in told("cub_adjacent").attempts[:6]:
        assert attempt.screened is not None
        assert attempt.proof is None
        assert attempt.judged == attempt.screened


def test_what_waited_for_the_gpu_is_told_apart_from_what_worked() -> None:
    assert time_spent(tries_of(told("sobol"))) == (
        "65 s (build 14, witness build 7, runs 16, timing 21, sanitizers 3, profiling 5), "
        "and 60 s waiting for other proofs on this GPU"
    )
    alone = time_spent(tries_of(told("cub_adjacent")))
    assert alone.startswith("180 s (build 85")
    assert "waiting" not in alone, "nobody else was there"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_denies_no_proof_that_was_made(name: str) -> None:
    outcome = told(name)
    page = Page(outcome_page(outcome))
    assert page.stack == []
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    proven = any(each.judged is not None for each in outcome.attempts)
    for denial in ("No gate was reached", "nothing came as far as a proof", "no candidate came as far as a proof"):
        assert (denial in page.text) <= (not proven)
    assert "no model: catalogue" not in page.text
    assert "+00:00" not in page.text
    assert "Tries" in page.text


def test_the_page_of_a_search_without_a_winner_is_about_the_best_try() -> None:
    outcome = told("cub_adjacent")
    assert outcome.nearest == 3
    page = Page(outcome_page(outcome)).text
    assert "The change of try 3, which does not stand" in page
    assert "BLOCK_STORE_WARP_TRANSPOSE" in page
    assert "switched off in the configuration" not in page, "a short proof leaves it out, nobody switched it off"


def test_what_changes_nothing_is_not_scored_or_explained() -> None:
    page = Page(outcome_page(told("lookup"))).text
    assert "EAR" not in page
    assert "Why, and what came of it" not in page


def test_a_gain_over_the_roofline_for_the_same_work_is_explained() -> None:
    [effect] = [line for line in told("sobol").explanation if line.startswith("Effect: ")]
    assert "The roofline allows 2.97 times for the same DRAM bytes and arithmetic: the change needs fewer." in effect
    assert "The results are identical bit for bit on 3 inputs." in effect


def test_the_gates_of_what_stands_are_in_the_text() -> None:
    text = as_text(told("sobol"))
    assert "gates    passed: static, build, determinism, run, compare, sanitize, time, plausible, provenance\n" in text
    assert "skipped: reprofile: " in text


@pytest.mark.parametrize("name", NAMES)
def test_the_editors_text_repeats_no_reason(name: str) -> None:
    outcome = told(name)
    text = outcome_text("Optimise", outcome.model_dump(mode="json", by_alias=True))
    assert "no further transformation" not in text
    long = [line for line in text.partition("## The change")[0].split("\n") if len(line) > 60]
    assert len(long) == len(set(long))


def test_the_page_begins_with_what_came_of_it() -> None:
    assert '<p class="answer">Proven: kernel time 3.823 times shorter' in outcome_page(told("sobol"))


def test_another_inputs_figures_are_said_alike_too() -> None:
    proof = told("sobol").proof
    assert proof is not None
    words = "; SLOWER on input large: kernel time 0.8 times shorter (95 % interval 0.78 to 0.82, 5 pairs)"
    assert proof.spoken(f"kernel time 3.823 times shorter (95 % interval 3.818 to 3.83, 7 pairs){words}") == (
        "kernel time 3.823 times shorter (95 % interval 3.818 to 3.830, 7 pairs)"
        "; SLOWER on input large: kernel time 1.250 times longer (95 % interval 1.220 to 1.282, 5 pairs)"
    )


def test_the_editors_text_has_the_figures_of_the_race() -> None:
    text = outcome_text("Optimise", told("sobol").model_dump(mode="json", by_alias=True))
    assert "not chosen: slower than try 2; kernel time 3.407 times shorter" in text
    slower = outcome_text("Optimise", told("cub_adjacent").model_dump(mode="json", by_alias=True))
    assert slower.count("2.367 times longer") == 1


def test_the_manual_shows_what_is_said() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "backends.md").read_text("utf-8")
    shown = manual.partition("```\ncandidate: ")[2].partition("\n```")[0]
    text = as_text(told("sobol"))
    assert shown
    assert [line for line in f"candidate: {shown}".split("\n") if line != "…" and line not in text] == []
