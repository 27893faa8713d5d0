"""A comparison of two profiles as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optimas_lsp.insight.changes import Change, Comparison, EvidenceChange, KernelComparison
from optimas_lsp.report.comparison import amount, ceiling_words, headline
from optimas_lsp.report.html.families import family
from optimas_lsp.report.html.markup import Markup, el, join
from optimas_lsp.report.html.page import document
from optimas_lsp.report.html.source_view import file_name

_MARKS = {"down": "▼", "up": "▲", "same": "=", "unknown": "?"}
_WORDS = {"down": "less than before", "up": "more than before", "same": "within the noise", "unknown": "not measured"}


def render_comparison(comparison: Comparison) -> str:
    """The page as HTML text."""
    names = [file_name(report.path) for report in (comparison.before, comparison.after)]
    parts: list[Markup] = [
        el("h2", "Before and after"),
        el("p", "before: ", el("code", comparison.before.path), el("br"), "after: ", el("code", comparison.after.path)),
    ]
    parts += [_kernel(at, kernel) for at, kernel in enumerate(comparison.kernels)]
    if comparison.notes:
        parts.append(el("ul", *(el("li", note) for note in comparison.notes), class_="notes"))
    return document(f"Optimas: {names[0]} and {names[1]}", parts)


def _kernel(at: int, kernel: KernelComparison) -> Markup:
    words = ceiling_words(kernel)
    verdicts = (
        el("p", f"{kernel.verdict_before}-bound before, {kernel.verdict_after}-bound after.")
        if kernel.verdict_before and kernel.verdict_after
        else None
    )
    consistency = kernel.consistency
    return el(
        "section",
        el("h3", kernel.name),
        el("p", headline(kernel), class_="answer"),
        el("p", words, class_="quiet") if words else None,
        verdicts,
        el("div", *panels(kernel), class_="panels"),
        el("h4", "What became of the findings") if kernel.evidence else None,
        findings(kernel.evidence) if kernel.evidence else None,
        el(
            "p",
            f"{consistency.consistent} of the {consistency.moved} findings that moved by more than the noise moved as "
            f"implied ({100 * consistency.share:.0f} %).",
        )
        if consistency.share is not None
        else None,
        id=f"k{at}",
        class_="kernel",
    )


def panels(kernel: KernelComparison) -> list[Markup]:
    """Stalls and counters before and after, each in a panel."""
    found = [_panel("Time per launch that each stall stands for", _stalls(kernel))]
    if kernel.counters:
        found.append(_panel("Counters per launch", _changes([(each.metric, each) for each in kernel.counters])))
    return found


def _panel(caption: str, content: Markup) -> Markup:
    return el("div", el("p", caption, class_="quiet"), content, class_="panel")


def _stalls(kernel: KernelComparison) -> Markup:
    longest = max(
        [value for row in kernel.stalls for value in (row.cost.before or 0.0, row.cost.after or 0.0)], default=0
    )
    rows = [
        el(
            "tr",
            el("th", row.reason, scope="row"),
            el("td", _pair(row.reason, row.cost, longest)),
            el("td", *_amounts(row.cost), class_="number"),
            el("td", _mark(row.cost)),
        )
        for row in kernel.stalls
        if longest and max(row.cost.before or 0.0, row.cost.after or 0.0) > 0.005 * longest
    ]
    return el("table", el("tbody", *rows), class_="bars")


def _amounts(change: Change) -> tuple[str, Markup, str]:
    return amount(change.before, change.unit), el("br"), amount(change.after, change.unit)


def _pair(reason: str, change: Change, longest: float) -> Markup:
    words = f"{reason}: {amount(change.before, change.unit)} before, {amount(change.after, change.unit)} after"
    shapes = [
        el("rect", class_=kind, x=0, y=y, width=100 * (value or 0.0) / longest, height=8)
        for kind, y, value in (
            ("fill other", 1, change.before),
            (f"fill {family(reason)}", 11, change.after),
        )
    ]
    box = {"viewBox": "0 0 100 20", "preserveAspectRatio": "none", "class_": "meter tall"}
    return el("svg", *shapes, **box, role="img", aria_label=words)


def _changes(changes: Sequence[tuple[str, Change]]) -> Markup:
    rows = [
        el(
            "tr",
            el("th", name, scope="row"),
            el("td", amount(change.before, change.unit), class_="number"),
            el("td", amount(change.after, change.unit), class_="number"),
            el("td", _mark(change)),
        )
        for name, change in changes
    ]
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in ("", "before", "after", ""))))
    return el("table", head, el("tbody", *rows), class_="bars")


def _mark(change: Change) -> Markup:
    words = f"{_WORDS[change.moved]} (noise ± {amount(change.noise, change.unit)})"
    return el("span", _MARKS[change.moved], title=words, role="img", aria_label=words, class_=f"moved {change.moved}")


def findings(evidence: Sequence[EvidenceChange]) -> Markup:
    """What became of each finding, a row an expectation."""
    heads = ("finding", "where", "before", "after", "", "")
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
    table = el("table", head, el("tbody", *(row for each in evidence for row in _finding(each))), class_="wide")
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Findings before and after")


def _finding(each: EvidenceChange) -> Iterator[Markup]:
    said = {True: "as implied", False: "the other way", None: "within noise"}[each.consistent]
    said = said if each.change.moved != "unknown" else "not measured in both"
    over = {"line": "", "block": " over the lines that replaced it", "kernel": " over the kernel"}[each.where]
    yield el(
        "tr",
        el("td", join([el("span", each.id, class_=f"chip {family(each.rule)}"), " ", el("code", each.change.metric)])),
        el("td", f"{each.place or ''}{over}"),
        el("td", amount(each.change.before, each.change.unit), class_="number"),
        el("td", amount(each.change.after, each.change.unit), class_="number"),
        el("td", _mark(each.change)),
        el("td", said),
    )
