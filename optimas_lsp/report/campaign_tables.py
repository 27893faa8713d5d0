"""A campaign's tables as text for a terminal, CSV for programs, LaTeX for a paper and Markdown for a page."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence

from optimas_lsp.campaign.table import Kind, Table, Value, shown
from optimas_lsp.report.rows import plain

WIDEST = 44
"""Characters of a text cell on a terminal; longer ones are cut, but for the last of a line."""


def as_text(tables: Sequence[Table]) -> str:
    """Every table with its notes."""
    return "\n".join(_text(table) for table in tables)


def _text(table: Table) -> str:
    cells = [[_line(value, column.kind) for value, column in zip(row, table.columns, strict=True)]
             for row in table.rows]  # fmt: skip
    cells = [[*map(_cut, row[:-1]), row[-1]] for row in cells]
    heads = [column.name for column in table.columns]
    widths = [min(WIDEST, max(len(row[at]) for row in [heads, *cells])) for at in range(len(heads))]
    left = [column.kind == "text" for column in table.columns]

    def line(row: Sequence[str]) -> str:
        parts = (text.ljust(width) if is_left else text.rjust(width)
                 for text, width, is_left in zip(row, widths, left, strict=True))  # fmt: skip
        return "  ".join(parts).rstrip()

    lines = [table.title, "=" * len(table.title), line(heads), line(["-" * width for width in widths])]
    lines += [line(row) for row in cells] or ["(nothing)"]
    for note in table.notes:
        lines += textwrap.wrap(note, 118, initial_indent="* ", subsequent_indent="  ")
    return "\n".join(lines) + "\n"


def _line(value: Value, kind: Kind) -> str:
    """A cell on one line; a dataset may be somebody else's, and must neither drive the terminal nor make up rows."""
    return plain(shown(value, kind))


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def as_csv(tables: Sequence[Table]) -> str:
    """All tables after one another, plain numbers, each row led by its table's name; a blank line between tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for at, table in enumerate(tables):
        if at:
            out.write("\n")
        writer.writerow(["table", *(column.name for column in table.columns)])
        for row in table.rows:
            writer.writerow([table.name, *("" if value is None else value for value in row)])
    return out.getvalue()


def as_markdown(tables: Sequence[Table]) -> str:
    """One table each, its notes below."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    rules = ("---" if column.kind == "text" else "---:" for column in table.columns)
    head = [f"### {table.title}", "", _pipes(column.name for column in table.columns), _pipes(rules)]
    body = [
        _pipes(_line(value, column.kind) for value, column in zip(row, table.columns, strict=True))
        for row in table.rows
    ]
    return "\n".join([*head, *body, "", *(f"- {note}" for note in table.notes)]).rstrip() + "\n"


def _pipes(cells: Iterable[str]) -> str:
    plain = (cell.replace("\\", r"\\").replace("|", r"\|").replace("<", "&lt;") for cell in cells)
    return "| " + " | ".join(plain) + " |"


_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
        "×": r"$\times$", "·": r"$\cdot$", "…": r"\ldots{}",
    }
)  # fmt: skip


def as_latex(tables: Sequence[Table]) -> str:
    """One ``table`` environment each, made smaller where it is wider than the page; booktabs and graphicx."""
    return "% needs \\usepackage{booktabs,graphicx}\n" + "\n".join(_latex(table) for table in tables)


def _latex(table: Table) -> str:
    shape = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    lines = [
        r"\begin{table}",
        rf"  \caption{{{_plain(table.title)}. {_plain(' '.join(table.notes))}}}",
        rf"  \label{{tab:{table.name}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{shape}}}",
        r"    \toprule",
        "    " + " & ".join(_plain(column.name) for column in table.columns) + r" \\",
        r"    \midrule",
    ]
    for row in table.rows:
        cells = (_plain(_line(value, column.kind)) for value, column in zip(row, table.columns, strict=True))
        lines.append("    " + " & ".join(cells) + r" \\")
    lines += [r"    \bottomrule", r"  \end{tabular}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    own = "{}" if text.startswith(("[", "*")) else ""  # the end of the row before would take it for its option
    return own + text.translate(_SPECIAL)
