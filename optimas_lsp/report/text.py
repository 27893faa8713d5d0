"""An analysis as a listing for the terminal: the answer first, then the hottest lines with their source.

Colours, width and NO_COLOR are rich's business; everything printed is stripped of control characters, because source
text, file and kernel names come from a report that anybody may have made.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.sentences import kernel_title, percent
from optimas_lsp.profile.model import Profile
from optimas_lsp.report.kernel_text import Sources, TextOf, render_kernel
from optimas_lsp.report.rows import line, paragraph, plain

MOST_LINES = 8
"""Lines listed of one kernel, and cold kernels named, unless everything was asked for."""

WIDTH_WITHOUT_TERMINAL = 120


def console(*, to_file: bool = False) -> Console:
    """A console on standard output; without a terminal, or for a file, it is plain and wide enough for source lines."""
    if to_file:
        return Console(width=WIDTH_WITHOUT_TERMINAL, no_color=True, force_terminal=False)
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)


def render(
    analysis: Analysis,
    profile: Profile,
    target: Console,
    *,
    text_of: TextOf | None = None,
    most_lines: int | None = MOST_LINES,
) -> None:
    """Print ``analysis``: kernels by cost, then those that are not hot, then notes.

    ``text_of`` gives a file's text as it was profiled; by default what the report embeds. ``most_lines`` bounds the
    lines listed of each kernel, None lists all that have a finding.
    """
    report = analysis.report
    tool = f"  {report.device}, {report.tool} {report.tool_version}"
    line(target, Text.assemble((plain(report.path), "bold"), (plain(tool), "dim")))
    sources = Sources(profile, text_of or (lambda source: source.text))
    detailed = [kernel for kernel in analysis.kernels if kernel.hot or kernel.evidence or kernel.lines]
    for kernel in detailed:
        target.print()
        render_kernel(kernel, sources, target, most_lines=most_lines)
    _others([kernel for kernel in analysis.kernels if kernel not in detailed], target)
    if analysis.notes:
        target.print()
    for note in analysis.notes:
        paragraph(target, Text.assemble(("note ", "bold"), plain(note.text)))


def _others(kernels: Sequence[KernelAnalysis], target: Console) -> None:
    if not kernels:
        return
    names = ", ".join(
        f"{plain(kernel_title(kernel.name))} {'unknown share' if kernel.share is None else percent(kernel.share)}"
        for kernel in kernels[:MOST_LINES]
    )
    more = f" and {len(kernels) - MOST_LINES} more" if len(kernels) > MOST_LINES else ""
    target.print()
    paragraph(target, Text(f"not hot: {names}{more} (--all shows them)", "dim"))
