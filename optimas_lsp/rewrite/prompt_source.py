"""The source in a prompt: numbered lines, each with its share of the samples and the evidence that concerns it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from optimas_lsp.rewrite.prompt_data import phrase, visible
from optimas_lsp.rewrite.prompt_files import Unit
from optimas_lsp.rewrite.prompt_reach import Passage, Reach, ranges

LEAST_SHARE = 0.005
"""Of the kernel's samples; a line with less has no figure."""

MOST_IDS = 3
"""Evidence named at one line, most valuable first; the rest is counted."""

Marked = dict[tuple[str, int], list[str]]
"""Evidence ids by real path and line."""


@dataclass(frozen=True, slots=True)
class Gutter:
    """What stands before a line: evidence ids and shares of the samples (0 to 1), by real path and line."""

    marked: Marked
    heat: dict[tuple[str, int], float]

    @property
    def width(self) -> int:
        """Columns for evidence ids."""
        return max([len(_ids(names)) for names in self.marked.values()], default=0)


def listing(reach: Reach, passages: Sequence[Passage], gutter: Gutter) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of every file shown, the kernel's own first."""
    for unit, spans in ranges(passages):
        names = [each.shown_name for each in reach.changeable] if unit is reach.source else []
        rights = f"may be changed: {', '.join(map(phrase, names))}" if names else "for reading only"
        digits = len(str(spans[-1][1]))
        lines: list[str] = []
        for at, (first, last) in enumerate(spans):
            if at:
                lines.append(_gap(digits, spans[at - 1][1] + 1, first - 1))
            lines += [_numbered(unit, line, digits, gutter) for line in range(first, last + 1)]
        yield f"source {phrase(unit.name)} ({rights})", lines


def _numbered(unit: Unit, line: int, digits: int, gutter: Gutter) -> str:
    place = os.path.realpath(unit.path), line
    share = gutter.heat.get(place, 0.0)
    shown = f"{100 * share:5.1f}%" if share >= LEAST_SHARE else ""
    before = f"{line:>{digits}} " + (f"{shown:>6} " if gutter.heat else "")
    if gutter.width:
        before += f"{_ids(gutter.marked.get(place, ())):<{gutter.width}} "
    return f"{before}| {visible(unit.syntax.text.line(line))}".rstrip()


def _gap(digits: int, first: int, last: int) -> str:
    where = f"lines {first} to {last} are" if last > first else f"line {first} is"
    return f"{'':>{digits}}  ({where} not shown)"


def _ids(names: Sequence[str]) -> str:
    more = f" +{len(names) - MOST_IDS}" if len(names) > MOST_IDS else ""
    return " ".join(names[:MOST_IDS]) + more


def marks_of(found: Iterable[tuple[str, Iterable[tuple[str, int]]]]) -> Marked:
    """Evidence ids by place, from each id and its places."""
    marked: Marked = {}
    for name, places in found:
        for place in dict.fromkeys(places):
            marked.setdefault(place, []).append(name)
    return marked
