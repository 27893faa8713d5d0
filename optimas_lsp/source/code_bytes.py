"""A source text as a parser reads it: UTF-8 bytes, with the way back to lines and columns.

Lone carriage returns, which end a line for LSP but not for a C++ grammar, are line feeds here; offsets stay the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from optimas_lsp.source.text import SourceText

_LONE_RETURN = re.compile(rb"\r(?!\n)")
_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes that continue a code point of UTF-8; all others start one."""


class Place(NamedTuple):
    """1-based line and 0-based column in code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of code: byte offsets of the UTF-8 text (end exclusive) and the same as places."""

    start: int
    end: int
    first: Place
    last: Place


class Stretch(Protocol):
    """Anything with byte offsets, such as a syntax node."""

    @property
    def start_byte(self) -> int: ...
    @property
    def end_byte(self) -> int: ...


@dataclass(frozen=True, eq=False)
class CodeBytes:
    """``data`` is the UTF-8 text (lone surrogates included), ``starts[k]`` the byte where line ``k + 1`` starts."""

    data: bytes
    ascii: bool

    @staticmethod
    def of(text: SourceText) -> CodeBytes:
        """Encode ``text``."""
        whole = text.text
        data = whole.encode("utf-8", "surrogatepass")
        if "\r" in whole:
            data = _LONE_RETURN.sub(b"\n", data)
        return CodeBytes(data, ascii=len(data) == len(whole))

    @cached_property
    def starts(self) -> list[int]:
        """Ascending; as many as the text has lines."""
        ends = np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8) == ord("\n"))
        return [0, *(ends + 1).tolist()]

    def text(self, node: Stretch) -> str:
        """The text of a syntax node (taken from here: the parser would read it through its callback again)."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def row(self, offset: int) -> int:
        """The 0-based line that byte ``offset`` is on."""
        return bisect_right(self.starts, offset) - 1

    def place(self, offset: int) -> Place:
        """The line and column of a byte offset, which must be at the start of a code point."""
        row = self.row(offset)
        head = self.data[self.starts[row] : offset]
        return Place(row + 1, len(head if self.ascii else head.translate(None, _CONTINUATIONS)))

    def span(self, start: int, end: int) -> Span:
        """The stretch from byte ``start`` to byte ``end``."""
        return Span(start, end, self.place(start), self.place(end))

    def line_bytes(self, line: int) -> tuple[int, int]:
        """Where line ``line`` (1-based) starts and where its text ends, without the line end."""
        start = self.starts[line - 1]
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.data)
        return start, end - (self.data[start:end].endswith(b"\r") if line < len(self.starts) else 0)


def difference(old: bytes, new: bytes) -> tuple[int, int, int]:
    """The one replaced stretch that leads from ``old`` to ``new``: its start, and its end in either."""
    limit = min(len(old), len(new))
    start = _same_head(old, new, limit)
    left = limit - start
    same = _same_head(old[::-1][:left], new[::-1][:left], left) if left else 0
    return start, len(old) - same, len(new) - same


def _same_head(one: bytes, other: bytes, limit: int) -> int:
    differs = np.frombuffer(one, np.uint8, limit) != np.frombuffer(other, np.uint8, limit)
    place = int(differs.argmax()) if limit else 0
    return place if limit and differs[place] else limit
