"""The source as it was profiled: heat on every sampled line, arcs from the line that causes a wait to the waiting one.

Rows have a fixed height, so that the arcs, an SVG beside the rows, need no script to find their lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, LineHeat, Location
from optimas_lsp.profile.model import Profile, SourceFile
from optimas_lsp.report.html.families import family
from optimas_lsp.report.html.highlight import Line, highlight
from optimas_lsp.report.html.markup import Markup, el, join

TextOf = Callable[[SourceFile], str | None]

ROW = 22
"""Height of a row in CSS pixels, as in style.css."""

CONTEXT = 6
"""Lines shown around a sampled one; what lies between is folded away."""

MOST_ROWS = 1200
"""Rows of one file at most; the lines with the fewest samples are folded away beyond that."""

GUTTER = 76
MOST_ARCS = 16
FEWEST_SHARE = 0.02
"""Causes with less than this share of their finding's samples get no arc."""


@dataclass(frozen=True)
class Arc:
    """``cause`` makes ``waiting`` wait; ``weight`` is the share of the kernel's samples it explains."""

    cause: int
    waiting: int
    weight: float
    words: str


def file_name(path: str) -> str:
    """The last part of a path as any system writes it."""
    return path.replace("\\", "/").rsplit("/", 1)[-1] or path


def source_views(anchor: str, kernel: KernelAnalysis, profile: Profile, text_of: TextOf) -> Iterator[Markup]:
    """One view a file with samples of this kernel, costliest file first; files without text only list their lines."""
    by_file: dict[str, list[LineHeat]] = {}
    for heat in kernel.lines:
        at = heat.shown or heat.location
        by_file.setdefault(at.file, []).append(heat)
    sources = {source.path: source for source in profile.files}
    for at, (path, heats) in enumerate(sorted(by_file.items(), key=lambda item: -sum(h.samples for h in item[1]))):
        source = sources.get(path)
        text = text_of(source) if source is not None else None
        share = sum(heat.share for heat in heats)
        yield el("h4", file_name(path), el("span", f"{100 * share:.1f} % of samples", class_="unit"), title=path)
        if text is None:
            yield _listing(heats)
        else:
            yield _View(f"{anchor}-f{at}", path, text, heats, kernel).markup()


def _listing(heats: Sequence[LineHeat]) -> Markup:
    rows = [
        el(
            "tr",
            el("td", f"line {(heat.shown or heat.location).line}", class_="number"),
            el("td", f"{100 * heat.share:.1f} %", class_="number"),
            el("td", ", ".join(each.reason for each in heat.reasons[:3])),
        )
        for heat in sorted(heats, key=lambda each: -each.samples)[:20]
    ]
    note = el("p", "The report does not contain this file's text; its lines are listed by number.", class_="quiet")
    return join([note, el("div", el("table", el("tbody", *rows)), class_="scroll")])


class _View:
    def __init__(self, anchor: str, path: str, text: str, heats: Sequence[LineHeat], kernel: KernelAnalysis) -> None:
        self._anchor = anchor
        self._path = path
        self._code = highlight(text, path)
        self._heat: dict[int, list[LineHeat]] = {}
        for heat in heats:
            self._heat.setdefault((heat.shown or heat.location).line, []).append(heat)
        self._findings: dict[int, list[Evidence]] = {}
        for evidence in kernel.evidence:
            at = evidence.shown or evidence.location
            if at is not None and at.file == path:
                self._findings.setdefault(at.line, []).append(evidence)
        self._arcs = self._all_arcs(kernel)
        self._rows = self._choose()
        self._row_of = {line: at for at, line in enumerate(self._rows) if line > 0}

    def _all_arcs(self, kernel: KernelAnalysis) -> list[Arc]:
        arcs: dict[tuple[int, int], tuple[float, str]] = {}
        for evidence in kernel.evidence:
            at = evidence.shown or evidence.location
            if evidence.source != "pc" or at is None or at.file != self._path:
                continue
            for cause in evidence.known_causes:
                origin = self._here(Location(file=cause.file, line=cause.line), cause.inlined_at)
                if origin is None or cause.share < FEWEST_SHARE:
                    continue
                weight, _ = arcs.get((origin, at.line), (0.0, ""))
                share = f"{100 * cause.share:.0f} % of {evidence.id} {evidence.rule}"
                words = f"line {origin} makes line {at.line} wait: {share}"
                arcs[origin, at.line] = (weight + cause.share * evidence.share, words)
        listed = [Arc(cause, waiting, weight, words) for (cause, waiting), (weight, words) in arcs.items()]
        return sorted(listed, key=lambda arc: -arc.weight)[:MOST_ARCS]

    def _here(self, location: Location, inlined_at: Sequence[Location]) -> int | None:
        """The line of this file at which a cause lies, or at which the code that holds it was inlined."""
        return next((each.line for each in (location, *inlined_at) if each.file == self._path), None)

    def _choose(self) -> list[int]:
        """Line numbers in order; 0 − n stands for n folded lines."""
        joined = {line for arc in self._arcs for line in (arc.cause, arc.waiting)}
        last = len(self._code)
        chosen: set[int] = set()
        for line in sorted({*self._heat, *self._findings, *joined}, key=self._worth, reverse=True):
            if len(chosen) >= MOST_ROWS:
                break
            chosen |= {n for n in range(line - CONTEXT, line + CONTEXT + 1) if 1 <= n <= last}
        shown = sorted(chosen)
        rows: list[int] = []
        before = 0
        for line in shown:
            if line > before + 1:
                rows.append(-(line - before - 1))
            rows.append(line)
            before = line
        if shown and before < last:
            rows.append(-(last - before))
        return rows

    def _worth(self, line: int) -> tuple[bool, float, int]:
        """Lines with findings before others, then by samples: what is dropped first where a file has too many rows."""
        return line in self._findings, sum(heat.share for heat in self._heat.get(line, [])), -line

    def markup(self) -> Markup:
        body = [self._row(line) for line in self._rows]
        table = el(
            "table",
            el("caption", f"Source of {file_name(self._path)} with the share of samples on each line", class_="hidden"),
            el(
                "thead",
                el("tr", *(el("th", words, scope="col") for words in ("line", "samples", "source")), class_="hidden"),
            ),
            el("tbody", *body),
            class_="source",
        )
        return el("div", self._arc_layer(), table, class_="sourceview scroll", tabindex=0, role="region",
                  aria_label=f"Source of {file_name(self._path)}")  # fmt: skip

    def _row(self, line: int) -> Markup:
        if line < 0:
            words = "1 line" if line == -1 else f"{-line} lines"
            cells = [el("td", class_="no"), el("td", class_="pct"), el("td", f"⋯ {words} with few or no samples")]
            return el("tr", *cells, class_="fold")
        heats = self._heat.get(line, [])
        share = sum(heat.share for heat in heats)
        reasons: dict[str, int] = {}
        for heat in heats:
            for each in heat.reasons:
                reasons[each.reason] = reasons.get(each.reason, 0) + each.samples
        most = sorted(reasons.items(), key=lambda item: -item[1])[:6]
        level = min(9, round(9 * share**0.5)) if share else 0
        parts: Line = self._code[line - 1] if line <= len(self._code) else ()
        code = el("code", *(el("span", text, class_=kind) if kind else text for kind, text in parts))
        percent = f"{100 * share:.1f} %" if share >= 0.0005 else ""
        cells = [
            el("td", str(line), class_="no"),
            el("td", percent, class_="pct", title=", ".join(f"{name} {count:,}" for name, count in most) or None),
            el("td", code, *self._chips(line)),
        ]
        anchor = f"{self._anchor}-L{line}"
        return el("tr", *cells, id=anchor, class_=f"h{level}" if level else None, data_line=str(line))

    def _chips(self, line: int) -> Iterator[Markup]:
        for evidence in self._findings.get(line, [])[:6]:
            yield el(
                "a", f"{evidence.id} {evidence.rule}", href=f"#{evidence.id}", title=evidence.text,
                class_=f"chip {evidence.level} {family(evidence.rule)}",
            )  # fmt: skip

    def _arc_layer(self) -> Markup | None:
        drawn = [arc for arc in self._arcs if arc.cause in self._row_of and arc.waiting in self._row_of]
        if not drawn:
            return None
        shapes = [
            self._arc(at, arc) for at, arc in enumerate(sorted(drawn, key=lambda each: abs(each.cause - each.waiting)))
        ]
        height = ROW * len(self._rows)
        return el(
            "svg", el("title", "Arcs from the line that causes a wait to the line that waits"), *shapes,
            class_="arcs", width=GUTTER, height=height, viewBox=f"0 0 {GUTTER} {height}", role="group",
        )  # fmt: skip

    def _arc(self, at: int, arc: Arc) -> Markup:
        top, bottom = (ROW * self._row_of[line] + ROW / 2 for line in (arc.cause, arc.waiting))
        bend = GUTTER - 16 - min(at, 8) * 7
        start = GUTTER - 6
        width = 1.2 + 4 * min(arc.weight, 0.5)
        if arc.cause == arc.waiting:
            path = f"M{start},{top - 5:.1f} C{bend},{top - 12:.1f} {bend},{top + 12:.1f} {start},{top + 5:.1f}"
        else:
            path = f"M{start},{top:.1f} C{bend},{top:.1f} {bend},{bottom:.1f} {start},{bottom:.1f}"
        tip = bottom + (5 if arc.cause == arc.waiting else 0)
        return el(
            "g",
            el("title", arc.words),
            el("path", d=path, stroke_width=width),
            el("circle", cx=start, cy=top - (5 if arc.cause == arc.waiting else 0), r=3),
            el("polygon", points=f"{start + 5},{tip:.1f} {start - 3},{tip - 4:.1f} {start - 3},{tip + 4:.1f}"),
            class_="arc", tabindex=0, role="img", aria_label=arc.words,
            data_cause=f"{self._anchor}-L{arc.cause}", data_waiting=f"{self._anchor}-L{arc.waiting}",
        )  # fmt: skip
