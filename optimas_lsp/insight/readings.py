"""One launch's counters by name, with the clocks and units that rooflines need."""

from __future__ import annotations

import math
import re

from optimas_lsp.profile.model import Launch, Profile


class Columns:
    """Where each counter of a profile stands; built once and shared by the readings of its launches."""

    def __init__(self, profile: Profile) -> None:
        self.names = tuple(metric.name for metric in profile.metrics)
        self.at = {name: index for index, name in enumerate(self.names)}
        self._stems: dict[re.Pattern[str], tuple[str, ...]] = {}

    def stems(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Counters with a ``.sum`` whose name before it matches."""
        if pattern not in self._stems:
            sums = (name.removesuffix(".sum") for name in self.names if name.endswith(".sum"))
            self._stems[pattern] = tuple(stem for stem in sums if pattern.match(stem))
        return self._stems[pattern]


class Readings:
    """Counters of one launch. A counter that was not collected, or is not finite, is ``None``, never 0."""

    def __init__(self, columns: Columns, launch: Launch) -> None:
        self.columns = columns
        self._at = columns.at
        self._launch = launch
        self.seconds: float | None = self._duration()

    def _duration(self) -> float | None:
        ns = self._launch.duration_ns
        if ns is None:
            ns = self.first("gpu__time_duration.sum", "gpu__time_duration.avg")
        return ns * 1e-9 if ns is not None else None

    def first(self, *names: str) -> float | None:
        """The first of these counters that was collected."""
        for name in names:
            at = self._at.get(name)
            value = self._launch.counters[at] if at is not None else None
            if value is not None and math.isfinite(value):
                return value
        return None

    def equal_to(self, value: float, suffix: str) -> str | None:
        """The first counter that ends in ``suffix`` and has ``value``; throughputs, themselves maxima, are skipped."""
        for name, other in zip(self.columns.names, self._launch.counters, strict=True):
            if other is None or not name.endswith(suffix) or "throughput" in name:
                continue
            if math.isclose(other, value, rel_tol=1e-9):
                return name
        return None

    def total(self, name: str) -> float | None:
        """A count over the launch: its ``.sum``, or its rate per second or per cycle times the launch's time."""
        value = self.first(f"{name}.sum")
        if value is not None:
            return value
        if self.seconds is None:
            return None
        rate = self.first(f"{name}.sum.per_second")
        if rate is not None:
            return rate * self.seconds
        rate = self.first(f"{name}.sum.per_cycle_elapsed")
        clock = self.clock(name.partition("__")[0])
        return rate * clock * self.seconds if rate is not None and clock is not None else None

    def peak(self, name: str) -> float | None:
        """Peak of a count per second: its ``.sum.peak_sustained`` a cycle times the measured clock of its unit."""
        peak = self.first(f"{name}.sum.peak_sustained")
        clock = self.clock(name.removeprefix("derived__").partition("__")[0])
        return peak * clock if peak is not None and clock is not None else None

    def clock(self, unit: str) -> float | None:
        """Measured clock of a unit in Hz; an SM's and its parts' clocks are one."""
        names = [f"{unit}__cycles_elapsed.avg.per_second"]
        if unit in {"sm", "smsp", "l1tex", "gpc"}:
            names += [f"{other}__cycles_elapsed.avg.per_second" for other in ("sm", "smsp", "l1tex", "gpc")]
        return self.first(*names)
