"""A table as data: named columns with a kind each, so that text, CSV, LaTeX and HTML say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "count", "percent", "factor", "seconds", "p", "usd", "share"]
"""``percent``: of a share (0.5 is shown as 50 %). ``share``: an EAR score, likewise. ``factor``: 1.5 ×."""

Value = str | float | None

UNKNOWN = ""


@dataclass(frozen=True)
class Column:
    """``name`` is the heading, and the column's name in CSV."""

    name: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Chart:
    """Bars of a table: which columns label, measure and bound them."""

    label: tuple[str, ...]
    value: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Table:
    """``name`` is short, for files; ``notes`` say what is counted and what is not."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    chart: Chart | None = None

    def column(self, name: str) -> tuple[Value, ...]:
        """The values of one column."""
        at = [column.name for column in self.columns].index(name)
        return tuple(row[at] for row in self.rows)


def shown(value: Value, kind: Kind) -> str:
    """A value as people read it; what is not known is an empty cell."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    if kind == "count":
        return f"{value:,.0f}"
    if kind in {"percent", "share"}:
        return f"{100 * value:z.1f} %"  # no "-0.0 %"
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    formats = {"factor": f"{value:.3f}×", "seconds": f"{value:.2f} s", "usd": f"USD {value:.4f}"}
    return formats.get(kind, str(value))
