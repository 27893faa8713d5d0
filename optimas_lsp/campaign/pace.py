"""Backpressure: how many experiments are under way at once, in all and for each backend, and how soon the next may ask.

A backend with ``requests_per_minute`` starts an experiment only when the questions that it may ask at most fit into the
rate, however they are answered. What a service turns away is sent again when it says, and comes on top.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from optimas_lsp.campaign.experiment import Experiment
from optimas_lsp.config import Settings


def questions(settings: Settings) -> int:
    """Questions that an experiment asks its model at most: every try of every sample in every round."""
    return settings.rewrite.attempts * settings.rewrite.samples * settings.search.rounds


@dataclass
class Lane:
    """The experiments of one backend that wait, and its limits; 0 is none. ``asks``: requests of one experiment."""

    name: str
    concurrent: int = 0
    per_minute: float = 0.0
    asks: int = 1
    waiting: deque[Experiment] = field(default_factory=deque[Experiment])
    under_way: int = 0
    free_at: float = 0.0

    def wait_s(self, now: float) -> float | None:
        """Seconds until the next may start; None while only a finished one can make room, or nothing waits."""
        if not self.waiting or (self.concurrent and self.under_way >= self.concurrent):
            return None
        return max(0.0, self.free_at - now)

    def start(self, now: float) -> Experiment:
        """Take the next."""
        self.under_way += 1
        if self.per_minute:
            self.free_at = max(self.free_at, now) + 60.0 * self.asks / self.per_minute
        return self.waiting.popleft()


class Pace:
    """Which experiment may start now; ``clock`` gives seconds that only grow."""

    def __init__(self, lanes: Iterable[Lane], experiments: Iterable[Experiment], clock: Callable[[], float]) -> None:
        self._lanes = {lane.name: lane for lane in lanes}
        self._clock = clock
        for each in experiments:
            self._lanes[each.lane].waiting.append(each)
        self._turn = deque(self._lanes.values())

    @property
    def waiting(self) -> int:
        """Experiments that were not started."""
        return sum(len(lane.waiting) for lane in self._turn)

    def next(self) -> Experiment | None:
        """The next experiment, each backend in its turn; None when none may start now."""
        now = self._clock()
        for _ in range(len(self._turn)):
            lane = self._turn[0]
            self._turn.rotate(-1)
            if lane.wait_s(now) == 0.0:
                return lane.start(now)
        return None

    def take(self, chosen: Callable[[Experiment], bool]) -> list[Experiment]:
        """Take those out that wait and are chosen; they are not started."""
        taken: list[Experiment] = []
        for lane in self._turn:
            taken += filter(chosen, lane.waiting)
            lane.waiting = deque(each for each in lane.waiting if not chosen(each))
        return taken

    def wait_s(self) -> float | None:
        """Seconds until one may start; None when a finished experiment has to make room first."""
        now = self._clock()
        waits = [wait for lane in self._turn if (wait := lane.wait_s(now)) is not None]
        return min(waits, default=None)

    def finished(self, experiment: Experiment) -> None:
        """One of them is over."""
        self._lanes[experiment.lane].under_way -= 1
