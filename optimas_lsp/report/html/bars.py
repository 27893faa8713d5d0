"""Bars: how much of each peak a kernel uses, what its warps wait for, which counters explain its time."""

from __future__ import annotations

from collections.abc import Sequence

from optimas_lsp.insight.counters import UNITS
from optimas_lsp.insight.evidence import CounterImportance, KernelAnalysis, Roofline
from optimas_lsp.insight.knowledge import rules
from optimas_lsp.insight.roofline import BOUND_PCT, LEVEL_NAMES
from optimas_lsp.insight.stalls import is_stall, reason
from optimas_lsp.report.html.families import FAMILIES, family
from optimas_lsp.report.html.markup import Markup, el, join
from optimas_lsp.report.html.roofline_chart import PRECISION_NAMES, scaled


def utilisation(roof: Roofline) -> Markup:
    """Achieved share of each peak, with the line from which on a kernel is bound by it."""
    rows: list[tuple[str, float, str]] = []
    for level, traffic in roof.levels.items():
        if traffic.achieved_pct is not None:
            rate = f", {scaled(traffic.bytes_per_s, 'B/s')}" if traffic.bytes_per_s is not None else ""
            rows.append((f"{LEVEL_NAMES[level]} bytes", traffic.achieved_pct, f"{traffic.achieved_pct:.1f} %{rate}"))
    for precision, work in roof.precisions.items():
        if work.achieved_pct is not None:
            words = f"{work.achieved_pct:.1f} %, {scaled(work.flop_per_s, 'FLOP/s')}"
            rows.append((PRECISION_NAMES[precision], work.achieved_pct, words))
    ceiling = roof.ceiling
    if ceiling is not None and "issue" in ceiling.each_ns and roof.time_ns:
        share = 100 * ceiling.each_ns["issue"] / roof.time_ns
        rows.append(("instruction issue", share, f"{share:.1f} %"))
    for words, value in (("memory system", roof.memory_pct), ("compute system", roof.compute_pct)):
        if value is not None:
            rows.append((words, value, f"{value:.1f} %, busiest part"))
    body = [
        el(
            "tr",
            el("th", name, scope="row"),
            el("td", _meter(value, f"{name}: {words}", mark=BOUND_PCT)),
            el("td", words, class_="number"),
        )
        for name, value, words in rows
    ]
    caption = el("caption", f"Share of each peak; from {BOUND_PCT:.0f} % on a kernel is bound by it")
    return el("table", caption, el("tbody", *body), class_="bars")


def _meter(percent: float, words: str, *, mark: float | None = None, kind: str = "") -> Markup:
    width = min(max(percent, 0.0), 100.0)
    shapes = [
        el("rect", class_="track", x=0, y=3, width=100, height=10),
        el("rect", class_=f"fill {kind}".strip(), x=0, y=3, width=width, height=10),
    ]
    if mark is not None:
        shapes.append(el("line", class_="mark", x1=mark, x2=mark, y1=0, y2=16))
    return _strip(words, shapes)


def _strip(words: str, shapes: Sequence[Markup]) -> Markup:
    """A chart one row high whose width follows the table's column; ``words`` say the same without eyes."""
    box = {"viewBox": "0 0 100 16", "preserveAspectRatio": "none", "class_": "meter"}
    return el("svg", *shapes, **box, role="img", aria_label=words)


def interval(value: float, low: float, high: float, words: str) -> Markup:
    """A share with its interval (0 to 1) as a dot on a whisker."""
    marks = [
        el("rect", class_="track", x=0, y=7, width=100, height=2),
        el("line", class_="whisker", x1=100 * low, x2=100 * high, y1=8, y2=8),
        el("rect", class_="dot", x=min(max(100 * value - 1, 0), 98), y=2, width=2, height=12),
    ]
    return _strip(words, marks)


def stalls(kernel: KernelAnalysis, counts: Sequence[tuple[str, int]]) -> Markup | None:
    """Stall reasons of a kernel by samples, most first; ``counts`` holds every reason with its samples."""
    total = kernel.samples.total
    listed = [(name, count) for name, count in counts if count > 0 and is_stall(name)]
    if not total or not listed:
        return None
    most = max(count for _, count in listed)
    rows: list[Markup] = []
    for name, count in listed:
        row, rule = reason(name), rules().get(name)
        share = 100 * count / total
        means = f"Warps wait for {row.waits_for}. {rule.means if rule else row.meaning}"
        rows.append(
            el(
                "tr",
                el("th", el("details", el("summary", name), el("p", means, class_="means")), scope="row"),
                el("td", _meter(100 * count / most, f"{name}: {share:.1f} % of samples", kind=family(name))),
                el("td", f"{share:.1f} %", class_="number"),
            )
        )
    caption = el("caption", f"What warps wait for, of {total:,} samples")
    used = {family(name) for name, _ in listed}
    return join([el("table", caption, el("tbody", *rows), class_="bars"), _legend(used)])


def _legend(used: set[str]) -> Markup:
    named = [(key, words) for key, (words, _) in FAMILIES.items() if key in used]
    return el("ul", *(el("li", el("span", class_=f"swatch {key}"), words) for key, words in named), class_="legend")


def counters(importance: CounterImportance) -> Markup:
    """Scores of the counters that explain the run time, with their intervals; or why there is no ranking."""
    if not importance.counters:
        return el("p", f"No counter ranking: {importance.why_not or 'nothing was counted'}.", class_="quiet")
    rows: list[Markup] = []
    for scored in importance.counters:
        words = (
            f"{100 * scored.score:.0f} % ({100 * scored.low:.0f} to {100 * scored.high:.0f} %), "
            f"chosen by {100 * scored.selected:.0f} %"
        )
        where = UNITS.get(scored.group, scored.group)
        lines = [el("p", scored.description or "The profiler gives no description.", class_="means")]
        if scored.together:
            lines.append(el("p", f"Rises and falls with: {', '.join(scored.together)}.", class_="means"))
        name = el("details", el("summary", scored.name), *lines)
        cells = [
            el("th", name, el("span", where, class_="unit"), scope="row"),
            el("td", interval(scored.score, scored.low, scored.high, f"{scored.name}: {words}")),
            el("td", words, class_="number"),
        ]
        rows.append(el("tr", *cells))
    told = f"Share of the run time each counter explains alone, over {importance.observations} launches"
    if importance.explained is not None:
        told += f"; together they explain {100 * importance.explained:.0f} % of its variation"
    return el("table", el("caption", told), el("tbody", *rows), class_="bars")
