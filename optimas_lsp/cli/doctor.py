"""``optimas doctor``: what works on this machine, what does not, and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli.options import Format, TextOrJson
from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from optimas_lsp.cli.checkup import Check, Checkup, Mapped


def doctor(
    report: Annotated[
        Path | None, typer.Option("--report", metavar="REPORT", help="Also say where this report's sources are.")
    ] = None,
    source: Annotated[
        list[Path] | None, typer.Option("--source", metavar="DIR", help="Folder with the sources; may be repeated.")
    ] = None,
    format_: TextOrJson = Format.text,
) -> None:
    """Look at everything Optimas uses; exit status 1 when something that reading and serving need is amiss.

    Of keys only the names are printed. With --report and --source it says for each source file of the report which
    rule led to a file here, or why none did.
    """
    from optimas_lsp.cli.checkup import Checkup, check_all

    if source and report is None:
        raise ConfigError("--source alone maps nothing", remedy="add --report REPORT")
    mapping = () if report is None else tuple(_mapping(report, source or [Path()]))
    found = Checkup(checks=tuple(check_all()), mapping=mapping)
    if format_ is Format.json:
        typer.echo(found.model_dump_json(by_alias=True, indent=2))
    else:
        _show(found)
    if any(check.status == "failed" for check in found.checks):
        raise typer.Exit(1)


def _mapping(report: Path, sources: list[Path]) -> list[Mapped]:
    from optimas_lsp.cli.checkup import Mapped
    from optimas_lsp.cli.reading import Reader

    reader = Reader.of(sources=sources)
    profile = reader.open(report)
    rows: list[Mapped] = []
    for file in profile.files:
        match = None if reader.mapper is None else reader.mapper.resolve(file)
        if match is not None:
            path = None if match.path is None else str(match.path)
            rows.append(Mapped(file=file.path, path=path, rule=match.rule, why=match.why))
    return rows


def _show(found: Checkup) -> None:
    from rich.text import Text

    from optimas_lsp.report.rows import paragraph, plain
    from optimas_lsp.report.text import console

    target = console()
    width = max(len(check.id) for check in found.checks)
    for check in found.checks:
        _row(target, check, width)
        if check.remedy and check.status != "ok":
            style = "bold" if check.status == "failed" else "dim"
            paragraph(target, Text(f"→ {check.remedy}", style), indent=width + 10)
    if any(check.status == "failed" for check in found.checks):
        verdict = "Something that reading reports or serving an editor needs is amiss: see failed."
    else:
        verdict = "Everything that reading reports and serving an editor need is there; what is absent is optional."
    target.print(f"\n{verdict}", highlight=False)
    if found.mapping:
        target.print()
    for row in found.mapping:
        style, word = ("green", "found") if row.path else ("yellow", "not here")
        target.print(Text.assemble((f"{word:8} ", style), plain(row.file), (f"  [{row.rule}] {plain(row.why)}", "dim")))
        if row.path:
            target.print(Text(f"{'':9}→ {plain(row.path)}"))


def _row(target: Console, check: Check, width: int) -> None:
    """One check; what was found is wrapped beside its name."""
    from rich.text import Text

    style = {"ok": "green", "absent": "yellow", "failed": "bold red"}[check.status]
    label = Text.assemble((f"{check.status:8}", style), f"{check.id:{width}}  ")
    for row in Text(check.found).wrap(target, max(target.width - len(label), 20)):
        row.rstrip()
        target.print(label + row, highlight=False)
        label = Text(" " * len(label))
