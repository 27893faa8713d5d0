"""Intervals and tests of a campaign's tables: experiments on one kernel are alike, so kernels are resampled."""

from __future__ import annotations

import math
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

FEWEST_PAIRS = 6
"""Fewer pairs that differ cannot reach 5 % in a two-sided Wilcoxon test."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; the ends are None where there is too little to say."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Paired:
    """A comparison in pairs: how many are greater, equal and less, and the two-sided p of Wilcoxon's signed-rank test.

    ``p`` is None where fewer than FEWEST_PAIRS pairs differ.
    """

    pairs: int
    greater: int
    equal: int
    less: int
    p: float | None


def share(hits: int, of: int) -> Interval | None:
    """A share with Wilson's interval; None of nothing."""
    if not of:
        return None
    return Interval(hits / of, *wilson(hits, of))


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
    """Percentile bootstrap over groups (clusters); fewer than FEWEST_GROUPS give no interval."""
    import numpy as np

    filled = [list(group) for group in groups if group]
    if not filled:
        return None
    value = of([each for group in filled for each in group])
    if len(filled) < FEWEST_GROUPS:
        return Interval(value)
    chance = np.random.default_rng(SEED)
    drawn: list[list[int]] = chance.integers(0, len(filled), (RESAMPLES, len(filled))).tolist()
    values = [of([each for at in row for each in filled[at]]) for row in drawn]
    tail = (1 - LEVEL) / 2
    return Interval(value, percentile(values, tail), percentile(values, 1 - tail))


def paired(left: Sequence[float], right: Sequence[float]) -> Paired:
    """Compare ``left`` with ``right``, pair by pair; differences of less than a millionth are none.

    Raises MissingPackageError without scipy.
    """
    differences = [one - other for one, other in zip(left, right, strict=True)]
    greater = sum(each > 1e-6 for each in differences)
    less = sum(each < -1e-6 for each in differences)
    p: float | None = None
    if greater + less >= FEWEST_PAIRS:
        stats = load("scipy.stats", "the paired tests of a report")
        apart = [each for each in differences if abs(each) > 1e-6]
        p = float(stats.wilcoxon(apart, method="auto").pvalue)
    return Paired(len(differences), greater, len(differences) - greater - less, less, p)


def holm(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """p-values corrected for their number (S. Holm, Scand. J. Stat. 6, 1979); what is None stays and does not count."""
    known = sorted((value, at) for at, value in enumerate(values) if value is not None)
    corrected: list[float | None] = [None] * len(values)
    last = 0.0
    for rank, (value, at) in enumerate(known):
        last = max(last, min(1.0, value * (len(known) - rank)))
        corrected[at] = last
    return tuple(corrected)
