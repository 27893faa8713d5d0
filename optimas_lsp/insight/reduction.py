"""The evidence of a report in a few kilobytes of text, and how much smaller that is than what was measured.

This is the form a prompt carries: per hot kernel its facts, its findings ranked by what acting on them could buy, the
conflicts between sources, and the remaining stalls of its lines in short, so that nearly all stalled samples are
accounted for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from optimas_lsp.insight.evidence import Analysis, Cause, KernelAnalysis, LineHeat, Location
from optimas_lsp.insight.ranking import Ranked, rank
from optimas_lsp.insight.sentences import duration
from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.model import Frozen, Profile

LIMIT_BYTES = 6000
"""The text of a report's evidence stays below this, in bytes of UTF-8."""

FEWEST = 0.005
"""A stall reason on a line is named in short from this share of the kernel's samples on."""


class Reduction(Frozen):
    """What was measured and what is left of it. ``covered`` is of the hot kernels' stalled samples (0 to 1)."""

    raw_bytes: int
    evidence_bytes: int
    reduced: float
    covered: float | None
    covered_of_all: float | None
    kernels: int
    findings: int


def evidence_text(analysis: Analysis, limit: int = LIMIT_BYTES) -> str:
    """The evidence of the hot kernels, ranked, in at most ``limit`` bytes of UTF-8; what does not fit is counted."""
    return _Compact(analysis, limit).text


def reduce(profile: Profile, analysis: Analysis, raw_bytes: int | None = None) -> Reduction:
    """How much smaller the evidence is than the report, and the share of stalled samples it accounts for.

    ``raw_bytes`` is the size of the report as the profiler wrote it, where the file at hand is a compressed one.
    """
    compact = _Compact(analysis, LIMIT_BYTES)
    raw = raw_bytes if raw_bytes is not None else profile.report_bytes
    size = len(compact.text.encode())
    hot = sum(kernel.samples.stalled for kernel in analysis.kernels if kernel.hot)
    everything = sum(kernel.samples.stalled for kernel in analysis.kernels)
    return Reduction(
        raw_bytes=raw,
        evidence_bytes=size,
        reduced=max(0.0, 1.0 - size / raw) if raw else 0.0,
        covered=compact.covered / hot if hot else None,
        covered_of_all=compact.covered / everything if everything else None,
        kernels=len(compact.kernels),
        findings=compact.findings,
    )


class _Compact:
    """Writes the text; each kernel gets an equal part of what is left, so that no kernel crowds out the next."""

    def __init__(self, analysis: Analysis, limit: int) -> None:
        self.covered = 0
        self.findings = 0
        self.kernels = [kernel for kernel in analysis.kernels if kernel.hot]
        report = analysis.report
        name = PurePosixPath(report.path.replace("\\", "/")).name
        lines = [_plain(f"report {name}: {report.device}, {report.tool} {report.tool_version}")]
        left = limit - _size(lines)
        for at, (kernel, ranked) in enumerate(rank(self.kernels)):
            written = self._kernel(kernel, ranked, left // (len(self.kernels) - at))
            lines += written
            left -= _size(written)
        self.text = "\n".join(lines) + "\n"

    def _kernel(self, kernel: KernelAnalysis, ranked: Sequence[Ranked], room: int) -> list[str]:
        lines = [*_head(kernel)]
        named: set[tuple[str, int, str]] = set()
        conflicts = [f"  conflict {', '.join(each.evidence)}: {_plain(each.text)}" for each in kernel.conflicts]
        reserve = 60
        dropped = 0
        taken: set[str] = set()
        for one in ranked:
            line = _finding(one)
            if _size([*lines, *conflicts, line]) > room - reserve:
                dropped += 1
                continue
            lines.append(line)
            self.findings += 1
            taken |= {one.evidence.id, *one.merged}
        for evidence in kernel.evidence:
            if evidence.source == "pc" and evidence.id in taken and evidence.location is not None:
                self.covered += evidence.samples if is_stall(evidence.rule) else 0
                named.add((evidence.location.file, evidence.location.line, evidence.rule))
        lines += [line for line in conflicts if _size([*lines, line]) <= room - reserve]
        if dropped:
            lines.append(f"  {dropped} weaker findings left out")
        return lines + self._rest(kernel, named, room - _size(lines))

    def _rest(self, kernel: KernelAnalysis, named: set[tuple[str, int, str]], room: int) -> list[str]:
        """Stalls below the thresholds, a line's in one entry, as long as there is room."""
        prefix = "  also:"
        entries: list[str] = []
        for heat in sorted(kernel.lines, key=lambda each: -each.stalled):
            rest = [each for each in heat.reasons if is_stall(each.reason) and not _told(heat, each.reason, named)]
            rest = [each for each in rest if each.samples >= FEWEST * kernel.samples.total]
            if not rest:
                continue
            words = ", ".join(f"{each.reason} {100 * each.samples / kernel.samples.total:.1f}%" for each in rest)
            entry = _plain(f" {_place(heat.shown or heat.location)} {words};")
            if _size([prefix + "".join(entries) + entry]) > room:
                break
            entries.append(entry)
            self.covered += sum(each.samples for each in rest)
        return [prefix + "".join(entries)] if entries else []


def _told(heat: LineHeat, reason: str, named: set[tuple[str, int, str]]) -> bool:
    return (heat.location.file, heat.location.line, reason) in named


def _head(kernel: KernelAnalysis) -> Iterator[str]:
    share = "" if kernel.share is None else f", {100 * kernel.share:.0f}% of GPU time"
    grid, block = ("x".join(map(str, shape)) for shape in (kernel.grid, kernel.block))
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    name, time = _plain(kernel.base_name), duration(kernel.gpu_time_ns)
    yield f"kernel {name}: {time} in {launches}{share}, grid {grid}, block {block}"
    facts = [
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in kernel.facts.items()
        if key in {"registers_per_thread", "achieved_occupancy_pct", "occupancy_limited_by", "waves_per_sm"} and value
    ]
    if kernel.issue_active is not None:
        facts.append(f"issues in {100 * kernel.issue_active:.0f}% of cycles")
    if kernel.samples.total:
        facts.append(
            f"{kernel.samples.total} samples, {100 * kernel.samples.stalled / kernel.samples.total:.0f}% stalled"
        )
    if kernel.samples.unattributed:
        facts.append(f"{100 * kernel.samples.unattributed / kernel.samples.total:.0f}% of samples without a line")
    yield "  " + _plain(", ".join(facts)) if facts else "  no samples"


def _finding(ranked: Ranked) -> str:
    evidence = ranked.evidence
    if evidence.source in {"rl", "ia"}:
        return _plain(f"  {evidence.id} {evidence.rule}: {evidence.text}")
    at = evidence.shown or evidence.location
    parts = [f"  {evidence.id} {evidence.rule}"]
    if at is not None:
        parts.append(f"at {_place(at)}")
    if evidence.shown is not None and evidence.location is not None and evidence.shown != evidence.location:
        parts.append(f"(in {_place(evidence.location)})")
    if evidence.share:
        parts.append(f"{100 * evidence.share:.1f}±{100 * evidence.margin:.1f}%")
    if evidence.known_causes:
        parts.append("caused by " + ", ".join(_cause(cause) for cause in evidence.known_causes[:3]))
    if evidence.waits:
        parts.append("awaited at " + ", ".join(_place(place) for place in evidence.waits[:3]))
    if ranked.buys > 1.005:
        parts.append(f"at most {ranked.buys:.2f}x")
    if ranked.merged:
        parts.append(f"(with {', '.join(ranked.merged)})")
    if evidence.source == "pt":
        parts.append(f": {evidence.text}")
    return _plain(" ".join(parts)) + f" [{evidence.level}]"


def _cause(cause: Cause) -> str:
    return f"{PurePosixPath(cause.file).name}:{cause.line} {cause.opcode.split('.')[0]} {100 * cause.share:.0f}%"


def _place(location: Location) -> str:
    return f"{_plain(PurePosixPath(location.file.replace(chr(92), '/')).name)}:{location.line}"


def _plain(text: str) -> str:
    """Text from a report on one line: nothing in it may pass for another finding."""
    return "".join(char if char.isprintable() else " " for char in text)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
