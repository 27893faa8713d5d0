"""Lines, decoding and edits: what the client's copy of a document holds, ours holds too."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.source.text import (
    Change,
    Position,
    SourceText,
    decode,
    repaired,
    split_lines,
    to_character,
    to_column,
)

ENCODINGS = ("utf-8", "utf-16", "utf-32")
ODD = st.text(st.sampled_from(list("ab;\n\r\t \f\v\x1c\x85\u2028é€😀𝔘\ufeff\ud83d")), max_size=30)


def offset_of(text: str, position: Position, encoding: str) -> int:
    """The code point offset a position means, straight from the specification's words, the slow way."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
    if position.line > len(starts):
        return len(text)
    start = starts[position.line - 1]
    line = re.split(r"\r\n|\n|\r", text[start:], maxsplit=1)[0]
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    units = 0
    for column, char in enumerate(line):
        units += len(char.encode(codec, "surrogatepass")) // size
        if units > position.character:
            return start + column
    return start + len(line)


@pytest.mark.parametrize(
    ("text", "lines", "ends"),
    [
        ("", ("",), ("",)),
        ("a", ("a",), ("",)),
        ("a\n", ("a", ""), ("\n", "")),
        ("a\r\nb\rc\n", ("a", "b", "c", ""), ("\r\n", "\r", "\n", "")),
        ("\r\r\n\n", ("", "", "", ""), ("\r", "\r\n", "\n", "")),
        ("a\fb\x0bc\x1cd\x85e\u2028f\u2029g", ("a\fb\x0bc\x1cd\x85e\u2028f\u2029g",), ("",)),
    ],
)
def test_only_lf_crlf_and_cr_end_a_line(text: str, lines: tuple[str, ...], ends: tuple[str, ...]) -> None:
    assert split_lines(text) == (lines, ends)


@given(ODD)
def test_splitting_loses_nothing(text: str) -> None:
    assert SourceText.of(text).text == text


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"caf\xc3\xa9", "café", "utf-8"),
        (b"caf\xe9 \xff", "café ÿ", "latin-1"),
        (b"\xef\xbb\xbfint x;", "int x;", "utf-8"),
        ("x é 😀".encode("utf-16"), "x é 😀", "utf-16"),
        (b"\xfe\xff" + "x é".encode("utf-16-be"), "x é", "utf-16"),
        ("x 😀".encode("utf-32"), "x 😀", "utf-32"),
        (b"\xff\xfea\x00b", "a\ufffd", "utf-16"),
        (b"a\x00b\x1a", "a\x00b\x1a", "utf-8"),
        (b"", "", "utf-8"),
    ],
)
def test_any_bytes_decode(data: bytes, text: str, encoding: str) -> None:
    assert decode(data) == (text, encoding)


@given(st.binary(max_size=200))
def test_decoding_never_fails(data: bytes) -> None:
    decode(data)


def test_a_text_with_escaped_bytes_is_read_as_latin_1() -> None:
    escaped = b"// Gr\xf6\xdfe\nx = 1;".decode("utf-8", "surrogateescape")
    assert repaired(escaped) == "// Größe\nx = 1;"
    assert repaired("\ufeffx") == "x"
    assert repaired("lone \ud83d surrogate") == "lone \ud83d surrogate"


def test_positions_are_clamped_into_the_line() -> None:
    assert to_column("abc", 3, "utf-16") == 3
    assert to_column("abc", 4, "utf-16") == 3
    assert to_column("abc", 10**9, "utf-8") == 3
    assert to_column("", 5, "utf-16") == 0
    text = SourceText.of("abc\r\nde")
    assert text.locate(Position(1, 99), "utf-16") == (1, 3)
    assert text.locate(Position(99, 0), "utf-16") == (2, 2)
    assert text.locate(Position(0, 7), "utf-16") == (1, 0)


def test_a_position_inside_a_code_point_is_rounded_down() -> None:
    assert [to_column("a😀b", k, "utf-16") for k in range(5)] == [0, 1, 1, 2, 3]
    assert [to_column("é😀", k, "utf-8") for k in range(7)] == [0, 0, 1, 1, 1, 1, 2]


@given(ODD, st.integers(0, 40), st.sampled_from(ENCODINGS))
def test_characters_and_columns_convert_back(line: str, column: int, encoding: str) -> None:
    column = min(column, len(line))
    assert to_column(line, to_character(line, column, encoding), encoding) == column


def test_line_ends_that_meet_become_one() -> None:
    after, _ = SourceText.of("a\rb\nc").apply(Change("", Position(2, 0), Position(2, 1)))
    assert after.text == "a\r\nc"
    assert after.lines == ("a", "c")


def test_a_reversed_range_is_taken_the_other_way_round() -> None:
    after, _ = SourceText.of("one\ntwo").apply(Change("-", Position(2, 1), Position(1, 1)))
    assert after.text == "o-wo"


def test_lines_outside_the_text_are_an_error() -> None:
    text = SourceText.of("a\nb")
    assert text.line(2) == "b"
    for line in (0, 3, -1):
        with pytest.raises(IndexError, match="2 lines"):
            text.line(line)


POSITIONS = st.builds(Position, st.integers(1, 8), st.integers(0, 12))
CHANGES = st.one_of(
    st.builds(Change, ODD, POSITIONS, POSITIONS),
    st.builds(Change, ODD),
)


@settings(max_examples=400, deadline=None)
@given(ODD, st.lists(CHANGES, max_size=6), st.sampled_from(ENCODINGS))
def test_edits_leave_the_text_a_client_has(start: str, changes: list[Change], encoding: str) -> None:
    ours, theirs = SourceText.of(start), start
    for change in changes:
        before = ours
        if change.start is None or change.end is None:
            theirs = change.text
        else:
            low, high = sorted(offset_of(theirs, place, encoding) for place in (change.start, change.end))
            theirs = theirs[:low] + change.text + theirs[high:]
        ours, splice = ours.apply(change, encoding)
        assert ours.text == theirs
        assert (ours.lines, ours.ends) == split_lines(theirs)
        assert splice.after is ours
        head, tail = splice.first - 1, splice.first - 1 + splice.removed
        untouched = (*before.lines[:head], *before.lines[tail:])
        assert untouched == (*ours.lines[:head], *ours.lines[head + splice.inserted :])


def test_an_edit_of_a_long_file_keeps_every_other_line_object() -> None:
    text = SourceText.of("".join(f"x[{k}] = y[{k}] + {k};\n" for k in range(20_000)))
    after, splice = text.apply(Change("\n// here\n", Position(10_000, 3), Position(10_000, 3)))
    assert (splice.first, splice.removed, splice.inserted) == (10_000, 1, 3)
    assert after.line_count == text.line_count + 2
    assert all(one is other for one, other in zip(after.lines[10_002:], text.lines[10_000:], strict=True))
