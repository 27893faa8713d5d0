"""Which kernels are hot."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.profile.select import gpu_times_ns, hot_kernels, select


def _with_times(make, times):
    kernels = tuple(make.kernel(mangled=f"k{at:02}") for at in range(len(times)))
    return make.profile(kernels, tuple(enumerate(times)))


def test_one_kernel_above_the_coverage_is_enough(make):
    assert hot_kernels(_with_times(make, [5.0, 90.0, 5.0]), 0.80, 3) == (1,)


def test_the_costliest_come_first_until_the_coverage_is_reached(make):
    assert hot_kernels(_with_times(make, [30.0, 15.0, 55.0]), 0.80, 3) == (2, 0)


def test_never_more_than_the_maximum(make):
    assert hot_kernels(_with_times(make, [1.0] * 10), 0.80, 3) == (0, 1, 2)


def test_equal_times_are_ordered_by_name_not_by_position(make):
    kernels = (make.kernel(mangled="b"), make.kernel(mangled="a", sha256="01"), make.kernel(mangled="a", sha256="00"))
    profile = make.profile(kernels, ((0, 1.0), (1, 1.0), (2, 1.0)))
    assert hot_kernels(profile, 1.0, 3) == (2, 1, 0)


def test_launches_of_one_kernel_add_up(make):
    profile = make.profile((make.kernel("a"), make.kernel("b")), ((0, 4.0), (1, 5.0), (0, 4.0)))
    assert gpu_times_ns(profile) == (8.0, 5.0)
    assert hot_kernels(profile, 0.5, 3) == (0,)


def test_without_durations_samples_rank_and_the_note_says_so(make):
    kernels = (make.kernel("a", cells=((0, 0, 10, 1),)), make.kernel("b", cells=((0, 0, 90, 1),)))
    found = select(make.profile(kernels, ((0, None), (1, 7.0))), 0.80, 3)
    assert (found.hot, found.basis, found.shares) == ((1,), "samples", (0.1, 0.9))
    assert found.note is not None
    assert "PC samples" in found.note.text


def test_without_durations_and_samples_launch_counts_rank(make):
    found = select(make.profile((make.kernel("a"), make.kernel("b")), ((0, None), (1, None), (1, None))), 0.6, 3)
    assert (found.hot, found.basis) == ((1,), "launches")


def test_a_report_without_launches_has_no_hot_kernel(make):
    assert hot_kernels(make.profile((), ()), 0.8, 3) == ()


@given(
    times=st.lists(st.integers(min_value=1, max_value=1000), min_size=1, max_size=7),
    percent=st.integers(min_value=1, max_value=100),
)
def test_no_smaller_set_reaches_the_coverage(make, times, percent):
    coverage = percent / 100
    hot = hot_kernels(_with_times(make, [float(time) for time in times]), coverage, len(times))
    needed = coverage * sum(times)
    assert sum(times[at] for at in hot) >= needed - 1e-6
    for smaller in combinations(times, len(hot) - 1):
        assert sum(smaller) < needed


@pytest.mark.parametrize("coverage", [0.01, 0.8, 1.0])
def test_shares_sum_to_one(make, coverage):
    assert sum(select(_with_times(make, [3.0, 4.0, 5.0]), coverage).shares) == pytest.approx(1.0)
