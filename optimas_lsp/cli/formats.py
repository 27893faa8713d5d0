"""What ``optimas analyze`` writes besides text and JSON: SARIF, HTML and the size of the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimas_lsp.cli.reading import Reading


def as_sarif(readings: Sequence[Reading]) -> str:
    """One SARIF log, a run a report; paths below the working folder are relative to it."""
    from optimas_lsp.report.sarif import sarif

    return sarif([reading.analysis for reading in readings], Path.cwd())


def as_html(readings: Sequence[Reading]) -> str:
    """One self-contained page of all the reports."""
    from optimas_lsp.report.html import Subject, render

    return render([Subject(each.profile, each.analysis, each.text_of) for each in readings])


def as_reduction(readings: Sequence[Reading]) -> str:
    """Raw bytes, evidence bytes and the share of stalled samples the evidence accounts for, a report a block."""
    from optimas_lsp.insight.reduction import evidence_text, reduce
    from optimas_lsp.profile.unpack import unpacked_size

    blocks: list[str] = []
    for reading in readings:
        found = reduce(reading.profile, reading.analysis, unpacked_size(reading.report))
        covered = "nothing to cover: the hot kernels have no stalled samples"
        if found.covered is not None:
            covered = f"{100 * found.covered:.1f} % of the hot kernels' stalled samples"
        if found.covered_of_all is not None:
            covered += f" ({100 * found.covered_of_all:.1f} % of all kernels')"
        blocks.append(
            f"{reading.report}\n"
            f"  raw bytes        {found.raw_bytes:,}\n"
            f"  evidence bytes   {found.evidence_bytes:,}\n"
            f"  reduced by       {100 * found.reduced:.3f} %\n"
            f"  covered          {covered}\n"
            f"  in it            {found.findings} findings on {found.kernels} hot kernels\n\n"
            + evidence_text(reading.analysis)
        )
    return "\n".join(blocks)
