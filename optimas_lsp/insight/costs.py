"""What a kernel's stalls cost per launch, by reason and line, and how lines of two versions of a source correspond."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimas_lsp.insight.changes import Change, Moved
from optimas_lsp.insight.evidence import KernelAnalysis, Location
from optimas_lsp.insight.readings import Columns, Readings
from optimas_lsp.profile.aggregate import margin
from optimas_lsp.profile.model import Launch, Profile
from optimas_lsp.source.alignment import match

Z95 = 1.96
NOISE = 0.02
"""Times and counters of equal work repeat within this share; a smaller difference is none."""


@dataclass(frozen=True)
class Side:
    """One profile's view of one kernel."""

    profile: Profile
    kernel: KernelAnalysis
    launches: tuple[Launch, ...]

    @property
    def times_ns(self) -> list[float]:
        """Durations of the launches that have one."""
        return [launch.duration_ns for launch in self.launches if launch.duration_ns is not None]

    def texts(self) -> dict[str, str]:
        """Source texts in the report by file name as people say it, for matching lines."""
        return {file.path: file.text for file in self.profile.files if file.text is not None}

    def counter(self, name: str) -> tuple[float | None, float]:
        """A counter's mean per launch and the half-width of its noise; a name with a rollup is taken as it stands.

        A counter that is only there per instruction is the sum over the kernel's instructions.
        """
        columns = Columns(self.profile)
        values: list[float] = []
        for launch in self.launches:
            readings = Readings(columns, launch)
            value = readings.first(name) if "." in name else readings.total(name)
            value = readings.first(name) if value is None else value
            if value is None:
                return self._per_instruction(name)
            values.append(value)
        return (statistics.fmean(values), _noise(values)) if values else (None, 0.0)

    def _per_instruction(self, name: str) -> tuple[float | None, float]:
        code = next(each.code for each in self.profile.kernels if each.mangled == self.kernel.mangled)
        if name not in code.metrics or not self.launches:
            return None, 0.0
        value = sum(code.metrics[name]) / len(self.launches)
        return value, NOISE * value

    def share(self, reason: str, places: Iterable[Location] | None) -> tuple[float | None, float]:
        """Share of the kernel's samples with this reason, on these lines or everywhere, and its 95 % margin.

        None without samples: what was not sampled is unknown, not 0.
        """
        total = self.kernel.samples.total
        if not total:
            return None, 0.0
        wanted = None if places is None else {(place.file, place.line) for place in places}
        count = 0
        for line in self.kernel.lines:
            at = line.shown or line.location
            if wanted is None or (at.file, at.line) in wanted:
                count += sum(each.samples for each in line.reasons if each.reason == reason)
        share = count / total
        return share, margin(share, total)


def change(metric: str, unit: str, before: tuple[float | None, float], after: tuple[float | None, float]) -> Change:
    """Two values with the half-widths of their noise as one change."""
    (old, old_noise), (new, new_noise) = before, after
    noise = math.hypot(old_noise, new_noise)
    return Change(metric=metric, unit=unit, before=old, after=new, noise=noise, moved=_moved(old, new, noise))


def _moved(before: float | None, after: float | None, noise: float) -> Moved:
    if before is None or after is None:
        return "unknown"
    if abs(after - before) <= noise:
        return "same"
    return "down" if after < before else "up"


def time_change(before: Side, after: Side) -> Change:
    """Mean duration per launch."""
    old, new = (_mean(side.times_ns) for side in (before, after))
    return change("time", "ns", old, new)


Places = Sequence[Location] | None
"""Lines to look at; None is the whole kernel."""


def stall_cost(before: Side, after: Side, reason: str, old: Places = None, new: Places = None) -> Change:
    """Time per launch that a stall reason stands for: its share of the samples times the mean duration.

    Without durations on both sides the shares themselves are compared; a side without samples is unknown.
    """
    (share_old, margin_old), (share_new, margin_new) = before.share(reason, old), after.share(reason, new)
    time_old, time_new = (_mean(side.times_ns)[0] for side in (before, after))
    if time_old is None or time_new is None:
        return change(reason, "share", (share_old, margin_old), (share_new, margin_new))
    return change(
        reason, "ns", _over_time(share_old, margin_old, time_old), _over_time(share_new, margin_new, time_new)
    )


def _over_time(share: float | None, half: float, time: float) -> tuple[float | None, float]:
    """A share of the samples with its margin as time with its noise; unknown stays unknown."""
    if share is None:
        return None, 0.0
    return share * time, math.hypot(half * time, NOISE * share * time)


def _mean(values: Sequence[float]) -> tuple[float | None, float]:
    return (statistics.fmean(values), _noise(values)) if values else (None, 0.0)


def _noise(values: Sequence[float]) -> float:
    """Half-width of the mean's noise: the floor, or the spread of three and more launches where that is wider."""
    mean = statistics.fmean(values)
    floor = NOISE * abs(mean)
    if len(values) < 3:
        return floor
    return max(floor, Z95 * statistics.stdev(values) / math.sqrt(len(values)))


class LineMap:
    """Lines of the source before and after: an unchanged line is one line, a changed one the block that replaced it."""

    def __init__(self, before: Side, after: Side) -> None:
        self._before, self._after = before.texts(), after.texts()
        self._files = _same_files(self._before, self._after)
        self._cache: dict[str, list[int]] = {}

    def all(self, places: Sequence[Location]) -> tuple[list[Location], list[Location]] | None:
        """As :meth:`find` for several lines at once; None where there is no telling for one of them."""
        old: dict[tuple[str, int], Location] = {}
        new: dict[tuple[str, int], Location] = {}
        for at in places:
            found = self.find(at)
            if found is None:
                return None
            old |= {(each.file, each.line): each for each in found[0]}
            new |= {(each.file, each.line): each for each in found[1]}
        return list(old.values()), list(new.values())

    def find(self, at: Location) -> tuple[list[Location], list[Location]] | None:
        """The lines before and after that ``at`` has to be compared over, or None where there is no telling."""
        other = self._files.get(at.file)
        if other is None:
            return None
        old = self._before[at.file].splitlines()
        new = self._after[other].splitlines()
        if at.file not in self._cache:
            self._cache[at.file] = [int(line) for line in match(old, new)]
        pairs = self._cache[at.file]
        index = at.line - 1
        if not 0 <= index < len(pairs):
            return None
        if pairs[index] >= 0:
            return [at], [Location(file=other, line=pairs[index] + 1)]
        first, last = index, index
        while first > 0 and pairs[first - 1] < 0:
            first -= 1
        while last + 1 < len(pairs) and pairs[last + 1] < 0:
            last += 1
        low = pairs[first - 1] + 1 if first > 0 else 0
        high = pairs[last + 1] if last + 1 < len(pairs) else len(new)
        if low >= high:
            return None
        return (
            [Location(file=at.file, line=line + 1) for line in range(first, last + 1)],
            [Location(file=other, line=line + 1) for line in range(low, high)],
        )


def _same_files(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Files that are one: the same path, else the only ones of the same name."""
    found = {path: path for path in before if path in after}
    for path in before:
        if path not in found:
            name = _name(path)
            candidates = [other for other in after if _name(other) == name and other not in found.values()]
            if len(candidates) == 1 and [_name(each) for each in before].count(name) == 1:
                found[path] = candidates[0]
    return found


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]
