"""Alignment against brute force: order and text are kept, and nothing obvious is lost."""

import random
import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.source.alignment import match

LINES = st.lists(st.sampled_from(["a", "b", "c", "{", "}", ""]), max_size=25)


def longest_common(old: list[str], new: list[str]) -> int:
    @cache
    def best(i: int, j: int) -> int:
        if i == len(old) or j == len(new):
            return 0
        if old[i] == new[j]:
            return 1 + best(i + 1, j + 1)
        return max(best(i + 1, j), best(i, j + 1))

    return best(0, 0)


def check(old: list[str], new: list[str]) -> list[int]:
    found = match(old, new).tolist()
    kept = [place for place in found if place >= 0]
    assert len(found) == len(old)
    assert kept == sorted(set(kept))
    assert all(old[k] == new[place] for k, place in enumerate(found) if place >= 0)
    return found


@settings(max_examples=300, deadline=None)
@given(LINES, LINES)
def test_small_texts_keep_a_longest_common_subsequence(old: list[str], new: list[str]) -> None:
    found = check(old, new)
    assert sum(place >= 0 for place in found) == longest_common(old, new)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(60, 400), st.integers(1, 40))
def test_lines_that_are_all_different_are_found_exactly(rng: random.Random, size: int, edits: int) -> None:
    old = [f"line {k}" for k in range(size)]
    new: list[str] = list(old)
    for k in range(edits):
        place = rng.randrange(len(new) + 1)
        if rng.random() < 0.5:
            new.insert(place, f"fresh {k}")
        elif place < len(new):
            new[place] = f"other {k}"
    found = check(old, new)
    where = {line: k for k, line in enumerate(new)}
    assert found == [where.get(line, -1) for line in old]


def test_the_same_statement_in_two_places_stays_where_its_neighbours_are() -> None:
    old = ["f() {", "s += x;", "}", "", "g() {", "s += x;", "}"]
    new = ["h() {", "s += x;", "}", "", *old]
    assert check(old, new) == [4, 5, 6, 7, 8, 9, 10]


def test_no_texts_no_pairs() -> None:
    assert match([], []).tolist() == []
    assert match(["a"], []).tolist() == [-1]
    assert match([], ["a"]).tolist() == []
    assert match(["a"], ["b"]).dtype == np.int32


@pytest.mark.parametrize("kind", ["edited", "two symbols", "periodic", "reversed", "unrelated", "one symbol"])
def test_twenty_thousand_lines_of_any_kind_take_bounded_time(kind: str) -> None:
    rng = random.Random(5)
    old = [f"x{k} = y;" if k % 3 else "}" for k in range(20_000)]
    if kind == "edited":
        new = [line for k, line in enumerate(old) if k % 40] + ["end"]
    elif kind == "two symbols":
        old = [rng.choice("ab") for _ in range(20_000)]
        new = [line for line in old if rng.random() > 0.01]
    elif kind == "periodic":
        old = ["a", "b", "c", "d"] * 5_000
        new = ["b", *(["d", "c", "b", "a"] * 5_000)]
    elif kind == "reversed":
        new = old[::-1]
    elif kind == "unrelated":
        new = [f"z{k}" if k % 2 else "}" for k in range(20_000)]
    else:
        old, new = ["x"] * 20_000, ["y", *["x"] * 15_000, "y"]
    start = time.process_time()
    found = check(old, new)
    assert time.process_time() - start < 2.0
    kept = sum(place >= 0 for place in found)
    if kind == "edited":
        assert kept >= 19_400
    if kind == "two symbols":
        assert kept >= 17_000
    if kind == "one symbol":
        assert kept == 15_000
