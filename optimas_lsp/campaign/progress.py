"""How far a campaign is: counts by ending, experiments per minute of late, and the time that remains."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

RECENT = 200
"""Finished experiments that the rate is taken over."""


@dataclass
class Progress:
    """Counts of one run. ``total`` are all experiments of the plan, ``before`` those that were finished already."""

    total: int
    before: int
    clock: Callable[[], float] = time.monotonic
    endings: Counter[str] = field(default_factory=Counter[str])
    cost_usd: float = 0.0
    under_way: int = 0
    _ends: deque[float] = field(default_factory=lambda: deque[float](maxlen=RECENT))
    _began: float = 0.0

    def __post_init__(self) -> None:
        """The clock starts now."""
        self._began = self.clock()

    def finished(self, ending: str, cost_usd: float | None) -> None:
        """One more is done."""
        self.endings[ending] += 1
        self.cost_usd += cost_usd or 0.0
        self._ends.append(self.clock())

    @property
    def done(self) -> int:
        """Finished now or before."""
        return self.before + self.endings.total()

    @property
    def per_minute(self) -> float | None:
        """Rate over the last experiments; None before the first."""
        if not self._ends:
            return None
        first = self._began if len(self._ends) < RECENT else self._ends[0]
        count = len(self._ends) if len(self._ends) < RECENT else len(self._ends) - 1
        return 60 * count / max(1e-3, self._ends[-1] - first)

    @property
    def remaining_s(self) -> float | None:
        """Seconds until the end at the present rate; None before the first."""
        rate = self.per_minute
        return None if rate is None else 60 * (self.total - self.done) / rate

    def sentence(self) -> str:
        """One line for a person."""
        share = 100 * self.done / self.total if self.total else 100
        parts = [f"{self.done:,} of {self.total:,} ({share:.0f} %)"]
        parts += [f"{count:,} {ending}" for ending, count in self.endings.most_common()]
        if self.under_way:
            parts.append(f"{self.under_way} under way")
        rate, left = self.per_minute, self.remaining_s
        if rate is not None and left is not None and self.done < self.total:
            parts.append(f"{rate:.1f} a minute, {span(left)} left")
        if self.cost_usd:
            parts.append(f"USD {self.cost_usd:.2f}")
        return ", ".join(parts)


def span(seconds: float) -> str:
    """A time as people say it: ``40 s``, ``12 min``, ``3 h 20 min``, ``2 d 4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h"
