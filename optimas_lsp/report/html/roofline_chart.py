"""The roofline on log axes as SVG: a slanted roof a memory level, a flat one a precision, a mark a kernel and level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optimas_lsp.insight.evidence import KernelAnalysis, Roofline
from optimas_lsp.insight.roofline import LEVEL_NAMES
from optimas_lsp.report.html.markup import Markup, el, join

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 18, 52
PRECISION_NAMES = {"fp64": "FP64", "fp32": "FP32", "fp16": "FP16", "tensor": "tensor"}
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(value: float, unit: str) -> str:
    """A rate with the prefix that fits, e.g. ``4.81 TB/s``."""
    for size, prefix in _PREFIXES:
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


@dataclass(frozen=True)
class _Point:
    kernel: int
    name: str
    level: str
    intensity: float
    rate: float
    words: str


@dataclass(frozen=True)
class _Axes:
    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, intensity: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(intensity) - self.x_low) / (self.x_high - self.x_low)

    def y(self, rate: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.y_high - math.log10(rate)) / (self.y_high - self.y_low)


def chart(kernels: Sequence[tuple[str, KernelAnalysis]], name: str) -> Markup | None:
    """The chart called ``name`` of all kernels (anchor, kernel) with floating-point work, or None if there is none."""
    points = [point for at, (_, kernel) in enumerate(kernels) for point in _points(at, kernel)]
    roofs = _roofs([kernel.roofline for _, kernel in kernels if kernel.roofline is not None])
    if not points or not roofs[0]:
        return None
    bandwidths, peaks = roofs
    axes = _axes(points, bandwidths, peaks)
    return el(
        "svg",
        el("title", "Roofline: floating-point rate over arithmetic intensity, both axes logarithmic"),
        *_grid(axes),
        *_roof_lines(axes, bandwidths, peaks),
        *_marks(axes, points, [anchor for anchor, _ in kernels]),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        class_="roofline",
        id=name,
        aria_label="Roofline chart",
    )


def _points(at: int, kernel: KernelAnalysis) -> Iterator[_Point]:
    roof = kernel.roofline
    if roof is None or roof.precision == "none":
        return
    work = roof.precisions.get(roof.precision)
    if work is None or work.flop_per_s <= 0:
        return
    for level, traffic in roof.levels.items():
        if traffic.intensity is not None and traffic.intensity > 0 and traffic.bytes_per_s is not None:
            words = (
                f"{kernel.base_name} at {LEVEL_NAMES[level]}: {scaled(work.flop_per_s, 'FLOP/s')} "
                f"{PRECISION_NAMES[roof.precision]}, {traffic.intensity:.3g} FLOP/byte, "
                f"{scaled(traffic.bytes_per_s, 'B/s')}"
                + (f" ({traffic.achieved_pct:.0f} % of its peak)" if traffic.achieved_pct is not None else "")
            )
            yield _Point(at, kernel.base_name, level, traffic.intensity, work.flop_per_s, words)


def _roofs(roofs: Sequence[Roofline]) -> tuple[dict[str, float], dict[str, float]]:
    """Bandwidth a level and peak a precision: of the first kernel that has each (clocks differ by a percent)."""
    bandwidths: dict[str, float] = {}
    peaks: dict[str, float] = {}
    for roof in roofs:
        for level, traffic in roof.levels.items():
            if traffic.peak_bytes_per_s:
                bandwidths.setdefault(level, traffic.peak_bytes_per_s)
        for precision, work in roof.precisions.items():
            if work.peak_flop_per_s:
                peaks.setdefault(precision, work.peak_flop_per_s)
    return bandwidths, peaks


def _axes(points: Sequence[_Point], bandwidths: dict[str, float], peaks: dict[str, float]) -> _Axes:
    top = max([*peaks.values(), *(point.rate for point in points)])
    ridges = [top / bandwidth for bandwidth in bandwidths.values()]
    xs = [point.intensity for point in points] + ridges
    ys = [point.rate for point in points] + [top]
    return _Axes(
        math.floor(math.log10(min(xs)) - 0.3),
        math.ceil(math.log10(max(xs)) + 0.3),
        math.floor(math.log10(min(ys)) - 0.5),
        math.ceil(math.log10(max(ys)) + 0.1),
    )


def _grid(axes: _Axes) -> Iterator[Markup]:
    for power in range(round(axes.x_low), round(axes.x_high) + 1):
        x = axes.x(10.0**power)
        yield el("line", class_="grid", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM)
        yield el("text", _power(power), class_="tick", x=x, y=HEIGHT - BOTTOM + 18, text_anchor="middle")
    for power in range(round(axes.y_low), round(axes.y_high) + 1):
        y = axes.y(10.0**power)
        yield el("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y)
        yield el("text", scaled(10.0**power, ""), class_="tick", x=LEFT - 8, y=y + 4, text_anchor="end")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield el("text", "arithmetic intensity (FLOP/byte)", class_="axis", x=middle, y=HEIGHT - 8, text_anchor="middle")
    yield el(
        "text", "FLOP/s", class_="axis", x=14, y=(TOP + HEIGHT - BOTTOM) / 2, text_anchor="middle",
        transform=f"rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2:.0f})",
    )  # fmt: skip


def _power(power: int) -> str:
    return f"{10.0**power:g}"


def _roof_lines(axes: _Axes, bandwidths: dict[str, float], peaks: dict[str, float]) -> Iterator[Markup]:
    top = max(peaks.values(), default=10.0**axes.y_high)
    for level, bandwidth in bandwidths.items():
        # From where the roof enters the plot, at its left or lower edge, to its ridge.
        start = max(10.0**axes.x_low, 10.0**axes.y_low / bandwidth)
        end = min(top / bandwidth, 10.0**axes.x_high)
        if start >= end:
            continue
        x1, y1, x2, y2 = axes.x(start), axes.y(bandwidth * start), axes.x(end), axes.y(bandwidth * end)
        title = el("title", f"{LEVEL_NAMES[level]} roof: {scaled(bandwidth, 'B/s')}")
        yield el("line", title, class_=f"roof {level}", x1=x1, y1=y1, x2=x2, y2=y2)
        at = 10 ** (0.72 * math.log10(end) + 0.28 * math.log10(start))
        slope = math.degrees(math.atan2(y2 - y1, x2 - x1))
        x, y = axes.x(at), axes.y(bandwidth * at) - 6
        yield el(
            "text", f"{LEVEL_NAMES[level]} {scaled(bandwidth, 'B/s')}", class_=f"rooflabel {level}", x=x, y=y,
            text_anchor="middle", transform=f"rotate({slope:.1f} {x:.1f} {y:.1f})",
        )  # fmt: skip
    fastest = max(bandwidths.values())
    for precision, peak in peaks.items():
        y = axes.y(peak)
        start = max(axes.x(max(peak / fastest, 10.0**axes.x_low)), LEFT)
        yield el("line", class_="roof flat", x1=start, x2=WIDTH - RIGHT, y1=y, y2=y)
        words = f"{PRECISION_NAMES[precision]} {scaled(peak, 'FLOP/s')}"
        yield el("text", words, class_="rooflabel flat", x=WIDTH - RIGHT + 6, y=y + 4)


def _marks(axes: _Axes, points: Sequence[_Point], anchors: Sequence[str]) -> Iterator[Markup]:
    by_kernel: dict[int, list[_Point]] = {}
    for point in points:
        by_kernel.setdefault(point.kernel, []).append(point)
    for at, own in by_kernel.items():
        xs = sorted(axes.x(point.intensity) for point in own)
        y = axes.y(own[0].rate)
        shapes = [el("line", class_="span", x1=xs[0], x2=xs[-1], y1=y, y2=y)]
        shapes += [_shape(point, axes.x(point.intensity), y) for point in own]
        label = el("text", own[0].name[:24], class_="pointlabel", x=xs[-1] + 9, y=y + 4)
        yield el(
            "a", join([*shapes, label]), href=f"#{anchors[at]}", class_=f"kernelpoint k{at % 6}",
            aria_label="; ".join(point.words for point in own),
        )  # fmt: skip


def _shape(point: _Point, x: float, y: float) -> Markup:
    title = el("title", point.words)
    shared = {"class_": f"point {point.level}", "data_words": point.words}
    if point.level == "dram":
        return el("circle", title, cx=x, cy=y, r=6, **shared)
    if point.level == "l2":
        return el("rect", title, x=x - 5.5, y=y - 5.5, width=11, height=11, **shared)
    corners = ((0.0, -7.0), (6.5, 5.0), (-6.5, 5.0))
    return el("polygon", title, points=" ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners), **shared)
