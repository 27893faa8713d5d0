"""What one open file shows: the findings of one report about it, and where its profiled lines stand today.

``FileIndex`` is built once per report and file; ``FileView`` adds the anchors and is new after every edit. Both are
immutable, so features can answer from them without asking anybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from optimas_lsp.server.documents import Document
from optimas_lsp.server.jobs import FileMatch, Loaded
from optimas_lsp.server.reports import Stamp
from optimas_lsp.source.text import split_lines

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, LineHeat, Location
    from optimas_lsp.profile.model import SourceFile
    from optimas_lsp.source.anchors import Anchors

_RANK = {"act": 0, "hot": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class OpenReport:
    """A report that was read: where it lies, the state of the file it was read in, and what it told."""

    path: Path
    stamp: Stamp
    loaded: Loaded

    @property
    def sampled(self) -> bool:
        """Whether it has samples on any line."""
        return any(kernel.lines for kernel in self.loaded.analysis.kernels)

    @property
    def shows(self) -> bool:
        """Whether it has samples and any of its files is here."""
        return self.sampled and any(match.path is not None for match in self.loaded.matches)

    def match(self, path: Path) -> FileMatch | None:
        """The profiled file that is ``path`` here (links resolved), the one with embedded source first."""
        found = [match for match in self.loaded.matches if match.path == path]
        found.sort(key=lambda match: self.loaded.sources[match.file].text is None)
        return found[0] if found else None


@dataclass(frozen=True, eq=False, slots=True)
class Finding:
    """One piece of evidence at the profiled line of this file it is shown at."""

    kernel: KernelAnalysis
    evidence: Evidence
    line: int

    def key(self, index: FileIndex) -> tuple[str, str, str, str]:
        """By what it is known from profile to profile, see ``known.Known``."""
        whole = self.evidence.location is None
        text = "" if whole else index.measured_line(self.line)
        return str(index.path), self.kernel.mangled, f"{self.evidence.source} {self.evidence.rule}", text


@dataclass(frozen=True, eq=False, slots=True)
class Heat:
    """Everything sampled on one profiled line of this file for one kernel."""

    kernel: KernelAnalysis
    heat: LineHeat
    line: int


Placed = TypeVar("Placed", Finding, Heat)
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class FileIndex:
    """What one report says about one file, by profiled line. ``findings`` and ``heats`` are costliest first."""

    report: OpenReport
    path: Path
    source: SourceFile
    match: FileMatch
    names: frozenset[str]
    findings: tuple[Finding, ...]
    heats: tuple[Heat, ...]
    kernels: tuple[KernelAnalysis, ...]
    _derived: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any], repr=False)

    def derived(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What a feature computes once from this index; kept as long as the index."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    @cached_property
    def _measured_lines(self) -> tuple[str, ...]:
        """The profiled lines without blanks around them, else their digests; none where the report has neither."""
        if self.source.text is not None:
            return tuple(line.strip() for line in split_lines(self.source.text)[0])
        return self.source.line_digests or ()

    def measured_line(self, line: int) -> str:
        """What stood on the profiled line, as far as the report says."""
        lines = self._measured_lines
        return lines[line - 1] if 1 <= line <= len(lines) else ""

    @cached_property
    def findings_at(self) -> dict[int, list[Finding]]:
        """Findings by profiled line."""
        return _by_line(self.findings)

    @cached_property
    def heats_at(self) -> dict[int, list[Heat]]:
        """Heats by profiled line."""
        return _by_line(self.heats)


def index(report: OpenReport, path: Path) -> FileIndex | None:
    """What ``report`` says about the file at ``path`` (links resolved); None when it does not concern it."""
    match = report.match(path)
    if match is None:
        return None
    names = frozenset(each.file for each in report.loaded.matches if each.path == path)
    findings: list[Finding] = []
    heats: list[Heat] = []
    kernels: list[KernelAnalysis] = []
    for kernel in report.loaded.analysis.kernels:
        mine = [
            Finding(kernel, evidence, place.line)
            for evidence in kernel.evidence
            if (place := _place(evidence.shown, evidence.location or kernel.location, names)) is not None
        ]
        warm = [
            Heat(kernel, heat, place.line)
            for heat in kernel.lines
            if (place := _place(heat.shown, heat.location, names)) is not None
        ]
        defined_here = kernel.location is not None and kernel.location.file in names
        if mine or warm or defined_here:
            kernels.append(kernel)
        findings += mine
        heats += warm
    findings.sort(key=_cost)
    heats.sort(key=lambda each: -each.heat.share * (each.kernel.share or 0.0))
    source = report.loaded.sources[match.file]
    return FileIndex(report, path, source, match, names, tuple(findings), tuple(heats), tuple(kernels))


def _place(shown: Location | None, located: Location | None, names: frozenset[str]) -> Location | None:
    """The location to show something at, if that is in the file with these profiled names."""
    place = shown or located
    return place if place is not None and place.file in names and place.line > 0 else None


def _cost(finding: Finding) -> tuple[int, float]:
    return _RANK[finding.evidence.level], -finding.evidence.share * (finding.kernel.share or 0.0)


def _by_line(items: Iterable[Placed]) -> dict[int, list[Placed]]:
    found: dict[int, list[Placed]] = {}
    for item in items:
        found.setdefault(item.line, []).append(item)
    return found


@dataclass(frozen=True, eq=False)
class FileView:
    """One open document with what a report says about it. Lines are 1-based; *today's* are the document's."""

    document: Document
    index: FileIndex
    anchors: Anchors

    @property
    def stale(self) -> bool:
        """Whether the text differs from the profiled one."""
        return self.anchors.stale

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """Findings that survive, costliest first, each with today's line."""
        today = self.anchors.today
        for finding in self.index.findings:
            line = today(finding.line)
            if line is not None:
                yield line, finding

    def heats(self) -> Iterator[tuple[int, Heat]]:
        """Heats that survive, hottest first, each with today's line."""
        today = self.anchors.today
        for heat in self.index.heats:
            line = today(heat.line)
            if line is not None:
                yield line, heat

    @cached_property
    def lost(self) -> int:
        """How many findings are hidden because their line changed."""
        return len(self.index.findings) - sum(1 for _ in self.findings())

    @cached_property
    def kernels(self) -> tuple[tuple[int, KernelAnalysis], ...]:
        """Kernels defined in this file with today's line of the definition, in the order of the file."""
        sites = [(line, kernel) for kernel in self.index.kernels if (line := self._definition(kernel)) is not None]
        return tuple(sorted(sites, key=lambda site: site[0]))

    def _definition(self, kernel: KernelAnalysis) -> int | None:
        location = kernel.location
        if location is not None:
            if location.file not in self.index.names:
                return None
            line = self.anchors.today(location.line)
            if line is not None:
                return line
        return _find_definition(self.document.text.lines, kernel.base_name)


def _find_definition(lines: tuple[str, ...], name: str) -> int | None:
    """The line where a kernel of that base name seems to be defined, when its profiled line changed or is unknown."""
    cuda = re.compile(rf"\b{re.escape(name)}\s*\(")
    python = re.compile(rf"\s*def\s+{re.escape(name)}\s*\(")
    for number, line in enumerate(lines, 1):
        if name not in line:
            continue
        if python.match(line):
            return number
        if cuda.search(line) and any("__global__" in each for each in lines[max(0, number - 4) : number]):
            return number
    return None
