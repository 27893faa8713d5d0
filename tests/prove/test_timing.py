"""The interval of a ratio of medians covers the truth about as often as it promises."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.prove.runner import timed, timing
from optimas_lsp.prove.runner.job import TIMING

times = st.lists(st.floats(1e-6, 1e3, allow_nan=False), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(times, times)
def test_the_interval_holds_the_estimate_and_turns_round_with_the_sides(a: list[float], b: list[float]) -> None:
    middle, low, high = timing.ratio(a, b, resamples=200)
    assert low <= middle * (1 + 1e-9)
    assert middle <= high * (1 + 1e-9)
    assert timing.ratio(b, a, resamples=50)[0] == pytest.approx(1 / middle)


@settings(max_examples=30, deadline=None)
@given(times, times, st.floats(0.01, 100))
def test_the_ratio_does_not_depend_on_the_unit(a: list[float], b: list[float], unit: float) -> None:
    scaled = timing.ratio([x * unit for x in a], [x * unit for x in b], resamples=100)
    assert scaled == pytest.approx(timing.ratio(a, b, resamples=100))


def test_the_interval_covers_the_truth_in_most_experiments() -> None:
    chance, covered = random.Random(7), 0
    for _ in range(60):
        a = [2.0 * chance.lognormvariate(0, 0.05) for _ in range(15)]
        b = [1.0 * chance.lognormvariate(0, 0.05) for _ in range(15)]
        _middle, low, high = timing.ratio(a, b, resamples=400)
        covered += low <= 2.0 <= high
    assert covered >= 51  # 95 % of 60 are 57; below 51 has a chance of 1 in 1000 even at a true 92 %


@pytest.mark.parametrize("sides", [([], [1.0]), ([1.0], []), ([1.0], [0.0]), ([-1.0], [1.0])])
def test_times_that_are_none_are_refused(sides: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="positive"):
        timing.ratio(*sides)


def _judged(baseline: list[float], candidate: list[float]) -> tuple[str, str]:
    series = {
        "baseline": {"kernel_ns": [], "gpu_ns": [], "program_s": baseline},
        "candidate": {"kernel_ns": [], "gpu_ns": [], "program_s": candidate},
    }
    return timed.judge(timed.summarise(series, (), TIMING), series, TIMING, ())


@pytest.mark.parametrize(
    ("candidate", "status", "words"),
    [
        ([1.0, 1.01, 0.99, 1.0], "pass", "2 times shorter"),
        ([2.0, 2.01, 1.99, 2.0], "fail", "no clear difference"),
        ([1.98, 1.985, 1.975, 1.98], "fail", "faster by less than 2%"),
        ([3.0, 3.01, 2.99, 3.0], "fail", "slower"),
    ],
)
def test_only_a_clear_gain_passes(candidate: list[float], status: str, words: str) -> None:
    found, sentence = _judged([2.0, 2.01, 1.99, 2.005], candidate)
    assert found == status
    assert words in sentence


def test_identical_times_are_an_alarm() -> None:
    assert "exactly the same time" in _judged([1.0] * 5, [1.0] * 5)[1]
