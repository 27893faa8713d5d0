"""Where the edit is and where the samples are: worked by hand, and what must hold for every edit."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import FILE, LOADED, OLD, SAMPLES, SOURCE, at, heat, kernel, on_disk, prompt, proposal, rewriting

from optimas_lsp.insight.evidence import SampleTotals
from optimas_lsp.profile.model import Device, Profile, SourceFile, Tool
from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.prompt_writer import STALE
from optimas_lsp.score import score
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.model import Localisation
from optimas_lsp.score.places import Places, aligned


def found_in(outcome: Rewriting, places: Places | None = None, original: str | None = None) -> Localisation:
    return score(outcome, places=places, original=original).localisation


def edited(new: str) -> Localisation:
    return found_in(rewriting(proposal(new)))


def counts(one: Measure) -> tuple[float | None, int | None]:
    return one.hits, one.of


def profile(text: str) -> Profile:
    return Profile(
        distiller="1", report_name="r", report_sha256="0" * 64, report_bytes=1, tool=Tool(name="ncu", version="1"),
        device=Device(name="GPU", compute_capability=(9, 0)), metrics=(), reasons=(),
        files=(SourceFile(path=FILE, text=text),), kernels=(), launches=(),
    )  # fmt: skip


def test_the_worked_example_of_the_manual() -> None:
    """Hot: lines 3 (45), 6 and 7 as one statement (150), 8 (600), 10 (200), in all 995. Edited: 6 and 7."""
    found = edited(SOURCE.replace(OLD, LOADED))
    assert found.edited == (6, 7)
    assert found.hot == (3, 6, 7, 8, 10)
    assert counts(found.hot_samples) == (150, 995)
    assert found.hot_samples.value == pytest.approx(0.1508, abs=1e-4)
    assert (found.hot_samples.low, found.hot_samples.high) == pytest.approx((0.1299, 0.1743), abs=1e-4)
    assert counts(found.edited_lines) == (2, 2)
    # Line 8 waits for the load of line 6, all of its 600 samples.
    assert counts(found.hot_samples_caused) == (750, 995)
    assert counts(found.edited_lines_causing) == (2, 2)


def test_one_line_of_a_statement_stands_for_all_of_it() -> None:
    found = edited(SOURCE.replace("+ j];", "+ j + 0];"))
    assert found.edited == (7,)
    assert counts(found.hot_samples) == (150, 995)
    assert counts(found.edited_lines) == (1, 1)


def test_a_cold_line_counts_among_the_edited_ones_only() -> None:
    found = edited(SOURCE.replace("float x = 0;", "float x = 0.0f;"))
    assert counts(found.hot_samples) == (0, 995)
    assert counts(found.edited_lines) == (0, 1)
    assert found.hot_samples.value == 0.0
    assert found.hot_samples.why_not == ""


def test_new_lines_between_two_statements_touch_neither() -> None:
    found = edited(SOURCE.replace("    b[i] = x;", "    if (n < 0) x = 0;\n    b[i] = x;"))
    assert found.edited == ()
    assert counts(found.hot_samples) == (0, 995)
    assert "new lines" in found.edited_lines.why_not


def test_a_pragma_touches_the_statement_it_stands_before() -> None:
    found = edited(SOURCE.replace("    for (", "#pragma unroll\n    for ("))
    assert found.edited == (5,)


def test_a_line_put_into_a_statement_touches_it() -> None:
    found = edited(
        SOURCE.replace(OLD, "        float v = a[i * n\n                    + 0\n                    + j];\n")
    )
    assert counts(found.hot_samples) == (150, 995)


def test_a_line_indented_anew_has_moved_into_another_block() -> None:
    inner = "        if (j >= 0) {\n            x += v;\n        }\n"
    found = edited(SOURCE.replace("        x += v;\n", inner))
    assert found.edited == (8,)
    assert counts(found.hot_samples) == (600, 995)


def test_samples_of_an_inlined_function_lie_on_the_line_that_calls_it() -> None:
    """What is sampled in a header, inlined at line 8, lies on line 8 too."""
    inlined = heat(9, 600, "/ws/rank.cuh", inlined_at=(at(8),))
    lines = tuple(heat(line, count) for line, count in SAMPLES.items() if line != 8)
    outcome = rewriting(proposal(SOURCE.replace("x += v;", "x = x + v;")), analysis=kernel((*lines, inlined)))
    assert counts(found_in(outcome).hot_samples) == (600, 995)
    assert counts(found_in(outcome).edited_lines) == (1, 1)


def test_samples_in_files_that_are_not_edited_count_against_the_edit() -> None:
    elsewhere = heat(9, 600, "/usr/include/lib.hpp", shown=None)
    lines = tuple(heat(line, count) for line, count in SAMPLES.items() if line != 8)
    found = found_in(rewriting(analysis=kernel((*lines, elsewhere))))
    assert counts(found.hot_samples) == (150, 995)


def test_lines_are_led_through_the_reports_text() -> None:
    """Today's file has two lines more at its head: by content everything is as it was."""
    today = "// a new comment\n\n" + SOURCE
    outcome = rewriting(proposal(today.replace(OLD, LOADED)), source=today)
    found = found_in(outcome, aligned(profile(SOURCE), FILE, today))
    assert found.edited == (8, 9)
    assert found.lines_from == "report"
    assert counts(found.hot_samples) == (150, 995)
    assert counts(found.hot_samples_caused) == (750, 995)
    assert {each.id: each.lines for each in found.standing} == {
        "PC-1": (10,), "PC-2": (12,), "PC-3": (8,), "BL-1": (8,)
    }  # fmt: skip


def test_lines_that_changed_since_profiling_are_left_out_and_counted() -> None:
    today = SOURCE.replace("x += v;", "x += v * 2;")
    outcome = rewriting(proposal(today.replace(OLD, LOADED)), source=today)
    found = found_in(outcome, aligned(profile(SOURCE), FILE, today))
    assert found.lost_samples == 600
    assert counts(found.hot_samples) == (150, 395)


def test_a_changed_source_without_the_report_is_not_measurable() -> None:
    found = found_in(rewriting(prompt=prompt(notes=(STALE,))))
    assert found.hot_samples.value is None
    assert "--profile" in found.hot_samples.why_not


def test_what_was_recorded_with_the_report_at_hand_is_kept() -> None:
    outcome = rewriting(prompt=prompt(notes=(STALE,)))
    first = score(outcome, places=aligned(profile(SOURCE), FILE, SOURCE))
    again = score(outcome.model_copy(update={"scores": first.model_dump(mode="json")}))
    assert again.localisation == first.localisation


def test_no_samples_no_analysis_and_no_text_say_so(tmp_path: Path) -> None:
    none = kernel(()).model_copy(update={"samples": SampleTotals(total=0, stalled=0, not_issued=0, unattributed=0)})
    assert "no PC samples" in found_in(rewriting(analysis=none)).hot_samples.why_not
    without = rewriting().model_copy(update={"analysis": None})
    assert "does not hold" in found_in(without).hot_samples.why_not
    refused = rewriting(stands=False)
    assert "--source" in found_in(refused).hot_samples.why_not
    assert counts(found_in(refused, original=SOURCE).hot_samples) == (150, 995)
    assert on_disk(tmp_path, refused).source == str(tmp_path / "k.cu")


def test_a_refused_answer_is_scored_against_the_unchanged_file(tmp_path: Path) -> None:
    path = os.path.realpath(tmp_path / "k.cu")
    moved = kernel(tuple(
        each.model_copy(update={"location": at(each.location.line, path), "shown": at(each.location.line, path)})
        for each in kernel().lines
    ))  # fmt: skip
    refused = on_disk(tmp_path, rewriting(stands=False, analysis=moved))
    assert counts(found_in(refused).hot_samples) == (150, 995)
    (tmp_path / "k.cu").write_text("changed")
    assert "not at hand" in found_in(refused).hot_samples.why_not


def test_an_answer_for_a_function_that_is_not_there_says_so() -> None:
    lost = proposal().model_copy(update={"functions": (proposal().functions[0].model_copy(update={"function": "q"}),)})
    found = found_in(rewriting(lost, stands=False), original=SOURCE)
    assert "cannot be put into the file" in found.hot_samples.why_not


def test_the_answer_that_stands_is_scored_not_the_last_one() -> None:
    """Of two candidates the first was chosen; the other one edits line 8."""
    other = Attempt(number=2, reply=Reply(outcome=proposal(SOURCE.replace("x += v;", "x = x + v;"))))
    first = rewriting()
    outcome = first.model_copy(update={"attempts": (*first.attempts, other), "chosen": 1})
    assert found_in(outcome).edited == (6, 7)
    assert score(outcome, attempt=2).localisation.edited == (8,)


CODE = (3, 4, 6, 8, 10)
"""Lines that an edit of the property tests may change, each by a comment-free change of its text."""


def changed(lines: frozenset[int]) -> str:
    """Every one of these lines with other code on it."""
    rows = SOURCE.split("\n")
    for line in lines:
        rows[line - 1] = rows[line - 1].replace("i * n", "n * i").replace(";", " + 0;")
    return "\n".join(rows)


@settings(deadline=None, max_examples=40)
@given(st.sets(st.sampled_from(CODE), min_size=1).map(frozenset), st.integers(0, 5))
def test_what_must_hold_for_every_edit(lines: frozenset[int], above: int) -> None:
    found = edited(changed(lines))
    assert set(found.edited) == lines
    hits = sum(150 if line == 6 else SAMPLES[line] for line in lines if line != 4)
    assert counts(found.hot_samples) == (hits, 995)
    assert counts(found.edited_lines) == (len(lines - {4}), len(lines))
    assert found.hot_samples_caused.hits is not None
    assert found.hot_samples_caused.hits >= hits
    # The same edit of the same text further down, led through the report's text, scores the same.
    head = "// nothing\n" * above
    moved = rewriting(proposal(head + changed(lines)), source=head + SOURCE)
    again = found_in(moved, aligned(profile(SOURCE), FILE, head + SOURCE))
    assert again.hot_samples == found.hot_samples
    assert again.edited_lines == found.edited_lines
    assert again.hot_samples_caused == found.hot_samples_caused
