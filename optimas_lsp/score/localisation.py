"""Localisation agreement: whether the edit is where the profile's samples are, and the other way round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, LineHeat
from optimas_lsp.score.answer import NO_TEXT, Answer, has_code, placed
from optimas_lsp.score.citations import items
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.model import Localisation, Standing
from optimas_lsp.score.places import Places, Spot, real_path
from optimas_lsp.source.syntax import Syntax

HOT_SHARE = 0.01
"""A place with at least this share of the kernel's samples is hot: from there on a line is shown as a finding."""

NO_ANALYSIS = "the outcome does not hold the kernel's samples"
NO_SAMPLES = "the profile has no PC samples of the kernel"
NO_HOT = "no line of the kernel is hot whose text is as it was profiled"
NO_LINE = "the edit only puts in new lines, no line that was there is changed"

Key = tuple[str, int, int]
"""A statement: real path, first and last line. In other files than the edited one a line stands for itself."""


def unknown(why: str) -> Localisation:
    """Not measurable, for one reason."""
    missing = Measure.unknown(why)
    return Localisation(
        hot_samples=missing, edited_lines=missing, hot_samples_caused=missing, edited_lines_causing=missing
    )


def localisation(answer: Answer, places: Places) -> Localisation:
    """The scores of where ``answer`` edits."""
    kernel = answer.rewriting.analysis
    edits, syntax = answer.edits, answer.syntax
    if isinstance(edits, str):
        return unknown(edits)
    if syntax is None:
        return unknown(NO_TEXT)
    if kernel is None:
        return unknown(NO_ANALYSIS)
    ground = Ground(real_path(answer.rewriting.source), syntax, places)
    standing = tuple(ground.standing(kernel, items(answer.rewriting)))
    if not kernel.samples.total:
        return unknown(NO_SAMPLES).model_copy(update={"standing": standing, "lines_from": places.source})
    touched = placed(edits, syntax)
    edited = frozenset(ground.key(Spot(ground.path, line)) for line in touched)
    hot = ground.hot(kernel)
    found = [each for each in hot if not each.lost]
    lines = sorted(line for line in touched if has_code(syntax.text.line(line)))
    total = sum(each.samples for each in found)
    direct = sum(each.samples for each in found if each.on & edited)
    caused = sum(each.samples if each.on & edited else min(each.samples, each.caused_by(edited)) for each in found)
    warm = {key for each in found for key in each.on}
    causing = warm | {key for each in found for key, samples in each.causes.items() if samples > 0}
    return Localisation(
        hot_samples=Measure.share(direct, total, nothing=NO_HOT),
        edited_lines=_lines(lines, warm, ground, found=bool(found)),
        hot_samples_caused=Measure.share(caused, total, nothing=NO_HOT),
        edited_lines_causing=_lines(lines, causing, ground, found=bool(found)),
        lines_from=places.source,
        edited=tuple(lines),
        hot=tuple(ground.lines(warm)),
        lost_samples=sum(each.samples for each in hot if each.lost),
        standing=standing,
    )


def _lines(lines: Sequence[int], hot: set[Key], ground: Ground, *, found: bool) -> Measure:
    if not found:
        return Measure.unknown(NO_HOT)
    hits = sum(ground.key(Spot(ground.path, line)) in hot for line in lines)
    return Measure.share(hits, len(lines), nothing=NO_LINE)


@dataclass
class Hot:
    """One hot place. ``on`` holds every statement its samples lie on, through its inline chain, ``causes`` the samples
    that a statement makes wait here. ``lost``: its text changed since profiling, so it is nowhere."""

    samples: int
    on: frozenset[Key]
    causes: dict[Key, float]
    lost: bool

    def caused_by(self, edited: frozenset[Key]) -> float:
        """Samples here that wait for an edited statement."""
        return sum(samples for key, samples in self.causes.items() if key in edited)


@dataclass(frozen=True, eq=False)
class Ground:
    """The edited file, by statements."""

    path: str
    syntax: Syntax
    places: Places

    def key(self, spot: Spot) -> Key:
        """The statement at ``spot``, whose line must be known."""
        line = spot.line or 0
        if spot.path != self.path or not 1 <= line <= self.syntax.text.line_count:
            return (spot.path, line, line)
        return (spot.path, *self.syntax.statement(line))

    def lines(self, keys: Iterable[Key]) -> list[int]:
        """Lines of the edited file that these statements cover."""
        return sorted({line for path, first, last in keys if path == self.path for line in range(first, last + 1)})

    def hot(self, kernel: KernelAnalysis) -> list[Hot]:
        """The hot places of ``kernel``, costliest first."""
        groups: dict[object, list[LineHeat]] = {}
        for heat in kernel.lines:
            at = heat.shown or heat.location
            spot = self.places.today(at)
            known = spot is not None and spot.line is not None
            groups.setdefault(self.key(spot) if spot and known else (at.file, at.line), []).append(heat)
        least = HOT_SHARE * kernel.samples.total
        summed = [(sum(heat.samples for heat in heats), heats) for heats in groups.values()]
        return [
            Hot(samples, frozenset(self._on(heats)), self._causes(kernel, heats), lost=self._lost(heats))
            for samples, heats in sorted(summed, key=lambda item: -item[0])
            if samples >= least and samples > 0
        ]

    def _on(self, heats: Sequence[LineHeat]) -> Iterator[Key]:
        for heat in heats:
            for place in (heat.location, heat.shown, *heat.inlined_at):
                spot = self.places.today(place) if place is not None else None
                if spot is not None and spot.line is not None:
                    yield self.key(spot)

    def _lost(self, heats: Sequence[LineHeat]) -> bool:
        """Whether the place is known to be in the workspace, on a line that no longer reads as it was profiled."""
        spots = [self.places.today(heat.shown or heat.location) for heat in heats]
        return all(spot is not None and spot.line is None for spot in spots)

    def _causes(self, kernel: KernelAnalysis, heats: Sequence[LineHeat]) -> dict[Key, float]:
        """Samples of these lines by the statement that makes them wait, from the stalls' causes."""
        here = {_line_of(heat) for heat in heats}
        found: dict[Key, float] = {}
        for evidence in kernel.evidence:
            if evidence.source != "pc" or _line_of(evidence) not in here:
                continue
            for cause in evidence.known_causes:
                for place in (cause, *cause.inlined_at):
                    spot = self.places.today(place)
                    if spot is not None and spot.path == self.path and spot.line is not None:
                        key = self.key(spot)
                        found[key] = found.get(key, 0.0) + cause.share * evidence.samples
                        break
        return found

    def standing(self, kernel: KernelAnalysis, given: Iterable[tuple[str, ...]]) -> Iterator[Standing]:
        """Where each given finding stands in the edited file."""
        known = {each.id: each for each in kernel.evidence}
        for ids in given:
            lines = sorted({line for name in ids if name in known for line in self._lines_of(known[name])})
            if lines:
                yield Standing(id=ids[0], lines=tuple(lines))

    def _lines_of(self, evidence: Evidence) -> Iterator[int]:
        for place in (evidence.shown, evidence.location, *evidence.inlined_at):
            spot = self.places.today(place) if place is not None else None
            if spot is not None and spot.path == self.path and spot.line is not None:
                yield spot.line


def _line_of(item: LineHeat | Evidence) -> tuple[object, ...]:
    return item.location, item.shown
