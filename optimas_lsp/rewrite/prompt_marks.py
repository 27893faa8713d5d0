"""Where evidence stands in the text as it is now: profiled lines led through content to today's, or to none.

A rewrite is of the current text, so every line number in a prompt is today's. Evidence whose line changed since
profiling keeps its figures and loses its line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from optimas_lsp.insight.evidence import Cause, Evidence, KernelAnalysis, Location
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.prompt_files import Files, Unit
from optimas_lsp.source.anchors import Anchors, Measured, align


@dataclass(frozen=True, slots=True)
class Today:
    """A line of a workspace file as it is now (1-based); None: its text changed since it was profiled."""

    unit: Unit
    line: int | None


@dataclass
class Marks:
    """Leads from a profiled place to the workspace's text; every file is aligned once."""

    profile: Profile
    files: Files
    _anchors: dict[str, Anchors] = field(default_factory=dict[str, Anchors])

    def today(self, place: Location | Cause) -> Today | None:
        """Today's line of a profiled one; None where its file is not in the workspace."""
        unit = self.files.unit(Path(place.path)) if place.path else None
        if unit is None or place.line < 1:
            return None
        return Today(unit, self._of(place.file, unit).today(place.line))

    def lines(self, evidence: Evidence) -> Iterator[tuple[str, int]]:
        """Real path and line of every place in the workspace that a piece of evidence concerns, most telling first."""
        places = (evidence.shown, evidence.location, *evidence.inlined_at)
        for place in places:
            found = self.today(place) if place is not None else None
            if found is not None and found.line is not None:
                yield os.path.realpath(found.unit.path), found.line

    def heat(self, kernel: KernelAnalysis) -> dict[tuple[str, int], float]:
        """Share of the kernel's samples (0 to 1) by real path and today's line, where each is shown."""
        shares: dict[tuple[str, int], float] = {}
        for line in kernel.lines:
            found = self.today(line.shown or line.location)
            if found is not None and found.line is not None:
                key = os.path.realpath(found.unit.path), found.line
                shares[key] = shares.get(key, 0.0) + line.share
        return shares

    def stale(self, unit: Unit) -> bool:
        """Whether the file is known to differ from the profiled one."""
        return any(
            anchors.stale and anchors.text is unit.syntax.text and not anchors.measured.assumed
            for anchors in self._anchors.values()
        )

    def _of(self, profiled: str, unit: Unit) -> Anchors:
        if profiled not in self._anchors:
            source = next((each for each in self.profile.files if each.path == profiled), None)
            measured = None if source is None else Measured.of(source)
            text = unit.syntax.text
            self._anchors[profiled] = align(measured or Measured.assume(text), text)
        return self._anchors[profiled]
