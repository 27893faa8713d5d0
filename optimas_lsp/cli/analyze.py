"""``optimas analyze``: where a GPU program waits and why, as text for people or JSON for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli import formats
from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.failures import FAILED, say
from optimas_lsp.cli.options import Output, Sources
from optimas_lsp.errors import ConfigError, OptimasError

if TYPE_CHECKING:
    from optimas_lsp.cli.reading import Reading


class Format(Enum):
    """What the result looks like."""

    text = "text"
    json = "json"
    sarif = "sarif"
    html = "html"


def analyze(
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT...", help=".ncu-rep, .ncu-repz or .optimas.json[.zst] files.")
    ],
    *,
    source: Sources = None,
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="REGEX", help="Only kernels whose name this matches, hot or not.")
    ] = "",
    all_: Annotated[
        bool, typer.Option("--all", help="Also keep findings below the thresholds and kernels that are not hot.")
    ] = False,
    format_: Annotated[
        Format, typer.Option("--format", help="Text or an HTML page for people, JSON or SARIF for programs.")
    ] = Format.text,
    reduction: Annotated[
        bool, typer.Option("--reduction", help="Print the compact evidence, its size and the samples it covers.")
    ] = False,
    quality: Annotated[
        bool, typer.Option("--quality", help="Print how much of the stalls the causes explain instead.")
    ] = False,
    output: Output = None,
) -> None:
    """Say where the GPU waits and why, on source lines.

    JSON is the schema optimas.analysis/1 (optimas schema analysis): one object for one report, an array in the order
    given for several. A report that cannot be read is a sentence on standard error and exit status 2; the others are
    still shown.
    """
    from optimas_lsp.cli.reading import Reader

    _check_form(format_, reduction=reduction, quality=quality)
    if output is not None:
        output_file.check(output, reports)
    reader = Reader.of(sources=source or [], kernel=kernel, keep_all=all_)
    readings: list[Reading] = []
    failed = False
    for report in reports:
        try:
            readings.append(reader.read(report))
        except OptimasError as error:
            if len(reports) == 1:
                raise
            failed = True
            say(f"optimas: {error.sentence()}")
    if readings:
        readings = combined(readings)
        if quality:
            show_quality(readings, output, as_data=format_ is Format.json)
        elif reduction:
            output_file.emit(formats.as_reduction(readings), output)
        elif format_ is Format.sarif:
            output_file.emit(formats.as_sarif(readings), output)
        elif format_ is Format.html:
            output_file.emit(formats.as_html(readings), output)
        elif format_ is Format.json:
            output_file.emit(as_json(readings, array=len(reports) > 1), output)
        else:
            show(readings, output, everything=all_)
    if failed:
        raise typer.Exit(FAILED)


def _check_form(format_: Format, *, reduction: bool, quality: bool) -> None:
    """Raise ConfigError for a form that the reduction or the table of quality does not have."""
    if reduction and (quality or format_ is not Format.text):
        raise ConfigError("--reduction is text of its own", remedy="leave out --quality and --format, or --reduction")
    if quality and format_ not in {Format.text, Format.json}:
        raise ConfigError("--quality is a table or JSON", remedy="give --format text or json, or leave out --quality")


def combined(readings: list[Reading]) -> list[Reading]:
    """The readings, counters ranked over the launches of all of them."""
    from optimas_lsp.insight.observations import combine

    analyses = combine([(each.profile, each.analysis) for each in readings])
    return [replace(each, analysis=analysis) for each, analysis in zip(readings, analyses, strict=True)]


def show_quality(readings: list[Reading], output: Path | None, *, as_data: bool) -> None:
    """How sure the causes are: one table a report or, as data, an object from report to its kernels."""
    from optimas_lsp.insight.quality import quality
    from optimas_lsp.report.quality import render_quality
    from optimas_lsp.report.text import console

    judged = {str(reading.report): quality(reading.profile) for reading in readings}
    if as_data:
        found = {report: [kernel.model_dump() for kernel in kernels] for report, kernels in judged.items()}
        output_file.emit(json.dumps(found, indent=2) + "\n", output)
        return
    target = console(to_file=output is not None)
    with target.capture() as captured:
        for report, kernels in judged.items():
            render_quality(report, kernels, target)
    output_file.emit(captured.get(), output)


def as_json(readings: list[Reading], *, array: bool) -> str:
    """The analyses as JSON text, an array of them if ``array``."""
    documents = [reading.analysis.model_dump_json(by_alias=True, indent=2) for reading in readings]
    return "[\n" + ",\n".join(documents) + "\n]\n" if array else documents[0] + "\n"


def show(readings: list[Reading], output: Path | None, *, everything: bool) -> None:
    """The analyses as a listing, coloured where it goes to a terminal."""
    from optimas_lsp.report.text import MOST_LINES, console, render

    target = console(to_file=output is not None)
    with target.capture() as captured:
        for at, reading in enumerate(readings):
            if at:
                target.print()
            most = None if everything else MOST_LINES
            render(reading.analysis, reading.profile, target, text_of=reading.text_of, most_lines=most)
    output_file.emit(captured.get(), output)
