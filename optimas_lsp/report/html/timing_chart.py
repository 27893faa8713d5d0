"""Every timed run of both versions on one axis, as inline SVG, with the same figures as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optimas_lsp.insight.sentences import duration
from optimas_lsp.report.html.markup import Markup, el, join
from optimas_lsp.score.effect import Ratio

WIDTH, HEIGHT = 760, 128
LEFT, RIGHT = 96, 20
LANES = (34, 74)
AXIS = 98
TICKS = 5


def chart(before: Sequence[float], after: Sequence[float], ratio: Ratio, what: str) -> Markup | None:
    """Dots for the runs (nanoseconds), a bar at each median; None without runs on both sides."""
    every = [each for each in (*before, *after) if math.isfinite(each) and each > 0]
    if not before or not after or len(every) != len(before) + len(after):
        return None
    low, high = min(every), max(every)
    room = 0.06 * (high - low) or 0.02 * high
    start, end = max(0.0, low - room), high + room
    step = _step((end - start) / TICKS)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - start) / (end - start)

    shapes: list[Markup] = []
    tick = math.ceil(start / step) * step
    while tick <= end:
        shapes += [
            el("line", class_="grid", x1=x(tick), x2=x(tick), y1=14, y2=AXIS),
            el("text", duration(tick), class_="tick", x=x(tick), y=AXIS + 16, text_anchor="middle"),
        ]
        tick += step
    for name, lane, values, median, kind in (
        ("before", LANES[0], before, ratio.baseline, "before"),
        ("after", LANES[1], after, ratio.candidate, "after"),
    ):
        shapes.append(el("text", name, x=LEFT - 12, y=lane + 4, text_anchor="end"))
        shapes.append(el("line", class_=f"median {kind}", x1=x(median), x2=x(median), y1=lane - 14, y2=lane + 14))
        shapes += [_dot(kind, x(value), lane + _jitter(at), f"{name}, run {at + 1}: {_exact(value)}")
                   for at, value in enumerate(values)]  # fmt: skip
    words = (
        f"{what}: {len(before)} runs before with a median of {duration(ratio.baseline)}, {len(after)} after with "
        f"{duration(ratio.candidate)}"
    )
    box = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "class_": "strip", "role": "img", "aria_label": words}
    return join([el("div", el("svg", *shapes, **box), class_="scroll chart runs"), _table(before, after)])


def _dot(kind: str, x: float, y: float, words: str) -> Markup:
    """A circle before, a diamond after: told apart without colour."""
    title = el("title", words)
    if kind == "before":
        return el("circle", title, class_="run before", cx=x, cy=y, r=4)
    points = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
    return el("polygon", title, class_="run after", points=points)


def _jitter(at: int) -> float:
    """Runs of one length must not hide each other."""
    return (at * 7 % 5 - 2) * 4.0


def _step(wanted: float) -> float:
    """A round distance between ticks."""
    base = 10.0 ** math.floor(math.log10(wanted)) if wanted > 0 else 1.0
    return next(base * factor for factor in (1, 2, 5, 10) if base * factor >= wanted)


def _table(before: Sequence[float], after: Sequence[float]) -> Markup:
    rows = [
        el(
            "tr",
            el("th", str(at + 1), scope="row"),
            *(el("td", _exact(side[at]) if at < len(side) else "", class_="number") for side in (before, after)),
        )
        for at in range(max(len(before), len(after)))
    ]
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in ("run", "before", "after"))))
    table = el("table", head, el("tbody", *rows), class_="bars")
    note = el("p", "Runs were made in turns; the axis does not begin at zero.", class_="quiet")
    return join([note, el("details", el("summary", "Every run as a number"), table)])


def _exact(value: float) -> str:
    return f"{value / 1e3:,.1f} µs"
