"""One kernel in the terminal listing: headline, verdict, what warps wait for, then its lines with their findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, LineHeat, Location
from optimas_lsp.insight.facts import describe
from optimas_lsp.insight.sentences import duration, kernel_title, percent
from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.model import Profile, SourceFile
from optimas_lsp.report.rows import BAR_CELLS, bar, line, name_of, paragraph, plain

TextOf = Callable[[SourceFile], str | None]

MOST_REASONS = 4
"""Stall reasons named in a kernel's summary at most; LEAST_REASON is the share of the stalls each needs."""

LEAST_REASON = 0.01
_FACTS = (
    "registers_per_thread",
    "static_shared_bytes",
    "dynamic_shared_bytes",
    "achieved_occupancy_pct",
    "spill_instructions",
)
_LEVEL_STYLE = {"act": "yellow", "hot": "cyan", "note": "dim"}
_LEVEL_MARK = {"act": "▲", "hot": "●", "note": "·"}
_LEVEL_MARK_ASCII = {"act": "!", "hot": "*", "note": "-"}


class Sources:
    """What the listing shows from the profile: source lines by file as the profiler names it, stalls by kernel."""

    def __init__(self, profile: Profile, text_of: TextOf) -> None:
        self._files = {source.path: source for source in profile.files}
        self._text_of = text_of
        self._lines: dict[str, list[str]] = {}
        self._profile = profile

    def stalls(self, mangled: str) -> list[tuple[str, float]]:
        """Stall reasons with their share of the kernel's stalled samples, greatest first, also without a line."""
        counts: Counter[str] = Counter()
        for kernel in self._profile.kernels:
            if kernel.mangled == mangled:
                for reason, count in zip(kernel.samples.reason, kernel.samples.all_, strict=True):
                    counts[self._profile.reasons[reason]] += count
        stalls = {name: count for name, count in counts.items() if is_stall(name) and count}
        total = sum(stalls.values())
        return [(name, n / total) for name, n in sorted(stalls.items(), key=lambda item: (-item[1], item[0]))]

    def line(self, location: Location) -> str:
        """The text of a line, empty where the source is not at hand."""
        if location.file not in self._lines:
            source = self._files.get(location.file)
            text = (self._text_of(source) if source else None) or ""
            self._lines[location.file] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = self._lines[location.file]
        return plain(lines[location.line - 1]).strip() if 0 < location.line <= len(lines) else ""


@dataclass
class _Place:
    """One row of the listing: a line, its samples if it has any, and its findings."""

    location: Location
    shown: Location | None
    inlined_at: tuple[Location, ...]
    heat: LineHeat | None = None
    evidence: list[Evidence] = field(default_factory=list[Evidence])

    def order(self) -> tuple[bool, int]:
        """Sort key: lines to change first, then by not-issued samples, the line's own or those it causes elsewhere."""
        own = 0 if self.heat is None else self.heat.not_issued
        cost = max([own, *(item.not_issued for item in self.evidence)])
        return (not any(item.level == "act" for item in self.evidence), -cost)


def render_kernel(kernel: KernelAnalysis, sources: Sources, target: Console, *, most_lines: int | None) -> None:
    """Print one kernel; ``most_lines`` bounds the lines listed, None lists every line that has a finding."""
    title = kernel_title(kernel.name)
    line(target, Text.assemble((plain(title), "bold magenta"), *_headline(kernel)))
    if kernel.name != title:
        line(target, Text("  " + plain(kernel.name), "dim"))
    if kernel.roofline is not None and kernel.roofline.text:
        paragraph(target, Text(kernel.roofline.text), indent=2)
    for text in _summary(kernel, sources):
        paragraph(target, text, indent=2)
    places = _places(kernel)[:most_lines]
    if places:
        target.print()
    explained: dict[str, str] = {}
    for place in places:
        _show(place, sources, explained, target)
    _rest(kernel, places, target)
    for item in kernel.evidence:
        if item.location is None and item.source != "rl":
            _finding(item, item.text, target, indent=2)
    for conflict in kernel.conflicts:
        paragraph(target, Text.assemble(("conflict ", "bold yellow"), conflict.text), indent=2)


def _headline(kernel: KernelAnalysis) -> Iterator[tuple[str, str]]:
    share = "unknown share" if kernel.share is None else percent(kernel.share)
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    yield (f"  {share} of GPU time", "bold")
    yield (f"  {duration(kernel.gpu_time_ns)} in {launches}", "")
    if kernel.roofline is not None:
        yield (f"  {kernel.roofline.verdict}-bound", "bold green")
    if not kernel.hot:
        yield ("  not hot", "dim")


def _summary(kernel: KernelAnalysis, sources: Sources) -> Iterator[Text]:
    """What a reader needs before the lines: size, occupancy, issue rate, what warps wait for, samples."""
    grid, block = ("×".join(str(size) for size in shape) for shape in (kernel.grid, kernel.block))
    parts = [f"grid {grid}", f"block {block}"]
    facts = {key: kernel.facts[key] for key in _FACTS if kernel.facts.get(key) not in {None, 0.0}}
    parts += [f"{label} {value.replace(' %', '%')}" for label, value in describe(facts)]
    if kernel.issue_active is not None:
        parts.append(f"issues in {percent(kernel.issue_active, 0)} of cycles")
    yield Text(", ".join(parts), "dim")
    samples = kernel.samples
    if not samples.total:
        yield Text("no PC samples, so no lines", "yellow")
        return
    stalls = [(name, share) for name, share in sources.stalls(kernel.mangled)[:MOST_REASONS] if share >= LEAST_REASON]
    if stalls:
        yield Text("stalled on " + ", ".join(f"{plain(name)} {percent(share, 0)}" for name, share in stalls))
    text = f"{samples.total:,} samples, {percent(samples.stalled / samples.total)} stalled"
    if samples.unattributed:
        text += f", {percent(samples.unattributed / samples.total)} without a source line"
    yield Text(text, "dim")


def _places(kernel: KernelAnalysis) -> list[_Place]:
    """Lines with findings, those to change first, then the costliest; some only cause waits and have no samples."""
    places: dict[tuple[str, int, str, int], _Place] = {}
    for heat in kernel.lines:
        key = _key(heat.location, heat.shown)
        places[key] = _Place(heat.location, heat.shown, heat.inlined_at, heat)
    for item in kernel.evidence:
        if item.location is not None:
            key = _key(item.location, item.shown)
            place = places.setdefault(key, _Place(item.location, item.shown, item.inlined_at))
            place.evidence.append(item)
    return sorted((place for place in places.values() if place.evidence), key=_Place.order)


def _show(place: _Place, sources: Sources, explained: dict[str, str], target: Console) -> None:
    """A line with its bar and source, and its findings; what a reason means is said once a kernel (``explained``)."""
    at = place.shown or place.location
    row = Text("  ")
    if place.heat is not None:
        row.append(bar(place.heat.share, ascii_only=target.options.ascii_only), "red")
        row.append(f" {100 * place.heat.share:5.1f} ± {100 * place.heat.margin:.1f} %  ", "bold")
    else:
        row.append(" " * (BAR_CELLS + 16))
    row.append(f"{name_of(at)}:{at.line}", "blue")
    if place.shown is not None and place.shown != place.location:
        row.append(f" (in {name_of(place.location)}:{place.location.line})", "dim")
    elif place.inlined_at:
        row.append(f" (called at {name_of(place.inlined_at[0])}:{place.inlined_at[0].line})", "dim")
    source = sources.line(at)
    if source:
        row.append("  " + source)
    line(target, row)
    for item in place.evidence:
        words = item.text
        if item.source == "pc" and item.rule in explained:
            words = f"{100 * item.share:.1f} ± {100 * item.margin:.1f} % {item.rule}, as {explained[item.rule]}"
            if item.known_causes:
                cause = item.known_causes[0]
                where = name_of(Location(file=cause.file, line=cause.line))
                words += f", because of {where}:{cause.line} ({plain(cause.opcode)})"
        elif item.source == "pc":
            explained[item.rule] = item.id
        _finding(item, words, target, indent=6)


def _finding(item: Evidence, words: str, target: Console, *, indent: int) -> None:
    style = _LEVEL_STYLE[item.level]
    marks = _LEVEL_MARK_ASCII if target.options.ascii_only else _LEVEL_MARK
    row = Text.assemble((f"{marks[item.level]} {item.id} ", f"bold {style}"), (plain(words), style))
    paragraph(target, row, indent=indent)


def _rest(kernel: KernelAnalysis, places: Sequence[_Place], target: Console) -> None:
    """What the listing leaves out: further lines, and samples that no line can be given."""
    total = kernel.samples.total
    listed = [place.heat for place in places if place.heat is not None]
    hidden = len(kernel.lines) - len(listed)
    if places and hidden > 0 and total:
        rest = sum(heat.samples for heat in kernel.lines) - sum(heat.samples for heat in listed)
        words = "1 further line holds" if hidden == 1 else f"{hidden} further lines hold"
        line(target, Text(f"  {words} {percent(rest / total)} of the samples", "dim"))
    for why in kernel.samples.why_unattributed:
        text = f"{percent(why.samples / total)} of the samples have no source line: {why.text}"
        paragraph(target, Text(text, "dim"), indent=2)


def _key(location: Location, shown: Location | None) -> tuple[str, int, str, int]:
    return (location.file, location.line, shown.file if shown else "", shown.line if shown else 0)
