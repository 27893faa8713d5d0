"""Anchors: a finding stands on the line it was measured on, or nowhere."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.profile.model import SourceFile
from optimas_lsp.source.anchors import Anchors, Measured, align, digest
from optimas_lsp.source.text import Change, Position, SourceText

BLANKS = " \t\f\v"
KERNEL = """\
__global__ void triad(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    c[i] = a[i] + 3.0f * b[i];
  }
}
"""


def anchored(text: str, now: str | None = None) -> Anchors:
    measured = Measured.of(SourceFile(path="/p/k.cu", text=text))
    assert measured is not None
    return align(measured, SourceText.of(text if now is None else now))


def typed(anchors: Anchors, start: tuple[int, int], end: tuple[int, int], text: str) -> Anchors:
    _, splice = anchors.text.apply(Change(text, Position(*start), Position(*end)))
    return anchors.apply(splice)


def assert_honest(anchors: Anchors, profiled: list[str]) -> None:
    """The invariant: what survives reads as measured, in order, and the inverse agrees."""
    previous = 0
    for line, measured in enumerate(profiled, 1):
        today = anchors.today(line)
        if today is None:
            continue
        assert today > previous
        previous = today
        assert anchors.text.line(today).rstrip(BLANKS) == measured.rstrip(BLANKS)
        assert anchors.profiled(today) == line


def test_an_unchanged_text_is_not_stale_and_every_line_is_where_it_was() -> None:
    anchors = anchored(KERNEL)
    assert not anchors.stale
    assert [anchors.today(line) for line in range(1, 7)] == [1, 2, 3, 4, 5, 6]
    assert anchors.confidence(4) == "same"
    assert anchors.today(0) is anchors.today(7) is anchors.today(-1) is None
    assert "which has 6 lines" in anchors.why(900)


@pytest.mark.parametrize(
    "now",
    [
        KERNEL.replace("\n", "\r\n"),
        KERNEL.replace("\n", "\r"),
        KERNEL.removesuffix("\n"),
        KERNEL.replace(";", ";  \t"),
        "\ufeff" + KERNEL,
    ],
    ids=["crlf", "cr", "no final line end", "trailing blanks", "byte-order mark"],
)
def test_line_ends_and_trailing_blanks_are_no_change(now: str) -> None:
    text = now.removeprefix("\ufeff")
    assert not anchored(KERNEL, text).stale
    assert not anchored(now, KERNEL).stale


def test_lines_typed_above_move_a_finding_down() -> None:
    anchors = typed(anchored(KERNEL), (1, 0), (1, 0), "// one\n// two\n")
    assert anchors.today(4) == 6
    assert anchors.stale
    assert anchors.confidence(4) == "moved"
    assert anchors.why(4) == "Profiled line 4 is line 6 now; its text is as profiled."


def test_a_line_end_before_or_after_a_line_keeps_it() -> None:
    assert typed(anchored(KERNEL), (4, 0), (4, 0), "\n").today(4) == 5
    assert typed(anchored(KERNEL), (4, 30), (4, 30), "\n    ").today(4) == 4


def test_a_changed_line_loses_its_finding_and_undo_brings_it_back() -> None:
    changed = typed(anchored(KERNEL), (4, 15), (4, 15), "+ 1")
    assert changed.today(4) is None
    assert changed.confidence(4) is None
    assert "changed since profiling" in changed.why(4)
    assert [changed.today(line) for line in (3, 5)] == [3, 5]
    undone = typed(changed, (4, 15), (4, 18), "")
    assert undone.today(4) == 4
    assert not undone.stale


def test_indentation_is_part_of_a_line() -> None:
    assert typed(anchored(KERNEL), (4, 0), (4, 0), "  ").today(4) is None
    assert typed(anchored(KERNEL), (4, 30), (4, 30), "  ").today(4) == 4


def test_a_deleted_block_comes_back_with_undo_and_moved() -> None:
    block = "".join(f"{line}\n" for line in KERNEL.split("\n")[2:5])
    gone = typed(anchored(KERNEL), (3, 0), (6, 0), "")
    assert [gone.today(line) for line in range(1, 7)] == [1, 2, None, None, None, 3]
    above = typed(gone, (1, 0), (1, 0), "// typed meanwhile\n")
    back = typed(above, (4, 0), (4, 0), block)
    assert [back.today(line) for line in range(1, 7)] == [2, 3, 4, 5, 6, 7]


def test_a_whole_text_replacement_is_aligned_by_content() -> None:
    anchors = anchored(KERNEL)
    _, splice = anchors.text.apply(Change("// header\n" + KERNEL.replace("3.0f", "2.0f")))
    after = anchors.apply(splice)
    assert [after.today(line) for line in range(1, 7)] == [2, 3, 4, None, 6, 7]


def test_returning_to_the_profiled_text_by_any_way_returns_every_line() -> None:
    anchors = anchored("a\nb\na\n")
    anchors = typed(anchors, (1, 0), (3, 0), "")
    anchors = typed(anchors, (2, 0), (2, 0), "b\na\n")
    assert anchors.text.text == "a\nb\na\n"
    assert not anchors.stale


def test_a_copy_in_another_place_without_neighbours_is_only_likely() -> None:
    anchors = anchored("f();\nx = y;\ng();\nx = y;\nh();\n", "1\nx = y;\n2\n3\n4\n")
    assert anchors.confidence(2) == "likely"
    assert "probably" in anchors.why(2)


def test_digests_serve_where_there_is_no_text() -> None:
    lines = [*KERNEL.split("\n")[:3], "    c[i] = a[i]; // naïve 😀", *KERNEL.split("\n")[4:]]
    measured = Measured.of(SourceFile(path="/p/k.cu", line_digests=tuple(digest(line) for line in lines)))
    assert measured is not None
    anchors = align(measured, SourceText.of("// new\n" + "\r\n".join(lines)))
    assert [anchors.today(line) for line in range(1, 7)] == [2, 3, 4, 5, 6, 7]
    assert not align(measured, SourceText.of(" \n".join(lines))).stale
    assert typed(anchors, (5, 4), (5, 5), "d").today(4) is None


def test_digests_of_latin_1_bytes_and_of_a_byte_order_mark_are_recognised() -> None:
    text = KERNEL.replace("int i =", "/* Größe */ int i =")
    for data in (text.encode("latin-1"), text.encode("utf-8-sig")):
        measured = Measured.of(SourceFile(path="k.cu", line_digests=tuple(map(digest, data.split(b"\n")))))
        assert measured is not None
        assert not align(measured, SourceText.of(text)).stale


def test_without_text_and_digests_the_file_is_assumed_and_says_so() -> None:
    assert Measured.of(SourceFile(path="/p/k.cu")) is None
    text = SourceText.of(KERNEL)
    anchors = align(Measured.assume(text), text)
    assert anchors.confidence(4) == "assumed"
    assert "--import-source" in anchors.why(4)


def test_latin_1_sources_match_however_the_editor_decoded_them() -> None:
    bytes_ = KERNEL.replace("int i =", "/* Größe */ int i =").encode("latin-1")
    embedded = bytes_.decode("utf-8", "surrogateescape")
    assert not anchored(embedded, bytes_.decode("latin-1")).stale
    assert not anchored(embedded, bytes_.decode("utf-8", "replace")).stale
    assert not anchored(bytes_.decode("utf-8", "replace"), bytes_.decode("latin-1")).stale


def test_form_feeds_tabs_and_astral_characters_do_not_shift_lines() -> None:
    text = "// \f page\n\tx = 1; // 😀\u2028still line 2\n\f\ny = 2;\n"
    anchors = anchored(text)
    moved = typed(anchors, (2, 0), (2, 0), "\f\u2028\n")
    assert [moved.today(line) for line in (1, 2, 3, 4)] == [1, 3, 4, 5]
    changed = typed(anchors, (2, 11), (2, 13), "")
    assert changed.text.line(2) == "\tx = 1; // \u2028still line 2"
    assert changed.today(2) is None


def test_an_empty_file_has_no_anchors() -> None:
    assert anchored("").today(1) is None
    assert not anchored("").stale
    assert anchored("", "x").stale
    assert anchored("x\n", "").today(1) is None


POOL = ["x = y;", "s += a[i];", "}", "{", "", "  ", "for (;;) {", "\tz();", "// 😀", "call(a, b);"]
TEXTS = st.lists(st.sampled_from(POOL), min_size=1, max_size=14).map("\n".join)
PLACES = st.builds(Position, st.integers(1, 14), st.integers(0, 12))
EDITS = st.builds(Change, st.one_of(st.just(""), TEXTS, st.sampled_from(["\n", "x", " "])), PLACES, PLACES)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.lists(st.one_of(EDITS, st.builds(Change, TEXTS)), max_size=10), st.booleans())
def test_every_survivor_is_on_a_line_that_reads_as_measured(text: str, changes: list[Change], digests: bool) -> None:
    lines = text.split("\n")
    source = SourceFile(path="k.cu", line_digests=tuple(map(digest, lines))) if digests else None
    measured = Measured.of(source or SourceFile(path="k.cu", text=text))
    assert measured is not None
    anchors = align(measured, SourceText.of(text))
    assert not anchors.stale
    for change in changes:
        _, splice = anchors.text.apply(change)
        anchors = anchors.apply(splice)
        assert_honest(anchors, lines)
    _, splice = anchors.text.apply(Change(text))
    assert not anchors.apply(splice).stale


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(3, 60))
def test_untouched_lines_survive_and_touched_ones_do_not(rng: random.Random, size: int) -> None:
    """The oracle follows each line by hand; all lines differ, so there is one right answer."""
    anchors = anchored("".join(f"line {k};\n" for k in range(1, size + 1)))
    model: list[int | None] = [*range(1, size + 1), None]
    for step in range(12):
        first = rng.randrange(len(model))
        last = min(len(model) - 1, first + rng.choice((0, 0, 0, 1, 3)))
        fresh = rng.choice((1, 1, 2, 4))
        new = "\n".join(f"other {step} {k}" for k in range(fresh))
        anchors = typed(anchors, (first + 1, 0), (last + 1, 99), new)
        model[first : last + 1] = [None] * fresh
        assert [anchors.profiled(k + 1) for k in range(len(model))] == model


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.lists(EDITS, max_size=6))
def test_undoing_every_edit_returns_every_finding(text: str, changes: list[Change]) -> None:
    anchors = anchored(text)
    undo: list[SourceText] = []
    for change in changes:
        undo.append(anchors.text)
        _, splice = anchors.text.apply(change)
        anchors = anchors.apply(splice)
    for before in reversed(undo):
        head, tail = 0, 0
        old, new = anchors.text.text, before.text
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        start = SourceText.of(old[:head])
        end = SourceText.of(old[: len(old) - tail])
        edit = Change(
            new[head : len(new) - tail],
            Position(start.line_count, len(start.lines[-1])),
            Position(end.line_count, len(end.lines[-1])),
        )
        after, splice = anchors.text.apply(edit, "utf-32")
        assert after.text == before.text
        anchors = anchors.apply(splice)
    assert not anchors.stale


def test_a_file_of_twenty_thousand_lines_stays_honest_through_edits_and_a_rewrite() -> None:
    rng = random.Random(3)
    lines = [rng.choice(POOL) if k % 2 else f"v{k} = w[{k}];" for k in range(20_000)]
    anchors = anchored("\n".join(lines))
    for step in range(60):
        first = rng.randrange(1, anchors.text.line_count)
        anchors = typed(anchors, (first, 0), (first + rng.choice((0, 0, 2)), 1), rng.choice(("", "q", "\n", "a\nb\n")))
        if step % 20 == 0:
            assert_honest(anchors, lines)
    assert_honest(anchors, lines)
    assert sum(anchors.today(k) is not None for k in range(1, 20_001)) > 19_800
    everything = anchors.apply(anchors.text.apply(Change("nothing\n" * 20_000))[1])
    assert_honest(everything, lines)
    small = typed(everything, (500, 0), (500, 7), lines[500])
    assert_honest(small, lines)
    assert not small.apply(small.text.apply(Change("\n".join(lines)))[1]).stale
