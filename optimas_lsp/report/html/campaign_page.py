"""A campaign's tables and figures as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from optimas_lsp.campaign.table import Chart, Column, Table, Value, shown
from optimas_lsp.report.html.markup import Markup, el
from optimas_lsp.report.html.page import document

MOST_BARS = 60
"""Rows that a figure shows; its table has all."""


def render_campaign(tables: Sequence[Table], name: str) -> str:
    """The page as HTML text."""
    links = [el("li", el("a", table.title, href=f"#{table.name}")) for table in tables]
    head = [el("h2", f"Campaign {name}"), el("p", _answer(tables), class_="answer"), el("ul", *links, class_="notes")]
    return document(f"Optimas: campaign {name}", [*head, *map(_section, tables)])


def _answer(tables: Sequence[Table]) -> str:
    """The first sentence: how many experiments, how many known, how many improved."""
    overview = next(table for table in tables if table.name == "overview")
    total, known, improved = (_sum(overview.column(name)) for name in ("experiments", "known", "improved"))
    sure = f"of {known:,} with a known outcome {improved:,} made their kernel faster, proven right"
    if total > known:
        sure += f"; the outcome of the other {total - known:,} is not known (the first table says why)"
    recorded = _sum(overview.column("by a record"))
    served = f" {recorded:,} of the known outcomes are from recorded proofs, not measured here." if recorded else ""
    return f"{total:,} experiments; {sure}.{served}"


def _sum(values: Sequence[Value]) -> int:
    return sum(int(value) for value in values if isinstance(value, (int, float)))


def _section(table: Table) -> Markup:
    return el(
        "section",
        el("h3", table.title),
        _figure(table, table.chart) if table.chart is not None and table.rows else None,
        _table(table),
        el("ul", *(el("li", note) for note in table.notes), class_="notes quiet"),
        id=table.name,
        class_="kernel",
    )


def _table(table: Table) -> Markup:
    head = el("thead", el("tr", *(el("th", column.name, scope="col") for column in table.columns)))
    body = [
        el("tr", *(_cell(value, column, at) for at, (value, column) in enumerate(zip(row, table.columns, strict=True))))
        for row in table.rows
    ]
    whole = el("table", head, el("tbody", *body), class_="wide sortable")
    return el("div", whole, class_="scroll", tabindex=0, role="region", aria_label=table.title)


def _cell(value: Value, column: Column, at: int) -> Markup:
    text = shown(value, column.kind)
    if at == 0:
        return el("th", text, scope="row")
    return el("td", text, class_=None if column.kind == "text" else "number")


def _figure(table: Table, chart: Chart) -> Markup | None:
    """Bars with their intervals, one a row that has a value."""
    names = [column.name for column in table.columns]
    at = {name: names.index(name) for name in (*chart.label, chart.value, chart.low, chart.high) if name}
    kind = table.columns[at[chart.value]].kind
    rows = [row for row in table.rows if isinstance(row[at[chart.value]], (int, float))][:MOST_BARS]
    if not rows:
        return None

    def number(row: Sequence[Value], name: str) -> float | None:
        value = row[at[name]] if name else None
        return float(value) if isinstance(value, (int, float)) else None

    ends = [number(row, name) for row in rows for name in (chart.value, chart.low, chart.high)]
    least, most = min(0.0, *(each for each in ends if each is not None)), max(each for each in ends if each is not None)
    width = (most - least) or 1.0
    bars = [
        el(
            "tr",
            el("th", " · ".join(str(row[at[name]]) for name in chart.label), scope="row"),
            el("td", _bar(number(row, chart.value), number(row, chart.low), number(row, chart.high), least, width)),
            el("td", shown(row[at[chart.value]], kind), class_="number"),
        )
        for row in rows
    ]
    words = chart.value + (", the line is its 95 % interval" if chart.low else "")
    return el("div", el("p", words, class_="quiet"), el("table", el("tbody", *bars), class_="bars"), class_="panel")


def _bar(value: float | None, low: float | None, high: float | None, least: float, width: float) -> Markup:
    def place(number: float) -> float:
        return 100 * (number - least) / width

    shapes: list[Markup] = []
    if value is not None:
        start, end = sorted((place(0.0), place(value)))
        shapes.append(el("rect", class_="fill memory", x=start, y=3, width=end - start, height=10))
    if low is not None and high is not None:
        shapes.append(el("line", x1=place(low), x2=place(high), y1=8, y2=8, stroke="currentColor", stroke_width=2))
    # the row says the number in words, so the drawing itself is decoration
    return el("svg", *shapes, viewBox="0 0 100 16", preserveAspectRatio="none", class_="meter", aria_hidden="true")
