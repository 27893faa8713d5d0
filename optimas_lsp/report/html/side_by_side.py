"""A change as two columns: what was on the left, what stands there now on the right, evidence ids in the margin.

In a narrow window one column takes their place, with what was taken out above what was put in. Rows come from a unified
diff, so that a change can be shown whose files are not at hand. What was taken out or put in is marked by a sign and by
hidden words, not by colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from optimas_lsp.report.html.highlight import Line, highlight
from optimas_lsp.report.html.markup import Markup, el

MOST_ROWS = 3000
"""Rows of one change at most; what is beyond them is said to be left out."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")

Kind = Literal["same", "out", "in"]

WORDS = {"out": "taken out", "in": "put in"}
SIGNS = {"same": "", "out": "−", "in": "+"}


@dataclass(frozen=True)
class Side:
    """One line of one version: its number (1-based), its text, and whether it is in both."""

    number: int
    text: str
    kind: Kind


Row = tuple[Side | None, Side | None]


@dataclass(frozen=True)
class Gap:
    """Lines that are not shown: ``first`` is the next one that is, in the old text."""

    first: int


def rows_of(diff: str) -> list[Row | Gap]:
    """The rows of a unified diff of one file; lines that are none of a diff's are left out."""
    rows: list[Row | Gap] = []
    out: list[Side] = []
    new: list[Side] = []
    old_at = new_at = 0

    def flush() -> None:
        rows.extend(zip_longest(out, new))
        out.clear()
        new.clear()

    for line in diff.split("\n"):
        hunk = _HUNK.match(line)
        if hunk is not None:
            flush()
            old_at, new_at = int(hunk.group(1)), int(hunk.group(2))
            rows.append(Gap(old_at))
        elif not old_at and not new_at:
            continue
        elif line.startswith("-"):
            out.append(Side(old_at, line[1:], "out"))
            old_at += 1
        elif line.startswith("+"):
            new.append(Side(new_at, line[1:], "in"))
            new_at += 1
        elif line.startswith(" "):
            flush()
            rows.append((Side(old_at, line[1:], "same"), Side(new_at, line[1:], "same")))
            old_at, new_at = old_at + 1, new_at + 1
    flush()
    return rows


def side_by_side(diff: str, path: str, marks: Mapping[int, Sequence[str]]) -> Markup:
    """The change of the file ``path``; ``marks`` are evidence ids by line of the old text."""
    rows = rows_of(diff)
    left = _coloured([row[0] for row in rows if not isinstance(row, Gap)], path)
    right = _coloured([row[1] for row in rows if not isinstance(row, Gap)], path)
    heads = ("evidence", "line", "", "before", "line", "", "after")
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
    body = [_row(row, left, right, marks) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        body.append(el("tr", el("td", f"{len(rows) - MOST_ROWS:,} rows more are not shown", colspan=7), class_="fold"))
    caption = el("caption", "Before on the left, after on the right; − is taken out, + is put in")
    columns = el("colgroup", *(el("col", class_=name) for name in ("ids", "no", "sign", "code", "no", "sign", "code")))
    table = el("table", caption, columns, head, el("tbody", *body), class_="source sides")
    one = _one_column(rows[:MOST_ROWS], left, right, marks)
    return el("div", table, one, class_="sourceview scroll", tabindex=0, role="region", aria_label="The change")


def shown_lines(diff: str) -> set[int]:
    """Lines of the old text that the view shows."""
    return {row[0].number for row in rows_of(diff) if not isinstance(row, Gap) and row[0] is not None}


def _coloured(sides: Sequence[Side | None], path: str) -> dict[int, Line]:
    """Syntax colours by line number, of all lines shown of one version."""
    present = [side for side in sides if side is not None]
    lines = highlight("\n".join(side.text for side in present), path)
    return {side.number: line for side, line in zip(present, lines, strict=False)}


def _one_column(
    rows: Sequence[Row | Gap], left: dict[int, Line], right: dict[int, Line], marks: Mapping[int, Sequence[str]]
) -> Markup:
    """The rows below each other, what was taken out before what took its place; ids stand behind their line."""
    body: list[Markup] = []
    waiting: list[Markup] = []
    for row in rows:
        if isinstance(row, Gap) or (row[0] is not None and row[0].kind == "same"):
            body += waiting
            waiting.clear()
        if isinstance(row, Gap):
            body.append(el("tr", el("td", _skipped(row), colspan=4), class_="fold"))
            continue
        old, new = row
        if old is not None:
            same = new if old.kind == "same" else None
            body.append(_line(old, same, left, marks.get(old.number, ())))
        if new is not None and new.kind == "in":
            waiting.append(_line(None, new, right, ()))
    caption = el("caption", "− is taken out, + is put in")
    columns = el("colgroup", *(el("col", class_=name) for name in ("no", "no", "sign", "code")))
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in ("old", "new", "", "line"))))
    return el("table", caption, columns, head, el("tbody", *body, *waiting), class_="source sides onecolumn")


def _line(old: Side | None, new: Side | None, coloured: dict[int, Line], ids: Sequence[str]) -> Markup:
    """One row of one column; ``old`` and ``new`` are one line if both are given."""
    _, sign, code = _side(old or new, coloured, _chips(ids))
    numbers = (el("td", str(each.number) if each is not None else None, class_="no") for each in (old, new))
    return el("tr", *numbers, sign, code)


def _chips(ids: Sequence[str]) -> list[Markup | str]:
    chips: list[Markup | str] = [el("a", name, href=f"#{name}", class_="chip") for name in ids[:4]]
    return [*chips, f" +{len(ids) - 4}"] if len(ids) > 4 else chips


def _skipped(gap: Gap) -> str:
    return f"⋯ from line {gap.first}" if gap.first > 1 else "from the first line"


def _row(row: Row | Gap, left: dict[int, Line], right: dict[int, Line], marks: Mapping[int, Sequence[str]]) -> Markup:
    if isinstance(row, Gap):
        return el("tr", el("td", _skipped(row), colspan=7), class_="fold")
    old, new = row
    ids = marks.get(old.number, ()) if old is not None else ()
    cells = [el("td", *_chips(ids), class_="ids"), *_side(old, left), *_side(new, right)]
    return el("tr", *cells)


def _side(side: Side | None, coloured: dict[int, Line], behind: Sequence[Markup | str] = ()) -> Iterator[Markup]:
    if side is None:
        yield from (el("td", class_="no"), el("td", class_="sign"), el("td", class_="none"))
        return
    parts = coloured.get(side.number, (("", side.text),))
    code = el("code", *(el("span", text, class_=kind) if kind else text for kind, text in parts))
    kind = None if side.kind == "same" else side.kind
    words = el("span", f"{WORDS[side.kind]}: ", class_="hidden") if side.kind != "same" else None
    yield el("td", str(side.number), class_="no")
    yield el(
        "td", el("span", SIGNS[side.kind], aria_hidden="true") if kind else None, class_=f"sign {kind or ''}".strip()
    )
    yield el("td", words, code, *behind, class_=kind)
