"""From a profiled line to today's line: aligned once by content, then carried through every edit.

One rule holds at all times: **a line that has an anchor reads as it read when it was measured.** Line ends and trailing
blanks do not count; anything else does, indentation too (a re-indented line has usually moved into another loop or
branch). A line whose text changed loses its anchor and gets it back as soon as the measured text stands again in the
same gap between surviving neighbours, so undo brings findings back. Lines moved past other surviving lines are lost:
an alignment keeps order. Where either text holds U+FFFD (bytes the editor could not decode), runs of non-ASCII
characters compare as unknown.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from optimas_lsp.profile.model import SourceFile
from optimas_lsp.source.alignment import IntArray, match
from optimas_lsp.source.text import BLANKS, SourceText, Splice, repaired, split_lines

Confidence = Literal["same", "moved", "likely", "assumed"]
"""``same``: the text is as profiled. ``moved``: the line is unique or a direct neighbour came along.
``likely``: equal text, but it occurs more than once and neither neighbour is left.
``assumed``: the report says nothing about the text."""

GAP = 400
"""A gap of at most this many lines on both sides is aligned anew after an edit in it."""

FEW = 64
"""In larger gaps an edit of at most this many lines is looked up line by line; a larger one aligns the gap anew."""

_UNKNOWN = re.compile(r"[^\x00-\x7f]+")


def digest(line: str | bytes) -> str:
    """The fingerprint of a line as the distilled form keeps it: first 8 hex digits of SHA-256 of its bytes (UTF-8)."""
    data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    return hashlib.sha256(data).hexdigest()[:8]


def _digests(line: str) -> Iterator[str]:
    """Digests of the bytes that ``line`` may have been when it was measured, the likeliest first."""
    yield digest(line)
    if line.endswith(tuple(BLANKS)):
        yield digest(line.rstrip(BLANKS))
    if not line.isascii():
        yield digest(line.encode("latin-1", "replace"))
    yield digest("\ufeff" + line)


@dataclass(frozen=True, eq=False)
class Measured:
    """What a file's lines were when they were profiled: their text without trailing blanks, or their digests.

    The blank line after a final line end is left out.
    """

    keys: tuple[str, ...]
    digests: bool = False
    assumed: bool = False
    lossy: bool = False

    @staticmethod
    def of(source: SourceFile) -> Measured | None:
        """The measured text of a profile's file, else its line digests, else None: the report holds neither."""
        if source.text is not None:
            return Measured.of_text(source.text)
        if source.line_digests is not None:
            last = source.line_digests[-1:] == (digest(""),)
            return Measured(source.line_digests[: -1 if last else None], digests=True)
        return None

    @staticmethod
    def of_text(text: str) -> Measured:
        """``text`` as it was compiled and profiled."""
        lines = split_lines(repaired(text))[0]
        keys = tuple(line.rstrip(BLANKS) for line in lines)
        return Measured(keys if keys[-1] else keys[:-1], lossy="\ufffd" in text)

    @staticmethod
    def assume(text: SourceText) -> Measured:
        """Take ``text`` for what was profiled, because the report says nothing about it."""
        return replace(Measured.of_text(text.text), assumed=True)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """For each key the 0-based lines that have it, ascending."""
        found: dict[str, list[int]] = {}
        for index, key in enumerate(self.keys):
            found.setdefault(key, []).append(index)
        return found

    def key(self, line: str) -> str:
        """What a line of today is compared by."""
        if self.digests:
            return next((key for key in _digests(line) if key in self.places), "")
        line = line.rstrip(BLANKS)
        return _UNKNOWN.sub("\ufffd", line) if self.lossy and not line.isascii() else line

    def comparable_with(self, text: SourceText) -> Measured:
        """Itself, or itself with unknown characters masked when either text has some."""
        if self.digests or not (self.lossy or "\ufffd" in text.text):
            return self
        return replace(self, keys=tuple(_UNKNOWN.sub("\ufffd", key) for key in self.keys), lossy=True)


@dataclass(frozen=True, eq=False)
class Anchors:
    """Where each profiled line stands in ``text``; immutable, ``apply`` gives the anchors after an edit.

    ``places[k]`` is today's 1-based line of profiled line ``k + 1``, or 0; what is not 0 increases.
    """

    measured: Measured
    text: SourceText
    places: IntArray

    def today(self, line: int) -> int | None:
        """Today's line of profiled line ``line`` (both 1-based); None when its text changed, went or never was."""
        return int(self.places[line - 1]) or None if 1 <= line <= len(self.places) else None

    def profiled(self, line: int) -> int | None:
        """The profiled line that stands at today's ``line``; None for a line that was not measured."""
        live, there = self._live
        place = int(np.searchsorted(there, line))
        return int(live[place]) + 1 if place < len(there) and int(there[place]) == line else None

    @cached_property
    def _live(self) -> tuple[IntArray, IntArray]:
        live = np.flatnonzero(self.places).astype(np.int32)
        return live, self.places[live]

    @cached_property
    def stale(self) -> bool:
        """Whether the text differs from the profiled one by more than line ends and trailing blanks."""
        return len(self._live[0]) != len(self.places) or not self.text.has_lines(len(self.places))

    def confidence(self, line: int) -> Confidence | None:
        """How sure the anchor of profiled line ``line`` is; None when it has none."""
        today = self.today(line)
        if today is None:
            return None
        if self.measured.assumed:
            return "assumed"
        if not self.stale:
            return "same"
        beside = self.today(line - 1) == today - 1 if line > 1 and today > 1 else line == today == 1
        if beside or self.today(line + 1) == today + 1:
            return "moved"
        return "moved" if len(self.measured.places[self.measured.keys[line - 1]]) == 1 else "likely"

    def why(self, line: int) -> str:
        """A sentence for the user about profiled line ``line``: where it is now, or why it is nowhere."""
        today = self.today(line)
        if today is None:
            if not 1 <= line <= len(self.places):
                return f"Profiled line {line} is not in the profiled text, which has {len(self.places)} lines."
            return f"Line {line} changed since profiling: its findings are hidden until its text is as measured again."
        return {
            "same": f"Line {today} is as profiled.",
            "moved": f"Profiled line {line} is line {today} now; its text is as profiled.",
            "likely": f"Profiled line {line} is probably line {today} now: the same text stands in several places.",
            "assumed": f"Line {today} is taken to be as profiled: the report holds no text to compare with; "
            "profile with --import-source yes to be sure.",
            None: "",
        }[self.confidence(line)]

    def apply(self, splice: Splice) -> Anchors:
        """The anchors after an edit of ``text``; ``splice`` must come from ``text.apply``."""
        first, last = splice.first, splice.first + splice.removed
        places = self.places.copy()
        if splice.removed:
            places[(places >= first) & (places < last)] = 0
        if splice.inserted != splice.removed:
            places[places >= last] += np.int32(splice.inserted - splice.removed)
        if splice.removed or splice.inserted:
            self._recover(places, splice)
        return _sealed(self.measured, splice.after, places)

    def _recover(self, places: IntArray, splice: Splice) -> None:
        """Give lost lines in the edited gap their anchor back where the measured text stands again."""
        after, keys = splice.after, self.measured.keys
        live = np.flatnonzero(places)
        there = places[live]
        place = int(np.searchsorted(there, splice.first))
        low = int(live[place - 1]) + 1 if place else 0
        high = int(live[place]) if place < len(live) else len(places)
        left = int(there[place - 1]) + 1 if place else 1
        right = int(there[place]) if place < len(live) else after.line_count + 1
        if low < high and left < right:
            if max(high - low, right - left) <= GAP or splice.inserted > FEW:
                _put(places, range(low, high), keys, left, self._keys(after, left, right))
            elif splice.inserted:
                wanted = self._keys(after, splice.first, splice.first + splice.inserted)
                _put(places, self._candidates(wanted, low, high), keys, splice.first, wanted)
        if after.has_lines(len(places)) and bool(np.any(there != live + 1)):
            self._notice_return(places, after)

    def _keys(self, text: SourceText, first: int, last: int) -> list[str]:
        return [self.measured.key(line) for line in text.lines[first - 1 : last - 1]]

    def _candidates(self, wanted: Iterable[str], low: int, high: int) -> list[int]:
        found: set[int] = set()
        for key in set(wanted):
            places = self.measured.places.get(key, [])
            start = bisect_left(places, low)
            found.update(places[start : min(bisect_left(places, high), start + GAP)])
        return sorted(found)

    def _notice_return(self, places: IntArray, text: SourceText) -> None:
        """Should the whole text be as measured again, every line is where it was."""
        order = np.arange(1, len(places) + 1, dtype=np.int32)
        displaced = np.flatnonzero(places != order).tolist()
        if all(self.measured.key(text.lines[k]) == self.measured.keys[k] for k in displaced):
            places[:] = order


def _put(places: IntArray, lost: Sequence[int], keys: tuple[str, ...], first: int, wanted: list[str]) -> None:
    indices = np.array(lost, dtype=np.int64)
    found = match([keys[k] for k in lost], wanted)
    hit = found >= 0
    places[indices[hit]] = found[hit] + first


def _sealed(measured: Measured, text: SourceText, places: IntArray) -> Anchors:
    places.flags.writeable = False
    return Anchors(measured, text, places)


def align(measured: Measured, text: SourceText) -> Anchors:
    """Find every profiled line in ``text`` by content, in order."""
    measured = measured.comparable_with(text)
    places = match(measured.keys, [measured.key(line) for line in text.lines]) + np.int32(1)
    return _sealed(measured, text, places)
