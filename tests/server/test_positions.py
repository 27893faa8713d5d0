"""Lines become ranges, and ranges become changes, in the units the client counts in."""

from __future__ import annotations

import json

import pytest
from lsprotocol import types

from optimas_lsp.server.positions import (
    changes_of,
    code_range,
    encoded_code_range,
    encoded_line_end,
    line_of,
    lines_within,
    name_range,
)
from optimas_lsp.source.text import SourceText

TEXT = SourceText.of("\t x = 1;  \n\n  // 𝛼β = é\n__global__ void 𝛼triad(int n)\n   \n")


@pytest.mark.parametrize(("encoding", "start", "end"), [("utf-8", 2, 16), ("utf-16", 2, 12), ("utf-32", 2, 11)])
def test_a_range_covers_what_is_written_without_indentation(encoding: str, start: int, end: int) -> None:
    found = code_range(TEXT, 3, encoding)  # type: ignore[arg-type]
    assert (found.start.line, found.start.character, found.end.line, found.end.character) == (2, start, 2, end)


def test_indentation_and_trailing_blanks_stay_outside() -> None:
    found = code_range(TEXT, 1, "utf-16")
    assert (found.start.character, found.end.character) == (2, 8)
    assert json.loads(encoded_line_end(TEXT, 1, "utf-16")) == {"line": 0, "character": 8}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_an_encoded_range_is_the_same_range(encoding: str) -> None:
    for line in range(1, TEXT.line_count + 1):
        plain = json.loads(encoded_code_range(TEXT, line, encoding))  # type: ignore[arg-type]
        assert types.Range(types.Position(**plain["start"]), types.Position(**plain["end"])) == code_range(
            TEXT,
            line,
            encoding,  # type: ignore[arg-type]
        )


def test_a_blank_line_is_covered_whole() -> None:
    assert code_range(TEXT, 2, "utf-16") == types.Range(types.Position(1, 0), types.Position(1, 0))
    assert code_range(TEXT, 5, "utf-16").end.character == 3


@pytest.mark.parametrize(("encoding", "start"), [("utf-8", 20), ("utf-16", 18), ("utf-32", 17)])
def test_a_name_is_found_on_its_line(encoding: str, start: int) -> None:
    found = name_range(TEXT, 4, "triad", encoding)  # type: ignore[arg-type]
    assert (found.start.character, found.end.character) == (start, start + 5)


def test_a_name_that_is_not_there_gives_the_whole_line() -> None:
    assert name_range(TEXT, 1, "triad", "utf-16") == code_range(TEXT, 1, "utf-16")


def test_requests_count_lines_from_zero_and_profilers_from_one() -> None:
    assert line_of(types.Position(6, 2)) == 7
    span = types.Range(types.Position(0, 0), types.Position(2, 0))
    assert list(lines_within(span)) == [1, 2, 3]


def test_partial_and_whole_changes_keep_their_order() -> None:
    whole = types.TextDocumentContentChangeWholeDocument(text="new")
    part = types.TextDocumentContentChangePartial(
        range=types.Range(types.Position(0, 1), types.Position(2, 3)), text="x"
    )
    one, two = changes_of([part, whole])
    assert (one.start, one.end, one.text) == ((1, 1), (3, 3), "x")
    assert (two.start, two.text) == (None, "new")
