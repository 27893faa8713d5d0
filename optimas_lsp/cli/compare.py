"""``optimas compare``: what changed between two profiles of one program."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Output, Sources


class Format(Enum):
    """What the result looks like."""

    text = "text"
    json = "json"
    html = "html"


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The report measured first.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The report measured after a change.")],
    *,
    source: Sources = None,
    format_: Annotated[
        Format, typer.Option("--format", help="Text or an HTML page for people, JSON for programs.")
    ] = Format.text,
    output: Output = None,
) -> None:
    """Say what changed between two reports: time, stalls, counters, and what became of each finding.

    A difference counts only where it exceeds the noise: of the samples behind a stall, and two percent for times and
    counters (or the spread of three and more launches, where that is wider). JSON is the schema optimas.compare/1.
    """
    from optimas_lsp.cli.reading import Reader
    from optimas_lsp.insight import compare as insight

    if output is not None:
        output_file.check(output, [before, after])
    reader = Reader.of(sources=source or [], keep_all=True)
    first, second = reader.read(before), reader.read(after)
    found = insight.compare((first.profile, first.analysis), (second.profile, second.analysis))
    if format_ is Format.json:
        output_file.emit(found.model_dump_json(by_alias=True, indent=2) + "\n", output)
    elif format_ is Format.html:
        from optimas_lsp.report.html import render_comparison

        output_file.emit(render_comparison(found), output)
    else:
        from optimas_lsp.report.comparison import render_comparison as print_comparison
        from optimas_lsp.report.text import console

        target = console(to_file=output is not None)
        with target.capture() as captured:
            print_comparison(found, target)
        output_file.emit(captured.get(), output)
