"""The table of rules in ``docs/guardrails.md``, from the rules themselves."""

from __future__ import annotations

from pathlib import Path

from optimas_lsp.errors import SourceError
from optimas_lsp.rewrite.guard.case import Rule
from optimas_lsp.rewrite.guard.compiled import COMPILED_RULES
from optimas_lsp.rewrite.guard.rulebook import RULES, TRITON_RULES

START, END = "<!-- rules: written by optimas docs -->", "<!-- end of rules -->"


def table() -> str:
    """Every rule with what it demands and what a finding does, as Markdown tables."""
    rows = [_row(rule) for rule in RULES]
    rows += [
        f"| `{name}` | after compiling: {_cell(demand)} | {_does('flag' if name == 'new-spills' else 'fail')} |"
        for name, demand in COMPILED_RULES.items()
    ]
    head = ["| rule | demand | a finding |", "|---|---|---|"]
    triton = [_row(rule) for rule in TRITON_RULES]
    return "\n".join(["### CUDA", "", *head, *rows, "", "### Triton", "", *head, *triton])


def _row(rule: Rule) -> str:
    return f"| `{rule.id}` | {_cell(rule.demand)} | {_does(rule.status)} |"


def with_table(page: str, where: Path) -> str:
    """``page`` with the table between its two marks renewed; raises SourceError where a mark is missing."""
    head, start, rest = page.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise SourceError("the marks around the table of rules are missing", where=where, remedy=f"add {START}, {END}")
    return f"{head}{START}\n\n{table()}\n\n{END}{tail}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _does(status: str) -> str:
    return "refuses" if status == "fail" else "goes to the proof"
