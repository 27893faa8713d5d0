"""Rows of a terminal listing: cut or wrapped, indented, without control characters; and the bar that shows a share."""

from __future__ import annotations

from pathlib import PurePosixPath

from rich.console import Console
from rich.text import Text

from optimas_lsp.insight.evidence import Location

BAR_CELLS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def plain(text: str) -> str:
    """``text`` on one line without control characters, so that nothing in a report can drive the terminal."""
    return "".join(char if char.isprintable() else "�" for char in text.expandtabs(4))


def name_of(location: Location) -> str:
    """The file's name without its folders."""
    return plain(PurePosixPath(location.file.replace("\\", "/")).name) or "unknown file"


def bar(share: float, *, ascii_only: bool = False) -> str:
    """A bar of BAR_CELLS cells, full at a share of 1."""
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        return ("#" * round(share * BAR_CELLS)).ljust(BAR_CELLS, ".")
    eighths = round(share * BAR_CELLS * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(BAR_CELLS)


def line(target: Console, text: Text) -> None:
    """Print one row, cut at the console's edge."""
    target.print(text, no_wrap=True, overflow="ellipsis", crop=True, highlight=False)


def paragraph(target: Console, text: Text, indent: int = 0) -> None:
    """Print ``text`` wrapped at the console's width, every row of it indented by ``indent`` cells."""
    for row in text.wrap(target, max(target.width - indent, 20)):
        row.rstrip()
        target.print(Text(" " * indent).append_text(row), highlight=False)
