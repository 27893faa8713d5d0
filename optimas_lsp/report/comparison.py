"""A comparison of two profiles as a listing for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from optimas_lsp.insight.changes import Change, Comparison, KernelComparison
from optimas_lsp.insight.sentences import duration
from optimas_lsp.report.text import paragraph, plain

MOST_STALLS = 8
SMALLEST_COST = 0.01
"""A stall reason is listed from this share of the longer launch time on."""

_ARROWS = {"down": "▼", "up": "▲", "same": "=", "unknown": "?"}
_ASCII = {"down": "v", "up": "^", "same": "=", "unknown": "?"}


def render_comparison(comparison: Comparison, target: Console) -> None:
    """Print ``comparison``: time first, then what the time went to, then what became of each finding."""
    names = [plain(report.path) for report in (comparison.before, comparison.after)]
    paragraph(target, Text.assemble(("before ", "dim"), names[0]))
    paragraph(target, Text.assemble(("after  ", "dim"), names[1]))
    for kernel in comparison.kernels:
        target.print()
        _kernel(kernel, target)
    for note in comparison.notes:
        paragraph(target, Text.assemble(("note ", "bold"), plain(note)))


def headline(kernel: KernelComparison) -> str:
    """The answer in one sentence: how much faster or slower, or that the difference is noise."""
    time = kernel.time
    if time.before is None or time.after is None or kernel.speedup is None:
        return "no durations on both sides, so no speed-up"
    if time.moved == "same":
        return f"as fast as before: {duration(time.before)} and {duration(time.after)} differ by noise only"
    factor = kernel.speedup if kernel.speedup >= 1 else 1 / kernel.speedup
    word = "faster" if kernel.speedup >= 1 else "slower"
    other = "" if kernel.same_work else " (the launches are of other sizes, so this is other work)"
    return f"{factor:.2f}x {word}: {duration(time.before)} before, {duration(time.after)} after, per launch{other}"


def ceiling_words(kernel: KernelComparison) -> str | None:
    """How the gain relates to what the ceiling before allowed; None without a ceiling or a gain."""
    ceiling = kernel.ceiling_before
    if ceiling is None or kernel.speedup is None or kernel.time.moved != "down":
        return None
    limit = ceiling.work_speedup or ceiling.speedup
    if kernel.speedup > 1.02 * limit:
        return f"more than the {limit:.2f}x that the same DRAM bytes and arithmetic allow: it does less work"
    if kernel.speedup > 1.02 * ceiling.speedup:
        return f"more than the {ceiling.speedup:.2f}x that the old accesses allowed: it asks for data in a better way"
    return f"of at most {ceiling.speedup:.2f}x"


def _kernel(kernel: KernelComparison, target: Console) -> None:
    ascii_only = target.options.ascii_only
    moved = kernel.time.moved
    style = {"down": "bold green", "up": "bold red"}.get(moved, "bold")
    paragraph(target, Text.assemble((plain(kernel.name), "bold magenta"), "  ", (headline(kernel), style)))
    words = ceiling_words(kernel)
    if words:
        paragraph(target, Text(words, "dim"), indent=2)
    if kernel.verdict_before and kernel.verdict_after and kernel.verdict_before != kernel.verdict_after:
        paragraph(target, Text(f"{kernel.verdict_before}-bound before, {kernel.verdict_after}-bound after"), indent=2)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("", "before", "after", "", "noise"):
        table.add_column(head, justify="left" if not head else "right")
    for name, change in _rows(kernel):
        mark = (_ASCII if ascii_only else _ARROWS)[change.moved]
        colour = "" if change.moved in {"same", "unknown"} else "green" if change.moved == "down" else "red"
        cells = (amount(change.before, change.unit), amount(change.after, change.unit))
        table.add_row(plain(name), *cells, Text(mark, colour), "± " + amount(change.noise, change.unit))
    target.print(table, highlight=False)
    _findings(kernel, target)


def _rows(kernel: KernelComparison) -> Iterator[tuple[str, Change]]:
    longer = max(kernel.time.before or 0.0, kernel.time.after or 0.0)
    listed = [
        row for row in kernel.stalls if max(row.cost.before or 0.0, row.cost.after or 0.0) >= SMALLEST_COST * longer
    ]
    for row in listed[:MOST_STALLS]:
        yield row.reason, row.cost
    for change in kernel.counters:
        yield change.metric, change


def _findings(kernel: KernelComparison, target: Console) -> None:
    words = {True: ("as implied", "green"), False: ("the other way", "red"), None: ("within noise", "dim")}
    for each in kernel.evidence:
        said, style = words[each.consistent] if each.change.moved != "unknown" else ("not measured in both", "dim")
        over = {"line": "", "block": " (over the lines that replaced it)", "kernel": " (over the kernel)"}[each.where]
        place = f" at {plain(each.place)}" if each.place else ""
        amounts = f"{amount(each.change.before, each.change.unit)} to {amount(each.change.after, each.change.unit)}"
        text = f"{each.id} {plain(each.rule)}{place}: {plain(each.change.metric)} {amounts}{over}, "
        paragraph(target, Text.assemble(text, (said, style)), indent=2)
    if kernel.consistency.share is not None:
        text = (
            f"{kernel.consistency.consistent} of the {kernel.consistency.moved} findings that moved by more than the "
            f"noise moved as implied ({100 * kernel.consistency.share:.0f} %)"
        )
        paragraph(target, Text(text, "bold"), indent=2)


def amount(value: float | None, unit: str) -> str:
    """A quantity for a person: times in the unit that fits, large counts with separators."""
    if value is None:
        return "unknown"
    if unit == "ns":
        return duration(value)
    if unit == "share":
        return f"{100 * value:.1f} %"
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}".strip()
