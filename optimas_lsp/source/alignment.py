"""Which lines of an old text live on in a new one: a patience-style diff that stays fast on 20,000 lines.

Common heads and tails are paired first. What remains is split at lines that occur once in both, then at runs of 2, 4,
8, … lines that do (so files full of braces and repeated statements still find their place), and small remainders are
settled by their longest common subsequence. Work is bounded: a region that outgrows the budget stays unpaired, which
loses findings and never misplaces one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]

SMALL = 2_500
"""Regions of at most this many (old, new) pairs of lines go straight to the longest common subsequence."""

LONGEST_RUN = 64
"""Longest run of lines tried as a landmark."""

EDITS = 256
"""Largest number of differing lines looked for in a region without landmarks."""

WORK = 60
"""Lines looked at over all regions, as a multiple of both texts' length."""


def match(old: Sequence[str], new: Sequence[str]) -> IntArray:
    """For each old line the 0-based index of the new line it lives on in, or -1: increasing, equal text only."""
    names: dict[str, int] = {}
    before = [names.setdefault(line, len(names)) for line in old]
    after = [names.setdefault(line, len(names)) for line in new]
    return _Matcher(before, after).run()


class _Matcher:
    def __init__(self, old: list[int], new: list[int]) -> None:
        self.old = old
        self.new = new
        self.budget = WORK * (len(old) + len(new)) + 100_000
        self.found: IntArray = np.full(len(old), -1, dtype=np.int32)

    def run(self) -> IntArray:
        regions = [(0, len(self.old), 0, len(self.new))]
        while regions:
            low, high, left, right = self._trim(*regions.pop())
            if low == high or left == right:
                continue
            self.budget -= high - low + right - left
            if self.budget < 0:
                break
            if (high - low) * (right - left) <= SMALL:
                self._settle(low, high, left, right)
                continue
            landmarks = self._landmarks(low, high, left, right)
            if not landmarks:
                self._settle(low, high, left, right)
                continue
            start, begin = low, left
            for here, there in landmarks:
                if here > start and there > begin:
                    regions.append((start, here, begin, there))
                self.found[here] = there
                start, begin = here + 1, there + 1
            regions.append((start, high, begin, right))
        return self.found

    def _trim(self, low: int, high: int, left: int, right: int) -> tuple[int, int, int, int]:
        old, new, found = self.old, self.new, self.found
        while low < high and left < right and old[low] == new[left]:
            found[low] = left
            low, left = low + 1, left + 1
        while low < high and left < right and old[high - 1] == new[right - 1]:
            high, right = high - 1, right - 1
            found[high] = right
        return low, high, left, right

    def _landmarks(self, low: int, high: int, left: int, right: int) -> list[tuple[int, int]]:
        """Pairs of lines where a run of 1, 2, 4, … lines starts that occurs once on either side; the first that help.

        Each run is named by the pair of names of its halves, so every doubling is one sort.
        """
        ones = np.array(self.old[low:high], dtype=np.int64)
        twos = np.array(self.new[left:right], dtype=np.int64)
        length = 1
        while True:
            pairs = _once_in_both(ones, twos)
            if pairs:
                return [(low + here, left + there) for here, there in pairs]
            if 2 * length > min(LONGEST_RUN, len(ones), len(twos)):
                return []
            self.budget -= len(ones) + len(twos)
            size = len(ones) - length
            base = int(max(ones.max(), twos.max())) + 1
            both = np.concatenate((ones[:-length] * base + ones[length:], twos[:-length] * base + twos[length:]))
            _, names = np.unique(both, return_inverse=True)
            ones, twos = names[:size], names[size:]
            length *= 2

    def _settle(self, low: int, high: int, left: int, right: int) -> None:
        """Pair by longest common subsequence, after lines that the other side lacks are set aside."""
        theirs = set(self.new[left:right])
        mine = set(self.old[low:high])
        ones = [k for k in range(low, high) if self.old[k] in theirs]
        twos = [k for k in range(left, right) if self.new[k] in mine]
        if not ones or not twos:
            return
        first = [self.old[k] for k in ones]
        second = [self.new[k] for k in twos]
        edits = min(EDITS, len(ones) + len(twos))
        self.budget -= edits * edits // 4
        if self.budget < 0:
            return
        for here, there in _common(first, second, edits):
            self.found[ones[here]] = twos[there]


def _once_in_both(ones: npt.NDArray[np.int64], twos: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    mine, my_place, my_count = np.unique(ones, return_index=True, return_counts=True)
    theirs, their_place, their_count = np.unique(twos, return_index=True, return_counts=True)
    once, other = my_count == 1, their_count == 1
    _, here, there = np.intersect1d(mine[once], theirs[other], assume_unique=True, return_indices=True)
    first, second = my_place[once][here], their_place[other][there]
    order = np.argsort(first)
    first, second = first[order], second[order]
    if len(second) > 1 and not bool(np.all(np.diff(second) > 0)):
        kept = _longest_increasing(second.tolist())
        first, second = first[kept], second[kept]
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _longest_increasing(values: list[int]) -> list[int]:
    """Indices of one longest increasing subsequence of distinct ``values``."""
    tails: list[int] = []
    tail_index: list[int] = []
    back: list[int] = []
    for index, value in enumerate(values):
        place = bisect_left(tails, value)
        back.append(tail_index[place - 1] if place else -1)
        if place == len(tails):
            tails.append(value)
            tail_index.append(index)
        else:
            tails[place] = value
            tail_index[place] = index
    kept: list[int] = []
    index = tail_index[-1] if tail_index else -1
    while index >= 0:
        kept.append(index)
        index = back[index]
    return kept[::-1]


def _common(ones: list[int], twos: list[int], most_edits: int) -> list[tuple[int, int]]:
    """Pairs of a longest common subsequence by Myers' greedy algorithm.

    Over ``most_edits`` edits the furthest common path found by then is taken.
    """
    reach = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(most_edits + 1):
        history.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            here = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            there = here - diagonal
            while here < len(ones) and there < len(twos) and ones[here] == twos[there]:
                here, there = here + 1, there + 1
            reach[diagonal] = here
            if here >= len(ones) and there >= len(twos):
                return _walk_back(history, here, there)
    ends = [(here, here - diagonal) for diagonal, here in reach.items() if (diagonal - most_edits) % 2 == 0]
    inside = [end for end in ends if end[0] <= len(ones) and end[1] <= len(twos)]
    return _walk_back(history, *max(inside, key=sum)) if inside else []


def _walk_back(history: list[dict[int, int]], here: int, there: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach = history[edits]
        diagonal = here - there
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        came_from = diagonal + 1 if down else diagonal - 1
        start = reach[came_from]
        stop = start - came_from
        while here > start and there > stop:
            here, there = here - 1, there - 1
            pairs.append((here, there))
        here, there = start, stop
    return pairs[::-1]
