"""Intervals and tests agree with worked examples."""

from __future__ import annotations

import itertools
import random

import pytest

from optimas_lsp.campaign.statistics import holm, mean, median, paired, percentile, share, signed_rank
from optimas_lsp.score.measure import wilson


def ends(groups: list[list[bool]]) -> tuple[float, float | None, float | None]:
    found = share(groups)
    assert found is not None
    return found.value, found.low, found.high


def test_a_share_of_independent_ones_has_wilsons_interval_with_students_quantile() -> None:
    alone = [[True]] * 8 + [[False]] * 2
    quantile = 2.2621571628  # of Student's t with 9 degrees of freedom, from a table
    assert ends(alone) == pytest.approx((0.8, *wilson(8, 10, quantile)), abs=1e-9)
    assert share([]) is share([[], []]) is None


def test_experiments_on_one_kernel_do_not_count_as_often_as_they_were_made() -> None:
    kernels = [True, True, False, False, True, False, True, False]
    once, often = [[each] for each in kernels], [[each] * 50 for each in kernels]
    assert ends(often) == pytest.approx(ends(once)), "400 experiments that only say again what 8 kernels said"
    mixed = [[True, False] * 25 for _ in kernels]  # nothing depends on the kernel here
    assert ends(mixed)[0] == 0.5
    low, high = ends(mixed)[1:]
    assert low is not None
    assert high is not None
    assert 0.43 < low < high < 0.57


def test_where_none_or_all_are_true_a_kernel_counts_once_and_few_kernels_give_no_interval() -> None:
    none = ends([[False] * 50 for _ in range(8)])
    assert none == pytest.approx((0.0, 0.0, wilson(0, 8, 2.3646242516)[1]))
    assert none[2] is not None
    assert none[2] > 0.3
    assert ends([[True, False], [True], [False]]) == (0.5, None, None)


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
    same = mean([[0.0]] * 20)
    assert same is not None
    assert (same.value, same.low, same.high) == (0.0, None, None), "what never varied says nothing of how it varies"
    middle = median([[1.0], [2.0], [9.0]])
    assert middle is not None
    assert middle.value == 2.0


def test_percentiles_interpolate() -> None:
    assert [percentile([4.0, 1.0, 3.0, 2.0], q) for q in (0.0, 0.5, 1.0)] == [1.0, 2.5, 4.0]


def test_wilcoxons_test_of_pairs() -> None:
    left = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]  # Hollander and Wolfe, depression scale factors
    right = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    alone = [[each] for each in zip(left, right, strict=True)]
    found = paired(alone)
    assert (found.pairs, found.groups, found.greater, found.equal, found.less) == (9, 9, 7, 0, 2)
    assert found.p == pytest.approx(0.0390625)
    assert found.difference is not None
    assert found.difference.value == pytest.approx(0.4319, abs=1e-4)
    same = paired([[(1.0, 1.0)]] * 9)
    assert (same.equal, same.p) == (9, None)


def test_pairs_of_one_kernel_are_one_in_the_test() -> None:
    often = paired([[(1.5 + number, 1.0)] * 40 for number in range(5)])
    assert (often.pairs, often.groups, often.greater) == (200, 5, 200)
    assert often.p is None, "five kernels say too little, however often each was asked"


def test_holms_correction_of_a_worked_example() -> None:
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx((0.03, 0.06, None, 0.06, 0.02))


def by_every_sign(differences: list[float]) -> float:
    """The p from its definition: of all combinations of signs, the share that is as far from the middle."""
    sizes = sorted(map(abs, differences))
    ranks = [sizes.index(abs(each)) + 1 + (sizes.count(abs(each)) - 1) / 2 for each in differences]
    middle = sum(ranks) / 2
    found = abs(sum(rank for rank, each in zip(ranks, differences, strict=True) if each > 0) - middle)
    signs = list(itertools.product((0, 1), repeat=len(ranks)))
    far = sum(abs(sum(map(float.__mul__, ranks, map(float, each))) - middle) >= found for each in signs)
    return far / len(signs)


def test_the_signed_rank_test_is_exact_also_where_values_are_tied() -> None:
    chance = random.Random(3)
    for count in (6, 9, 12, 14):
        for sizes in ((1.0, 2.0, 3.0), tuple(map(float, range(1, 99)))):
            some = [chance.choice(sizes) * chance.choice((1, 1, -1)) for _ in range(count)]
            assert signed_rank(some) == pytest.approx(by_every_sign(some), abs=1e-12)
    assert signed_rank([1.0] * 40) == pytest.approx(2**-39)


def test_differences_are_equal_however_they_were_computed() -> None:
    tenth = [(0.3, 0.2), (0.2, 0.1), (0.7, 0.6), (1.1, 1.0)]
    found = paired([[each] for each in tenth]).difference
    assert found is not None
    assert (found.value, found.low, found.high) == (pytest.approx(0.1), None, None), "all are equal"
    pairs = [(0.3, 0.2), (0.1, 0.2), (0.5, 0.3), (0.6, 0.3), (0.7, 0.3), (0.9, 0.4), (0.2, 0.3), (1.1, 1.0)]
    assert paired([[each] for each in pairs]).p == by_every_sign([1.0, -1.0, 2.0, 3.0, 4.0, 5.0, -1.0, 1.0])
