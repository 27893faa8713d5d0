"""Intervals and tests of a campaign's tables: experiments on one kernel are alike, so kernels are resampled."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optimas_lsp.campaign.extra import load
from optimas_lsp.score.measure import wilson

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20261201
"""Of the resampling, so that a report of the same dataset is the same."""

FEWEST_GROUPS = 4
"""With fewer groups a draw of one group only is likelier than 2.5 %, so that the interval would be the range."""

FEWEST_DIFFERENT = 6
"""Fewer kernels that differ cannot reach 5 % in a two-sided Wilcoxon test."""

SAME = 1e-6
"""Differences up to here are none."""

DIGITS = 9
"""Decimals of a difference: what differs by less is equal, however it was computed."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; the ends are None where there is too little to say."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Paired:
    """A comparison in pairs: how many are greater, equal and less, and their mean ``difference``.

    ``p`` is two-sided, of Wilcoxon's signed-rank test over the mean differences of the groups; None where fewer than
    FEWEST_DIFFERENT groups differ.
    """

    pairs: int
    groups: int
    greater: int
    equal: int
    less: int
    difference: Interval | None
    p: float | None


def share(groups: Sequence[Sequence[bool]]) -> Interval | None:
    """The share of what is true, with Wilson's interval for as many independent ones as the groups are worth.

    The number is divided by the design effect of the groups, and the quantile is Student's for their number (E. L. Korn
    and B. I. Graubard, Surv. Methodol. 24, 1998; C. Franco et al., J. Surv. Stat. Methodol. 7, 2019). Where none or all
    are true the effect cannot be seen, and a group counts as one. None of nothing; fewer than FEWEST_GROUPS give no
    interval.
    """
    filled = [list(group) for group in groups if group]
    count, hits = sum(map(len, filled)), sum(map(sum, filled))
    if not count:
        return None
    value = hits / count
    if len(filled) < FEWEST_GROUPS:
        return Interval(value)
    spread = math.fsum((sum(group) - value * len(group)) ** 2 for group in filled) / count**2
    spread *= len(filled) / (len(filled) - 1)
    worth = float(count)
    if hits in {0, count}:
        worth = len(filled)
    elif spread:
        worth = min(count, 1 + value * (1 - value) / spread)
    quantile = float(load("scipy.stats", "the intervals of a report").t.ppf((1 + LEVEL) / 2, len(filled) - 1))
    return Interval(value, *wilson(value * worth, worth, quantile))


def mean(groups: Sequence[Sequence[float]]) -> Interval | None:
    """The mean of all values, with a bootstrap interval that draws whole groups."""
    return _bootstrap(groups, _mean)


def median(groups: Sequence[Sequence[float]]) -> Interval | None:
    """The median of all values, likewise."""
    return _bootstrap(groups, _median)


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], q: float) -> float:
    """The ``q``-quantile (0 to 1) by linear interpolation; raises IndexError for no values."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _bootstrap(groups: Sequence[Sequence[float]], of: Callable[[list[float]], float]) -> Interval | None:
    """Percentile bootstrap over groups (clusters); fewer than FEWEST_GROUPS, or equal values only, give no interval."""
    import numpy as np

    filled = [list(group) for group in groups if group]
    if not filled:
        return None
    value = of([each for group in filled for each in group])
    if len(filled) < FEWEST_GROUPS or len({each for group in filled for each in group}) == 1:
        return Interval(value)
    chance = np.random.default_rng(SEED)
    drawn: list[list[int]] = chance.integers(0, len(filled), (RESAMPLES, len(filled))).tolist()
    values = [of([each for at in row for each in filled[at]]) for row in drawn]
    tail = (1 - LEVEL) / 2
    return Interval(value, percentile(values, tail), percentile(values, 1 - tail))


def paired(groups: Sequence[Sequence[tuple[float, float]]]) -> Paired:
    """Compare the first with the second of each pair; pairs of a group are alike, so the test is one of groups."""
    differences = [[round(one - other, DIGITS) for one, other in group] for group in groups if group]
    every = [each for group in differences for each in group]
    greater, less = sum(each > SAME for each in every), sum(each < -SAME for each in every)
    apart = [middle for group in differences if abs(middle := round(_mean(group), DIGITS)) > SAME]
    p = signed_rank(apart) if len(apart) >= FEWEST_DIFFERENT else None
    return Paired(len(every), len(differences), greater, len(every) - greater - less, less, mean(differences), p)


def signed_rank(differences: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test of differences, none of them 0; exact, also where some are tied.

    Ties share their mean rank, and every combination of signs is equally likely. (scipy's own falls back on a normal
    approximation for ties in 14 and more, whose p is too small.)
    """
    import numpy as np

    ordered = sorted(map(abs, differences))
    twice = [bisect_left(ordered, abs(each)) + 1 + bisect_right(ordered, abs(each)) for each in differences]
    total = sum(twice)
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in twice:
        chance[rank:] = (chance[rank:] + chance[:-rank]) / 2
        chance[:rank] /= 2
    positive = sum(rank for rank, each in zip(twice, differences, strict=True) if each > 0)
    as_far = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * positive - total)
    return min(1.0, float(chance[as_far].sum()))


def holm(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """p-values corrected for their number (S. Holm, Scand. J. Stat. 6, 1979); what is None stays and does not count."""
    known = sorted((value, at) for at, value in enumerate(values) if value is not None)
    corrected: list[float | None] = [None] * len(values)
    last = 0.0
    for rank, (value, at) in enumerate(known):
        last = max(last, min(1.0, value * (len(known) - rank)))
        corrected[at] = last
    return tuple(corrected)
