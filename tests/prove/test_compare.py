"""Comparison is bit for bit, names the first difference, and is tolerant only when told to be."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from optimas_lsp.prove.runner import compare


def _files(folder: Path, a: bytes, b: bytes) -> tuple[Path, Path]:
    (folder / "a").write_bytes(a)
    (folder / "b").write_bytes(b)
    return folder / "a", folder / "b"


def test_the_first_differing_byte_and_their_number_are_named(tmp_path: Path) -> None:
    a, b = bytes(200_000), bytearray(200_000)
    b[70_001] = b[199_999] = 1
    why = compare.first_difference(*_files(tmp_path, a, bytes(b)))
    assert why == "first at byte 70001, 2 of 200000 bytes differ"
    assert compare.first_difference(*_files(tmp_path, a, a)) is None
    assert compare.first_difference(*_files(tmp_path, a, a[:-1])) == "199999 bytes instead of 200000"


@pytest.mark.parametrize(
    ("left", "right", "tolerance", "agrees"),
    [
        (b"x 1.0\n", b"x 1.0\n", None, True),
        (b"x 1.0\n", b"x 1.00\n", None, False),
        (b"x 100.0\n", b"x 100.5\n", {"relative": 0.01}, True),
        (b"x 100.0\n", b"x 102.0\n", {"relative": 0.01}, False),
        (b"x 100.0\n", b"y 100.0\n", {"relative": 0.01}, False),
        (b"x 0\n", b"x 1e-9\n", {"absolute": 1e-6}, True),
        (b"x 1.0\n", b"x nan\n", {"relative": 1.0}, False),
        (b"x inf\n", b"x 5\n", {"relative": 0.1}, False),
        (b"x 5\n", b"x inf\n", {"relative": 0.1}, False),
        (b"x 1\n", b"x 1\ny 2\n", {"relative": 0.1}, False),
        (b"x 1\r5 %\r\n", b"x 1\r6 %\r\n", None, False),
        (b"x 1\ny 2\n", b"x 1\n", None, False),
    ],
)
def test_text_agrees_exactly_or_within_the_tolerance(
    tmp_path: Path, left: bytes, right: bytes, tolerance: dict[str, float] | None, agrees: bool
) -> None:
    assert (compare.text_difference(*_files(tmp_path, left, right), (), tolerance) is None) is agrees


def test_ignored_lines_are_left_out(tmp_path: Path) -> None:
    files = _files(tmp_path, b"time 1\nsum 2\n", b"time 9\nsum 2\n")
    assert compare.text_difference(*files, ["^time"]) is None
    assert compare.text_difference(*files, []) == "line 1: expected 'time 1', got 'time 9'"


def test_a_flood_of_lines_is_read_one_at_a_time(tmp_path: Path) -> None:
    files = _files(tmp_path, b"sum 2\n", b"sum 2\n" + b"\n" * 3_000_000)
    tracemalloc.start()
    assert compare.text_difference(*files, []) == "expected 1 lines, got 3000001"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_files_must_be_the_same_set_and_the_count_says_how_many(tmp_path: Path) -> None:
    left, right = tmp_path / "l", tmp_path / "r"
    left.mkdir(), right.mkdir()
    assert compare.files_difference(left, right, ["*.bin"]) == (None, 0)
    (left / "x.bin").write_bytes(b"1")
    assert compare.files_difference(left, right, ["*.bin"]) == ("the output file x.bin was not written", 0)
    (right / "x.bin").write_bytes(b"1")
    assert compare.files_difference(left, right, ["*.bin"]) == (None, 1)
    (right / "y.bin").write_bytes(b"1")
    assert "that the original does not write" in str(compare.files_difference(left, right, ["*.bin"])[0])
