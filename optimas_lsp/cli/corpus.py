"""``optimas corpus``: what was tried before; searching, publishing and pruning it."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Format, Output, TextOrJson
from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from optimas_lsp.corpus.export import Form
    from optimas_lsp.corpus.query import Query
    from optimas_lsp.corpus.store import Row, Store

app = typer.Typer(no_args_is_help=True, help="What was tried before: search it, publish it, prune it.")

INVALID = 1
LISTED = 20
"""Attempts that are listed before a dataset is removed."""

AttemptId = Annotated[str, typer.Argument(metavar="ID", help="An attempt's id, or its first six characters or more.")]


class Forms(Enum):
    """How a dataset is written."""

    auto = "auto"
    jsonl = "jsonl"
    parquet = "parquet"
    both = "both"


class No(Enum):
    """What a person did to an edit."""

    rejected = "rejected"
    reverted = "reverted"


@contextmanager
def _store() -> Generator[Store]:
    """The user's store; what it has to tell goes to standard error."""
    from optimas_lsp.cli.failures import say
    from optimas_lsp.config import FILE_NAME, Settings, from_toml
    from optimas_lsp.corpus import Corpus

    toml = Path(FILE_NAME)
    settings = from_toml(toml) if toml.is_file() else Settings()
    store = Corpus.of_user(settings.corpus).store
    try:
        yield store
    finally:
        for note in store.database.notes:
            say(note.text)


@app.command("stats")
def stats(format_: TextOrJson = Format.text, output: Output = None) -> None:
    """Count attempts by how they ended, by transformation, evidence, author and GPU."""
    from optimas_lsp.corpus.stats import stats_of
    from optimas_lsp.report.attempts import counts

    with _store() as store:
        found = stats_of(store)
    text = found.model_dump_json(indent=2) + "\n" if format_ is Format.json else counts(found)
    output_file.emit(text, output)


@app.command("search")
def search(
    words: Annotated[str, typer.Argument(metavar="[TEXT]", help="Part of a kernel's or file's name.")] = "",
    *,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", metavar="RULE", help="With evidence of this rule; may be repeated.")
    ] = None,
    transformation: Annotated[
        list[str] | None,
        typer.Option("--transformation", metavar="NAME", help="That did this; may be repeated."),
    ] = None,
    ending: Annotated[str, typer.Option("--ending", metavar="ENDING", help="proven, refuted, refused, …")] = "",
    like: Annotated[str, typer.Option("--like", metavar="ID", help="Most like this attempt first.")] = "",
    source: Annotated[
        Path | None, typer.Option("--source", metavar="FILE", help="Most like the kernel in this file first.")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option("--profile", metavar="REPORT", help="Its report, together with --source.")
    ] = None,
    kernel: Annotated[str, typer.Option("--kernel", metavar="REGEX", help="Which kernel of them.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most this many.")] = 20,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """List attempts: by name and evidence, the latest first, or the most alike of those that were judged."""
    from typing import get_args

    from optimas_lsp.corpus.model import Ending
    from optimas_lsp.insight.knowledge import rules
    from optimas_lsp.report.attempts import line

    if (source is None) != (profile is None) or (source is not None and like):
        raise ConfigError("what to compare with is not clear", remedy="give --like ID, or --source with --profile")
    if ending and ending not in get_args(Ending):
        raise ConfigError(f"there is no ending '{ending}'", remedy=f"choose one of: {', '.join(get_args(Ending))}")
    for each in rule or ():
        if each not in rules():
            raise ConfigError(f"there is no rule '{each}'", remedy="docs/rules/README.md lists them, such as cause")
    with _store() as store:
        query = _query(store, like, source, profile, kernel)
        rows = _listed(store, words, rule, transformation, ending, limit) if query is None else None
        found = [(row, None) for row in rows] if rows is not None else _nearest(store, query, limit)
    if format_ is Format.json:
        data = [_data(row) | ({} if likeness is None else {"likeness": round(likeness, 4)}) for row, likeness in found]
        output_file.emit(json.dumps(data, indent=2, ensure_ascii=False) + "\n", output)
        return
    text = "".join(f"{line(row, likeness)}\n" for row, likeness in found)
    output_file.emit(text or "nothing was found\n", output)


@app.command("show")
def show(chosen: AttemptId, format_: TextOrJson = Format.text, output: Output = None) -> None:
    """Show everything that is known of one attempt."""
    from optimas_lsp.report.attempts import details

    with _store() as store:
        row = store.find(chosen)
    whole = json.dumps(_data(row), indent=2, ensure_ascii=False) + "\n"
    output_file.emit(whole if format_ is Format.json else output_file.readable(details(row)), output)


@app.command("reject")
def reject(
    chosen: AttemptId,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept without paths and keys.")] = "",
    kind: Annotated[No, typer.Option("--kind", help="Not wanted, or applied and taken back.")] = No.rejected,
) -> None:
    """Record that you did not want an edit, or took it back: later rankings know of it."""
    with _store() as store:
        entry = store.say_no(chosen, reason, kind.value)
    output_file.emit(f"{kind.value} {entry.key[:12]}: {' + '.join(entry.transformations) or entry.kernel}\n", None)


@app.command("prune")
def prune(
    limit_mb: Annotated[
        int | None, typer.Option("--limit-mb", min=1, help="Down to this size; without it corpus.limitMb.")
    ] = None,
) -> None:
    """Drop the oldest attempts that were not proven until the corpus is small enough."""
    with _store() as store:
        gone = store.prune(limit_mb)
    output_file.emit(f"{gone} attempts were dropped\n", None)


@app.command("export")
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="New, empty, or with an earlier dataset.")],
    *,
    title: Annotated[str, typer.Option("--title", help="The dataset's name.")] = "Attempts at faster GPU kernels",
    forms: Annotated[
        Forms, typer.Option("--form", help="JSON lines, Parquet or both; auto: both where pyarrow is installed.")
    ] = Forms.auto,
    licence: Annotated[
        list[str] | None,
        typer.Option("--licence", metavar="SPDX", help="Only code under this licence; may be repeated."),
    ] = None,
) -> None:
    """Write the corpus as a dataset with a data card; no family of kernels is in two splits."""
    from optimas_lsp.cli.failures import say
    from optimas_lsp.corpus import export as publishing
    from optimas_lsp.corpus import parquet

    chosen: tuple[Form, ...] = ("jsonl", "parquet")
    if forms in {Forms.jsonl, Forms.parquet}:
        chosen = ("jsonl",) if forms is Forms.jsonl else ("parquet",)
    elif forms is Forms.auto and not parquet.available():
        chosen = ("jsonl",)
        say("optimas: no Parquet, pyarrow is not installed; pip install 'optimas-lsp[campaign]'")
    with _store() as store:
        rows = publishing.rows_for(
            row for row in store.each_row() if not licence or row.entry.origin.licence in licence
        )
    manifest = publishing.export(rows, folder, title=title, forms=chosen)
    unknown = manifest.licences.get("unknown", 0)
    splits = ", ".join(f"{name} {count}" for name, count in manifest.splits.items())
    output_file.emit(f"{manifest.rows} attempts of {manifest.families} families in {folder}: {splits}\n", None)
    if unknown:
        say(f"optimas: the licence of {unknown} is not known; choose with --licence what may be passed on")


@app.command("import")
def import_(
    place: Annotated[Path, typer.Argument(metavar="PATH", help="A dataset's folder, or one of its files.")],
) -> None:
    """Merge a dataset into your corpus: every row is checked first, what is known is not added again."""
    from optimas_lsp.corpus.export import merge

    with _store() as store:
        found = merge(store, place)
    output_file.emit(f"{found.new} new attempts, {found.known} known ones\n", None)


@app.command("remove")
def remove(
    chosen: Annotated[str, typer.Argument(metavar="DATASET", help="An imported dataset's title or id (see stats).")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would go.")] = False,
    accept: Annotated[bool, typer.Option("--accept", help="Remove it without asking.")] = False,
) -> None:
    """Take an imported dataset out again; what you made, or another dataset brought, stays."""
    from optimas_lsp.corpus import imported
    from optimas_lsp.report.attempts import removal

    with _store() as store:
        found = imported.plan(store, imported.find(store, chosen))
        rows = store.rows_of(found.gone[:LISTED])
        if dry_run:
            output_file.emit(removal(found, rows, done=False), None)
            return
        if not accept:
            _ask(removal(found, rows, done=False))
        gone = imported.remove(store, found.dataset)
    output_file.emit(removal(gone, (), done=True), None)


def _ask(what: str) -> None:
    """Ask a person on a terminal; raises ConfigError where the answer is no, or where nobody can be asked."""
    watched = sys.stdin.isatty() and sys.stderr.isatty()
    typer.echo(output_file.readable(what), err=True, nl=False)
    if not (watched and typer.confirm("Remove them? (importing the dataset again brings them back)", err=True)):
        raise ConfigError(
            "nothing was removed" if watched else "nothing was removed: nobody can be asked here",
            remedy="run it on a terminal, or with --accept once you agree",
        )


@app.command("validate")
def validate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A dataset's folder.")],
    format_: TextOrJson = Format.text,
) -> None:
    """Check a dataset: every row, the manifest, both forms, the splits."""
    from optimas_lsp.corpus.validate import validate as check

    found = check(folder)
    if format_ is Format.json:
        output_file.emit(found.model_dump_json(indent=2) + "\n", None)
    else:
        lines = [each.sentence() for each in found.problems] + [f"note: {note}" for note in found.notes]
        lines.append(f"{found.rows} attempts of {found.families} families, {len(found.problems)} problems")
        output_file.emit("\n".join(lines) + "\n", None)
    if found.problems:
        raise typer.Exit(INVALID)


def _data(row: Row) -> dict[str, Any]:
    noes = [each.model_dump() for each in row.noes]
    return row.entry.model_dump(mode="json", by_alias=True) | {
        "noes": noes,
        "own": row.own,
        "datasets": [*row.datasets],
    }


def _query(store: Store, like: str, source: Path | None, profile: Path | None, kernel: str) -> Query | None:
    from optimas_lsp.corpus.query import Query

    if like:
        return Query.of_entry(store.find(like).entry)
    if source is None or profile is None:
        return None
    from optimas_lsp.cli.rewriting import open_report
    from optimas_lsp.course import Program

    return Query.of(Program.of(source, open_=open_report).subject(profile, kernel))


def _nearest(store: Store, query: Query | None, limit: int) -> list[tuple[Row, float | None]]:
    from optimas_lsp.corpus.retrieve import Searcher

    if query is None:
        return []
    hits = {hit.key: hit.likeness for hit in Searcher(store).nearest(query, limit)}
    return [(row, hits[row.entry.key]) for row in store.rows_of(list(hits))]


def _listed(
    store: Store, words: str, rules: list[str] | None, names: list[str] | None, ending: str, limit: int
) -> list[Row]:
    from optimas_lsp.corpus.model import slug

    conditions, values = ["1"], list[Any]()
    if words:
        conditions.append("(instr(lower(a.kernel), ?) OR instr(lower(a.file), ?))")
        values += [words.lower()] * 2
    for each in rules or ():
        conditions.append("EXISTS (SELECT 1 FROM findings WHERE attempt = a.key AND rule = ?)")
        values.append(each)
    for each in names or ():
        conditions.append("EXISTS (SELECT 1 FROM steps WHERE attempt = a.key AND transformation = ?)")
        values.append(slug(each))
    if ending:
        conditions.append("a.ending = ?")
        values.append(ending)
    return store.rows(" AND ".join(conditions), values, order="a.date DESC, a.key", limit=limit)
