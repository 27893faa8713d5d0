"""An analysis as a listing for the terminal: the answer first, then the hottest lines with their source.

Colours, width and NO_COLOR are rich's business; everything printed is stripped of control characters, because source
text, file and kernel names come from a report that anybody may have made.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from rich.console import Console
from rich.text import Text

from optimas_lsp.insight.evidence import Analysis, Evidence, KernelAnalysis, LineHeat, Location
from optimas_lsp.insight.facts import describe
from optimas_lsp.insight.sentences import duration, kernel_title, percent
from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.model import Profile, SourceFile

TextOf = Callable[[SourceFile], str | None]

MOST_LINES = 8
"""Lines listed of one kernel unless all findings were asked for."""

MOST_REASONS = 4
"""Stall reasons named in a kernel's summary at most; LEAST_REASON is the share of the stalls each needs."""

LEAST_REASON = 0.01

BAR_CELLS = 10
WIDTH_WITHOUT_TERMINAL = 120
_LEVEL_STYLE = {"act": "yellow", "hot": "cyan", "note": "dim"}
_LEVEL_MARK = {"act": "▲", "hot": "●", "note": "·"}
_LEVEL_MARK_ASCII = {"act": "!", "hot": "*", "note": "-"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def console(*, to_file: bool = False) -> Console:
    """A console on standard output; without a terminal, or for a file, it is plain and wide enough for source lines."""
    if to_file or not sys.stdout.isatty():
        return Console(
            width=WIDTH_WITHOUT_TERMINAL, no_color=to_file or None, force_terminal=False if to_file else None
        )
    return Console()


def render(analysis: Analysis, profile: Profile, target: Console, *, text_of: TextOf | None = None) -> None:
    """Print ``analysis``. ``text_of`` gives a file's text as it was profiled; by default what the report embeds."""
    report = analysis.report
    _line(target, Text.assemble((plain(report.path), "bold"),
                                (f"  {report.device}, {report.tool} {report.tool_version}", "dim")))  # fmt: skip
    sources = _Sources(profile, text_of or (lambda source: source.text))
    detailed = [kernel for kernel in analysis.kernels if kernel.hot or kernel.evidence or kernel.lines]
    for kernel in detailed:
        target.print()
        _kernel(kernel, sources, target)
    _others([kernel for kernel in analysis.kernels if kernel not in detailed], target)
    _notes(analysis, target)


def plain(text: str) -> str:
    """``text`` on one line without control characters, so that nothing in a report can drive the terminal."""
    return "".join(char if char.isprintable() else "�" for char in text.expandtabs(4))


class _Sources:
    """What the listing shows from the profile: source lines by file as the profiler names it, stalls by kernel."""

    def __init__(self, profile: Profile, text_of: TextOf) -> None:
        self._files = {source.path: source for source in profile.files}
        self._text_of = text_of
        self._lines: dict[str, list[str]] = {}
        self._profile = profile

    def stalls(self, mangled: str) -> list[tuple[str, int]]:
        """Stall reasons of a kernel with their samples, most first, those without a source line included."""
        counts: Counter[str] = Counter()
        for kernel in self._profile.kernels:
            if kernel.mangled == mangled:
                for reason, count in zip(kernel.samples.reason, kernel.samples.all_, strict=True):
                    counts[self._profile.reasons[reason]] += count
        return sorted(((name, n) for name, n in counts.items() if is_stall(name)), key=lambda item: (-item[1], item[0]))

    def line(self, location: Location) -> str:
        """The text of a line, empty where the source is not at hand."""
        if location.file not in self._lines:
            source = self._files.get(location.file)
            text = (self._text_of(source) if source else None) or ""
            self._lines[location.file] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = self._lines[location.file]
        return plain(lines[location.line - 1]).strip() if 0 < location.line <= len(lines) else ""


def _kernel(kernel: KernelAnalysis, sources: _Sources, target: Console) -> None:
    _line(target, Text.assemble((plain(kernel_title(kernel.name)), "bold magenta"), *_headline(kernel)))
    if kernel.name != kernel_title(kernel.name):
        _line(target, Text("  " + plain(kernel.name), "dim"))
    if kernel.roofline is not None and kernel.roofline.text:
        paragraph(target, Text(kernel.roofline.text), indent=2)
    for text in _summary(kernel, sources, ascii_only=target.options.ascii_only):
        paragraph(target, text, indent=2)
    shown = _worth_listing(kernel)
    if shown:
        target.print()
    explained: dict[str, str] = {}
    for line, evidence in shown:
        _heat(line, evidence, sources, explained, target)
    hidden = len(kernel.lines) - len(shown)
    if shown and hidden > 0:
        rest = sum(line.samples for line in kernel.lines) - sum(line.samples for line, _ in shown)
        share = rest / kernel.samples.total if kernel.samples.total else 0.0
        words = "1 further line holds" if hidden == 1 else f"{hidden} further lines hold"
        _line(target, Text(f"  {words} {percent(share)} of the samples", "dim"))
    for why in kernel.samples.why_unattributed:
        share = why.samples / kernel.samples.total
        paragraph(target, Text(f"{percent(share)} of the samples have no source line: {why.text}", "dim"), indent=2)


def _headline(kernel: KernelAnalysis) -> Iterator[tuple[str, str]]:
    share = "unknown share" if kernel.share is None else percent(kernel.share)
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    yield (f"  {share} of GPU time", "bold")
    yield (f"  {duration(kernel.gpu_time_ns)} in {launches}", "")
    if kernel.roofline is not None:
        yield (f"  {kernel.roofline.verdict}-bound", "bold green")
    if not kernel.hot:
        yield ("  not hot", "dim")


def _summary(kernel: KernelAnalysis, sources: _Sources, *, ascii_only: bool) -> Iterator[Text]:
    """What a reader needs before the lines: what warps wait for, samples, size, occupancy, issue rate."""
    grid, block = ("×".join(str(size) for size in shape) for shape in (kernel.grid, kernel.block))
    parts = [f"grid {grid}", f"block {block}"]
    wanted = (
        "registers_per_thread",
        "static_shared_bytes",
        "dynamic_shared_bytes",
        "achieved_occupancy_pct",
        "spill_instructions",
    )
    facts = {key: kernel.facts[key] for key in wanted if kernel.facts.get(key) not in {None, 0.0}}
    # A no-break space keeps a number and its unit on one row.
    space = " " if ascii_only else "\N{NO-BREAK SPACE}"
    parts += [f"{label} {value.replace(' ', space)}" for label, value in describe(facts)]
    if kernel.issue_active is not None:
        parts.append(f"issues in {percent(kernel.issue_active, 0)} of cycles")
    yield Text(", ".join(parts), "dim")
    samples = kernel.samples
    if not samples.total:
        yield Text("no PC samples, so no lines", "yellow")
        return
    stalls = sources.stalls(kernel.mangled)[:MOST_REASONS]
    if samples.stalled and stalls:
        shares = [(plain(name), count / samples.stalled) for name, count in stalls]
        words = ", ".join(f"{name} {percent(share, 0)}" for name, share in shares if share >= LEAST_REASON)
        yield Text(f"stalled on {words}")
    text = f"{samples.total:,} samples, {percent(samples.stalled / samples.total)} stalled"
    if samples.unattributed:
        text += f", {percent(samples.unattributed / samples.total)} without a source line"
    yield Text(text, "dim")


def _worth_listing(kernel: KernelAnalysis) -> list[tuple[LineHeat, list[Evidence]]]:
    """Lines with findings, costliest first, each with its own evidence."""
    by_place: dict[tuple[str, int, str, int], list[Evidence]] = {}
    for evidence in kernel.evidence:
        if evidence.location is not None:
            by_place.setdefault(_place(evidence.location, evidence.shown), []).append(evidence)
    listed = [(line, by_place.get(_place(line.location, line.shown), [])) for line in kernel.lines]
    listed = [(line, evidence) for line, evidence in listed if evidence]
    everything = any(item.level == "note" for _, evidence in listed for item in evidence)
    return listed if everything else listed[:MOST_LINES]


def _heat(
    line: LineHeat, evidence: Sequence[Evidence], sources: _Sources, explained: dict[str, str], target: Console
) -> None:
    """A line with its bar and source, and its findings; what a reason means is said once a kernel (``explained``)."""
    at = line.shown or line.location
    row = Text("  ")
    row.append(bar(line.share, ascii_only=target.options.ascii_only), "red")
    row.append(f" {100 * line.share:5.1f} ± {100 * line.margin:.1f} %  ", "bold")
    row.append(f"{_name(at)}:{at.line}", "blue")
    if line.shown is not None and line.shown != line.location:
        row.append(f" (in {_name(line.location)}:{line.location.line})", "dim")
    elif line.inlined_at:
        row.append(f" (called at {_name(line.inlined_at[0])}:{line.inlined_at[0].line})", "dim")
    source = sources.line(at)
    if source:
        row.append("  " + source)
    _line(target, row)
    marks = _LEVEL_MARK_ASCII if target.options.ascii_only else _LEVEL_MARK
    for item in evidence:
        style = _LEVEL_STYLE[item.level]
        words = item.text
        if item.rule in explained:
            words = f"{100 * item.share:.1f} ± {100 * item.margin:.1f} % {item.rule}, as {explained[item.rule]}"
        explained.setdefault(item.rule, item.id)
        row = Text.assemble((f"{marks[item.level]} {item.id} ", f"bold {style}"), (words, style))
        paragraph(target, row, indent=6)


def bar(share: float, *, ascii_only: bool = False) -> str:
    """A bar of BAR_CELLS cells, full at a share of 1."""
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        return ("#" * round(share * BAR_CELLS)).ljust(BAR_CELLS, ".")
    eighths = round(share * BAR_CELLS * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(BAR_CELLS)


def _others(kernels: Sequence[KernelAnalysis], target: Console) -> None:
    if not kernels:
        return
    target.print()
    names = ", ".join(
        f"{plain(kernel_title(kernel.name))} {'unknown share' if kernel.share is None else percent(kernel.share)}"
        for kernel in kernels[:MOST_LINES]
    )
    more = f" and {len(kernels) - MOST_LINES} more" if len(kernels) > MOST_LINES else ""
    paragraph(target, Text(f"not hot: {names}{more} (--all shows them)", "dim"))


def _notes(analysis: Analysis, target: Console) -> None:
    if analysis.notes:
        target.print()
    for note in analysis.notes:
        paragraph(target, Text.assemble(("note ", "bold"), plain(note.text)))


def _name(location: Location) -> str:
    return plain(PurePosixPath(location.file.replace("\\", "/")).name) or "unknown file"


def _place(location: Location, shown: Location | None) -> tuple[str, int, str, int]:
    return (location.file, location.line, shown.file if shown else "", shown.line if shown else 0)


def _line(target: Console, text: Text) -> None:
    """One row, cut at the console's edge."""
    target.print(text, no_wrap=True, overflow="ellipsis", crop=True, highlight=False)


def paragraph(target: Console, text: Text, indent: int = 0) -> None:
    """Print ``text`` wrapped at the console's width, every row of it indented by ``indent`` cells."""
    for row in text.wrap(target, max(target.width - indent, 20)):
        row.rstrip()
        target.print(Text(" " * indent).append_text(row), highlight=False)
