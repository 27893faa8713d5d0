"""Where a command's result goes: standard output, or a file that is either complete or untouched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.replace import write_atomically


class OutputError(OptimasError):
    """The result cannot be written where it was asked to go."""


def check(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse, before any work, to write over an input, into a folder or where no folder is."""
    for each in inputs:
        if _same(output, each):
            raise OutputError(
                "this is the report itself, or another file that is read",
                where=output,
                remedy="give -o another name; what is read stays as it is",
            )
    if output.is_dir():
        raise OutputError("this is a folder", where=output, remedy="give -o the name of a file in it")
    if not output.parent.is_dir():
        raise OutputError("its folder does not exist", where=output, remedy=f"create {output.parent} first")


def write(data: bytes, output: Path) -> None:
    """Write ``data`` to ``output`` in one step: a reader sees the old file or the new one, never a part."""
    try:
        write_atomically(output, data)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror}", where=output, remedy="check the folder's permissions and space"
        ) from None


_PLAIN = str.maketrans({"±": "+-", "µ": "u", "×": "x", "…": "...", "·": "-", "→": "->"})
"""How signs of ours are written where the terminal cannot show what is printed."""


def emit(text: str, output: Path | None) -> None:
    """Put ``text`` on standard output, or into ``output``; what the terminal cannot show is replaced."""
    if output is not None:
        write(text.encode("utf-8", "replace"), output)
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        shown = text.encode(encoding)
    except UnicodeEncodeError:
        shown = text.translate(_PLAIN).encode(encoding, "replace")
    sys.stdout.write(shown.decode(encoding))


def readable(text: str) -> str:
    """Text for a person, in which a terminal obeys nothing, whoever wrote it: a model, a source, a compiler."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for char in text.replace("\r\n", "\n")
    )


def _same(left: Path, right: Path) -> bool:
    try:
        return left.samefile(right)
    except OSError:
        return os.path.abspath(left) == os.path.abspath(right)  # noqa: PTH100 - one of them may not exist
