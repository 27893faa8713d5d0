"""``optimas campaign``: plan many experiments, run what is missing, and tell what came of them."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Format, Output, TextOrJson

if TYPE_CHECKING:
    from optimas_lsp.campaign.plan import Plan
    from optimas_lsp.campaign.progress import Progress
    from optimas_lsp.campaign.row import Row
    from optimas_lsp.campaign.run import Tell
    from optimas_lsp.rewrite.consent import Action

app = typer.Typer(no_args_is_help=True, help="Many experiments: plan, run, resume, export, report.")

CampaignFile = Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign.toml.")]

LINE_EVERY_S = 15.0
"""Where no person watches, a line of progress is written this often (seconds)."""


class ReportFormat(Enum):
    """What a report looks like."""

    text = "text"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"
    html = "html"


class Again(Enum):
    """Endings that another machine or day may change."""

    not_proven = "not-proven"
    program_failed = "program-failed"
    failed = "failed"


@app.command("plan")
def plan(
    campaign: CampaignFile,
    *,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Show the matrix, and what it would take: experiments, time, tokens, money, commands. Nothing is sent or run."""
    from optimas_lsp.campaign.design import read
    from optimas_lsp.campaign.estimate import estimate
    from optimas_lsp.campaign.plan import Plan
    from optimas_lsp.campaign.results import Results
    from optimas_lsp.report.campaign_plan import as_json, as_text

    made = Plan.of(read(campaign))
    wanted = {each.key for each in made.experiments}
    results = Results(made.loaded.results)
    found = estimate(made, [results.row(key) for key in results.keys() & wanted])
    output_file.emit(as_json(made, found) if format_ is Format.json else as_text(made, found), output)


@app.command("run")
def run(
    campaign: CampaignFile,
    *,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept what would be sent and run (optimas consent).")
    ] = False,
    again: Annotated[
        list[Again] | None,
        typer.Option("--again", help="Run once more what ended so; may be repeated."),
    ] = None,
) -> None:
    """Run every experiment that is not finished; what is finished is never repeated.

    All commands and destinations are shown and accepted once, before anything runs. Ctrl-C ends every process and keeps
    what is finished.
    """
    from optimas_lsp.campaign.design import read
    from optimas_lsp.campaign.estimate import estimate
    from optimas_lsp.campaign.extra import load
    from optimas_lsp.campaign.plan import Plan
    from optimas_lsp.campaign.run import run_of

    load("parsl", "running a campaign")
    made = Plan.of(read(campaign))
    wanted = {each.value for each in again or ()}
    left = run_of(made).left(wanted)
    _accepted(estimate(replace(made, experiments=left), (), strict=True).actions, accept=accept)
    with _terminated(), _progress(len(made.experiments)) as tell:
        progress = run_of(made, tell=tell).go(wanted)
    output_file.emit(progress.sentence() + "\n", None)


@app.command("status")
def status(campaign: CampaignFile, *, format_: TextOrJson = Format.text) -> None:
    """Say how far the campaign is: finished by ending, what is left, and the failures with their reasons."""
    from optimas_lsp.report.campaign_plan import status_json, status_text

    made, rows = _made(campaign)
    say = status_json if format_ is Format.json else status_text
    output_file.emit(say(len(made.experiments), rows), None)


@app.command("export")
def export(
    campaign: CampaignFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The dataset: .jsonl, .csv or .parquet.")
    ],
) -> None:
    """Write the dataset: one row an experiment, without code, answers or paths."""
    from optimas_lsp.campaign.dataset import write

    output_file.check(output, [campaign])
    write(_made(campaign)[1], output)


@app.command("report")
def report(
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="An exported dataset, or a campaign.toml for its results so far.")
    ],
    *,
    format_: Annotated[ReportFormat, typer.Option("--format", help="What the report looks like.")] = ReportFormat.text,
    output: Output = None,
) -> None:
    """Tell what came of it in tables and figures, from the dataset alone."""
    from optimas_lsp.campaign.dataset import read
    from optimas_lsp.campaign.tables import tables
    from optimas_lsp.report import campaign_tables

    if output is not None:
        output_file.check(output, [dataset])
    found = tables(_made(dataset)[1] if dataset.suffix == ".toml" else read(dataset))
    if format_ is ReportFormat.html:
        from optimas_lsp.report.html.campaign_page import render_campaign

        text = render_campaign(found, dataset.stem)
    else:
        say = {
            ReportFormat.text: campaign_tables.as_text,
            ReportFormat.csv: campaign_tables.as_csv,
            ReportFormat.latex: campaign_tables.as_latex,
            ReportFormat.markdown: campaign_tables.as_markdown,
        }[format_]
        text = say(found)
    output_file.emit(text, output)


def _made(campaign: Path) -> tuple[Plan, tuple[Row, ...]]:
    """The plan and the rows of its experiments that are finished."""
    from optimas_lsp.campaign.dataset import rows_of
    from optimas_lsp.campaign.design import read
    from optimas_lsp.campaign.plan import Plan
    from optimas_lsp.campaign.results import Results

    made = Plan.of(read(campaign))
    results = Results(made.loaded.results)
    wanted = {each.key for each in made.experiments}
    return made, rows_of((results.row(key) for key in sorted(results.keys() & wanted)), where=results.folder)


def _accepted(actions: Mapping[Path, Sequence[Action]], *, accept: bool) -> None:
    """Return when everything was accepted, before or now, in one go for the whole campaign."""
    from optimas_lsp.rewrite.consent import ConsentError, Consents

    consents = Consents.of_user()
    missing = {folder: left for folder, each in actions.items() if (left := consents.missing(folder, each))}
    if not missing:
        return
    lines: list[str] = []
    for folder, left in missing.items():
        lines.append(f"For the folder {folder}:")
        lines += [f"- {action.sentence()}" for action in left]
    watched = sys.stdin.isatty() and sys.stderr.isatty()
    typer.echo("\n".join(["This campaign would", *lines]), err=True)
    if not accept and not (
        watched and typer.confirm("Accept all of this? (optimas consent revoke takes it back)", err=True)
    ):
        if watched:
            raise ConsentError(
                "this was not accepted, so nothing was sent or run",
                remedy="answer y once you agree, or give --accept",
            )
        raise ConsentError(
            "this was never accepted, and nobody can be asked here",
            remedy="run it on a terminal, or with --accept once you agree; optimas consent list shows what is accepted",
        )
    for folder, left in missing.items():
        consents.grant(folder, left)


@contextmanager
def _terminated() -> Generator[None]:
    """A SIGTERM, as batch systems send it, ends the campaign like a Ctrl-C."""
    import signal

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(total: int) -> Generator[Tell]:
    """A bar on standard error while a person watches, else a line now and then."""
    import time

    if not sys.stderr.isatty():
        said = time.monotonic()

        def line(progress: Progress, _experiment: object) -> None:
            nonlocal said
            if time.monotonic() - said >= LINE_EVERY_S:
                said = time.monotonic()
                typer.echo(progress.sentence(), err=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting Parsl", total=total)
        yield lambda progress, _experiment: bar.update(task, completed=progress.done, description=progress.sentence())
