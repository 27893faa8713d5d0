"""Intervals and tests agree with worked examples."""

from __future__ import annotations

import pytest

from optimas_lsp.campaign.statistics import holm, mean, median, paired, percentile, share


def test_wilsons_interval_of_a_worked_example() -> None:
    found = share(8, 10)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert share(0, 0) is None
    none = share(0, 10)
    assert none is not None
    assert none.low == 0.0


def test_the_bootstrap_draws_whole_groups_and_is_the_same_each_time() -> None:
    alike = [[1.0] * 50, [3.0] * 50, [1.0] * 50, [3.0] * 50]  # 200 values, but four kernels: little is known
    found = mean(alike)
    assert found is not None
    assert found == mean(alike)
    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)
    for few in ([[1.0, 2.0, 3.0]], [[1.0], [3.0]], [[1.0], [2.0], [3.0]]):
        one = mean(few)
        assert one is not None
        assert (one.value, one.low, one.high) == (2.0, None, None)
    assert mean([[], []]) is None
    middle = median([[1.0], [2.0], [9.0]])
    assert middle is not None
    assert middle.value == 2.0


def test_percentiles_interpolate() -> None:
    assert [percentile([4.0, 1.0, 3.0, 2.0], q) for q in (0.0, 0.5, 1.0)] == [1.0, 2.5, 4.0]


def test_wilcoxons_test_of_pairs() -> None:
    left = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]  # Hollander and Wolfe, depression scale factors
    right = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = paired(left, right)
    assert (found.pairs, found.greater, found.equal, found.less) == (9, 7, 0, 2)
    assert found.p == pytest.approx(0.0390625)
    same = paired([1.0] * 9, [1.0] * 9)
    assert (same.equal, same.p) == (9, None)


def test_holms_correction_of_a_worked_example() -> None:
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx((0.03, 0.06, None, 0.06, 0.02))
