"""Limits of a backend hold for any order of starts and ends, and nobody starves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.campaign.experiment import Axes, Experiment
from optimas_lsp.campaign.pace import Lane, Pace
from optimas_lsp.course.request import Request

REQUEST = Request(source=Path("/k.cu"), profile=Path("/k.ncu-rep"))


def experiment(lane: str, number: int) -> Experiment:
    return Experiment(f"{lane}{number}", Axes("p", "k", lane, "", "pc", "", number, "d"), REQUEST)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(
    counts=st.lists(st.integers(0, 12), min_size=1, max_size=3),
    concurrent=st.integers(0, 3),
    per_minute=st.sampled_from([0.0, 6.0, 60.0]),
    asks=st.integers(1, 3),
    lasts=st.lists(st.floats(0.01, 30), min_size=1, max_size=8),
)
def test_every_experiment_starts_once_and_within_its_limits(
    counts: list[int], concurrent: int, per_minute: float, asks: int, lasts: list[float]
) -> None:
    clock = Clock()
    lanes = [Lane(str(at), concurrent, per_minute, asks) for at in range(len(counts))]
    waiting = [experiment(str(at), number) for at, count in enumerate(counts) for number in range(count)]
    pace = Pace(lanes, waiting, clock)
    starts: dict[str, list[float]] = {lane.name: [] for lane in lanes}
    running: list[tuple[float, Experiment]] = []
    seen: list[str] = []
    while pace.waiting or running:
        while (one := pace.next()) is not None:
            seen.append(one.key)
            starts[one.lane].append(clock.now)
            running.append((clock.now + lasts[len(seen) % len(lasts)], one))
            assert not concurrent or sum(each.lane == one.lane for _, each in running) <= concurrent
        ends = [end for end, _ in running]
        wait = pace.wait_s()
        clock.now = min([*ends, *([clock.now + wait] if wait is not None else [])])
        for end, each in list(running):
            if end <= clock.now:
                running.remove((end, each))
                pace.finished(each)
    assert sorted(seen) == sorted(each.key for each in waiting)
    if per_minute:
        for times in starts.values():
            gaps = [later - earlier for earlier, later in pairwise(times)]
            assert all(gap >= 60 * asks / per_minute - 1e-6 for gap in gaps)


def test_backends_take_turns() -> None:
    pace = Pace([Lane("a"), Lane("b")], [experiment(lane, at) for lane in "ab" for at in range(3)], Clock())
    started = [pace.next() for _ in range(6)]
    assert "".join(each.lane for each in started if each is not None) == "ababab"
