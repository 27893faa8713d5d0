"""How numbers and findings read in the editor: bars, tables in Markdown or plain text, the sentences about kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import KernelAnalysis, LineHeat, SampleTotals
    from optimas_lsp.server.views import FileView

_EIGHTHS = " ▏▎▍▌▋▊▉"
BAR_CELLS = 10
REASONS_SHOWN = 6
_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~]|(?<!\w)_|_(?!\w))")
"""Characters that Markdown reads as markup; an underscore inside a word is none."""
_OPEN_PIPE = re.compile(r"(?<!\\)\|")


def one_line(text: str) -> str:
    """``text`` on one line without control characters.

    Names come out of reports that anybody may have made: an empty line in one would end the code span around it, and
    the rest would be read as markup; an escape sequence would reach a terminal that shows the text.
    """
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}" for char in text
    )


_LINK = re.compile(r"\](?=\([A-Za-z][\w+.-]*:)")


def without_links(text: str) -> str:
    """``text`` as it can be put into a message: VS Code makes links of ``[words](scheme:…)``, of its commands, too."""
    return _LINK.sub("] ", text)


@dataclass(frozen=True, slots=True)
class Markup:
    """Writes the same content as Markdown or as plain text that still lines up."""

    markdown: bool

    def escape(self, text: str) -> str:
        """``text`` so that no character of it is taken for markup."""
        text = one_line(text)
        return _SPECIAL.sub(r"\\\1", text) if self.markdown else text

    def code(self, text: str) -> str:
        """A name out of a program."""
        text = one_line(text)
        return f"`{text.replace('`', chr(39))}`" if self.markdown else text

    def strong(self, text: str) -> str:
        """The words to read first."""
        return f"**{text}**" if self.markdown else text

    def note(self, text: str) -> str:
        """Something to know besides."""
        return f"*{text}*" if self.markdown and text else text

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A table whose first column is text and whose other columns are numbers; the last column is a bar."""
        if self.markdown:
            rule = ["---", *["---:"] * (len(head) - 2), "---"]
            cells = ([_OPEN_PIPE.sub(r"\\|", cell) for cell in row] for row in (head, rule, *rows))
            return "\n".join("| " + " | ".join(row) + " |" for row in cells)
        widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column in (0, len(head) - 1) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (head, *rows)
        )


def bar(share: float, cells: int = BAR_CELLS) -> str:
    """A share (0 to 1) as a bar of at most ``cells`` characters, in eighths; never empty for a share above 0."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def percent(share: float | None, digits: int = 1) -> str:
    """A share (0 to 1) as a person reads it."""
    return "unknown" if share is None else f"{100 * share:.{digits}f} %"


def short_percent(share: float) -> str:
    """A share (0 to 1) in as few characters as are honest."""
    points = 100 * share
    return f"{points:.0f} %" if points >= 10 else f"{points:.1f} %"


def duration(nanoseconds: float | None) -> str:
    """A time in the unit that fits, e.g. ``1.28 ms``."""
    if nanoseconds is None:
        return "unknown time"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= 0.9995 * size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def reason_table(markup: Markup, heat: LineHeat) -> str:
    """What a line's samples are made of: reason, share of the line, samples, those in idle issue slots, a bar."""
    rows = [
        [
            markup.code(each.reason),
            percent(each.samples / heat.samples if heat.samples else None),
            f"{each.samples:,}",
            f"{each.not_issued:,}",
            bar(each.samples / heat.samples if heat.samples else 0.0),
        ]
        for each in heat.reasons[:REASONS_SHOWN]
    ]
    left = heat.reasons[REASONS_SHOWN:]
    if left:
        samples = sum(each.samples for each in left)
        rows.append([
            f"{len(left)} more", percent(samples / heat.samples if heat.samples else None), f"{samples:,}",
            f"{sum(each.not_issued for each in left):,}", bar(samples / heat.samples if heat.samples else 0.0),
        ])  # fmt: skip
    return markup.table(["reason", "of the line", "samples", "not issued", ""], rows)


def without_parameters(name: str) -> str:
    """A demangled name up to its parameter list: namespaces and template arguments stay."""
    depth = 0
    for index, char in enumerate(name):
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "(" and depth == 0 and not name.startswith("(anonymous", index):
            return name[:index]
    return name


def kernel_line(kernel: KernelAnalysis) -> str:
    """Time, share, verdict, what is left at most, and the counter that explains the time best, in one line."""
    parts: list[str] = []
    if kernel.share is not None:
        parts.append(f"{short_percent(kernel.share)} of GPU time")
    parts.append(f"{duration(kernel.gpu_time_ns)} in {counted(kernel.launches, 'launch', 'launches')}")
    if kernel.roofline is not None:
        parts.append(f"{kernel.roofline.verdict}-bound")
        if kernel.roofline.ceiling is not None:
            parts.append(f"at most {kernel.roofline.ceiling.speedup:.2f}× left")
    if kernel.importance is not None and kernel.importance.counters:
        parts.append(f"time follows {one_line(kernel.importance.counters[0].name)}")
    if kernel.samples.total == 0:
        parts.append("no samples")
    return " · ".join(parts)


def unattributed(samples: SampleTotals) -> str:
    """What share of a kernel's samples has no line, and why in words; empty when every sample has one."""
    if samples.total == 0:
        return "No samples were taken: profile with --section SourceCounters and a longer run."
    if samples.unattributed == 0:
        return ""
    why = "; ".join(f"{percent(each.samples / samples.total)}: {each.text}" for each in samples.why_unattributed)
    share = percent(samples.unattributed / samples.total)
    return f"{share} of the kernel's samples have no source line" + (f" ({why})" if why else "")


def stale_note(view: FileView) -> str:
    """Says that a file was changed since it was profiled, and what that hides; empty when it was not."""
    if not view.stale:
        return ""
    hidden = f"; {counted(view.lost, 'finding')} on changed lines hidden" if view.lost else ""
    return f"changed since profiling{hidden}"


def paragraphs(parts: Iterable[str]) -> str:
    """The parts that say something, with an empty line between."""
    return "\n\n".join(part for part in parts if part)
