"""Statistics of interleaved runs: medians and the bootstrap interval of their ratio, in plain Python."""

from __future__ import annotations

import random
from statistics import median
from typing import Sequence


def ratio(
    baseline: Sequence[float],
    candidate: Sequence[float],
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 1,
) -> tuple[float, float, float]:
    """(speed-up, low, high): median(baseline) / median(candidate) and its percentile bootstrap interval.

    Both sides are resampled on their own, because runs are interleaved but not paired by any physical tie. Raises
    ValueError when a side is empty or a time is not positive.
    """
    if not baseline or not candidate or min(*baseline, *candidate) <= 0:
        raise ValueError("times must be positive and present on both sides")
    chance = random.Random(seed)  # noqa: S311  (statistics, not secrets)
    values = sorted(
        median(chance.choices(baseline, k=len(baseline))) / median(chance.choices(candidate, k=len(candidate)))
        for _ in range(resamples)
    )
    cut = int((1 - level) / 2 * resamples)
    return median(baseline) / median(candidate), values[cut], values[-cut - 1]


def spread(values: Sequence[float]) -> float:
    """Half the distance between the quartiles over the median: how noisy a series is, as a share of it."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
    return (high - low) / 2 / median(ordered)


def tight(baseline: Sequence[float], candidate: Sequence[float], precision: float, level: float = 0.95) -> bool:
    """True when the interval of the ratio is narrower than ``precision`` of it on each side."""
    middle, low, high = ratio(baseline, candidate, resamples=400, level=level)
    return high - middle <= precision * middle and middle - low <= precision * middle
