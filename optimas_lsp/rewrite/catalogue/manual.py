"""The table of transformations and their references in ``docs/catalogue.md``, from their data files."""

from __future__ import annotations

from pathlib import Path

from optimas_lsp.errors import SourceError
from optimas_lsp.rewrite.catalogue.registry import entries

START, END = "<!-- transformations: written by optimas docs -->", "<!-- end of transformations -->"


def table() -> str:
    """Every transformation with what it does, when and how exactly, and the references of each, as Markdown."""
    head = ["| name | what it does | when | exactness |", "|---|---|---|---|"]
    rows = [
        f"| `{each.name}` | {_cell(each.title)} | {_cell(each.precondition)} | {each.exactness} |" for each in entries()
    ]
    references = [f"- `{each.name}`: {'; '.join(each.references)}" for each in entries()]
    return "\n".join([*head, *rows, "", "### References", "", *references])


def with_table(page: str, where: Path) -> str:
    """``page`` with the table between its two marks renewed; raises SourceError where a mark is missing."""
    head, start, rest = page.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise SourceError("the marks around the transformations are missing", where=where, remedy=f"add {START}, {END}")
    return f"{head}{START}\n\n{table()}\n\n{END}{tail}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
