"""Text as an editor and a profiler both count it: lines split as LSP splits them, lenient decoding, spliced edits.

Lines are 1-based. A *column* is an offset in code points; a *character* is an offset in the units of a position
encoding (UTF-8 bytes, UTF-16 units or code points), as an LSP client sends it. Only ``\\n``, ``\\r\\n`` and ``\\r``
end a line: form feeds, U+0085 and U+2028 do not, unlike in ``str.splitlines``.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""Units of ``character`` offsets: bytes, 16-bit units, or code points."""

BLANKS = " \t\f\v"
"""What may trail a line without making it another line."""

_LINE_END = re.compile(r"(\r\n|\n|\r)")
_ESCAPED = re.compile("[\udc80-\udcff]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Decoded(NamedTuple):
    """Text without byte-order mark, and the encoding that was found."""

    text: str
    encoding: str


def decode(data: bytes) -> Decoded:
    """Decode a source file without ever failing: a byte-order mark decides, else UTF-8, else latin-1."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return Decoded(data.decode(encoding, "replace").removeprefix("\ufeff"), encoding)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return Decoded(data.decode("latin-1"), "latin-1")


def repaired(text: str) -> str:
    """``text`` as ``decode`` would have read it: undoes surrogate escapes of undecodable bytes, drops a leading BOM."""
    if _ESCAPED.search(text):
        try:
            text = decode(text.encode("utf-8", "surrogateescape")).text
        except UnicodeEncodeError:  # other lone surrogates: it never was escaped bytes
            return text
    return text.removeprefix("\ufeff")


def split_lines(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines without their ends, and the ends; equally many, the last end is empty. ``""`` is one empty line."""
    if "\r" not in text:
        lines = tuple(text.split("\n"))
        return lines, ("\n",) * (len(lines) - 1) + ("",)
    parts = _LINE_END.split(text)
    return tuple(parts[::2]), (*parts[1::2], "")


def _width(char: str, encoding: Encoding) -> int:
    code = ord(char)
    if encoding == "utf-16":
        return 2 if code > 0xFFFF else 1
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def to_column(line: str, character: int, encoding: Encoding) -> int:
    """Code points of ``line`` before ``character``: clamped into the line, rounded down to a whole code point."""
    if character <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    offset = 0
    for column, char in enumerate(line):
        offset += _width(char, encoding)
        if offset > character:
            return column
    return len(line)


def to_character(line: str, column: int, encoding: Encoding) -> int:
    """Units of ``line`` before code point ``column``, clamped into the line."""
    head = line[: max(column, 0)]
    if encoding == "utf-32" or head.isascii():
        return len(head)
    if encoding == "utf-16":
        return len(head.encode("utf-16-le", "surrogatepass")) // 2
    return len(head.encode("utf-8", "surrogatepass"))


class Position(NamedTuple):
    """A place between two code points: 1-based line, ``character`` in units of the encoding it is used with."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Change:
    """One content change: ``text`` takes the place of what stands between ``start`` and ``end``.

    ``start`` None replaces everything. Positions past a line's or the text's end are clamped, as LSP prescribes;
    an end before its start is taken the other way round.
    """

    text: str
    start: Position | None = None
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class Splice:
    """What a change did to whole lines: ``removed`` old lines from ``first`` on gave way to ``inserted`` new ones.

    Lines at either edge that stayed the same do not count as touched. ``after`` is the text that resulted.
    """

    first: int
    removed: int
    inserted: int
    after: SourceText


@dataclass(frozen=True, eq=False)
class SourceText:
    """An immutable text as lines. An edit copies the list of lines, never the characters of untouched ones."""

    lines: tuple[str, ...]
    ends: tuple[str, ...]

    @staticmethod
    def of(text: str) -> SourceText:
        """Split ``text`` once."""
        return SourceText(*split_lines(text))

    @cached_property
    def text(self) -> str:
        """The whole text with its line ends."""
        return "".join(chain.from_iterable(zip(self.lines, self.ends, strict=True)))

    @property
    def line_count(self) -> int:
        """At least 1: a text that ends with a line end has an empty last line."""
        return len(self.lines)

    def has_lines(self, count: int) -> bool:
        """Whether it has ``count`` lines, leaving aside a blank one after a final line end."""
        return len(self.lines) - count in (0, int(not self.lines[-1].rstrip(BLANKS)))

    def line(self, line: int) -> str:
        """Line ``line`` (1-based) without its end; raises IndexError outside ``1 … line_count``."""
        if not 1 <= line <= len(self.lines):
            raise IndexError(f"line {line} of a text of {len(self.lines)} lines")
        return self.lines[line - 1]

    def locate(self, position: Position, encoding: Encoding) -> tuple[int, int]:
        """The 1-based line and the column in code points that ``position`` means after clamping."""
        if position.line < 1:
            return 1, 0
        if position.line > len(self.lines):
            return len(self.lines), len(self.lines[-1])
        return position.line, to_column(self.lines[position.line - 1], position.character, encoding)

    def apply(self, change: Change, encoding: Encoding = "utf-16") -> tuple[SourceText, Splice]:
        """The text after ``change``, and which lines it touched."""
        if change.start is None or change.end is None:
            start, end = (1, 0), (len(self.lines), len(self.lines[-1]))
        else:
            start, end = sorted((self.locate(change.start, encoding), self.locate(change.end, encoding)))
        first, last = start[0] - 1, end[0]
        middle = self.lines[first][: start[1]] + change.text + self.lines[last - 1][end[1] :]
        if first > 0 and self.ends[first - 1] == "\r" and (middle + self.ends[last - 1]).startswith("\n"):
            first -= 1
            middle = self.lines[first] + "\r" + middle
        lines, ends = split_lines(middle + self.ends[last - 1])
        if self.ends[last - 1]:
            lines, ends = lines[:-1], ends[:-1]
        after = SourceText(
            (*self.lines[:first], *lines, *self.lines[last:]), (*self.ends[:first], *ends, *self.ends[last:])
        )
        return after, _trimmed(first, self.lines[first:last], lines, after)


def _trimmed(first: int, old: tuple[str, ...], new: tuple[str, ...], after: SourceText) -> Splice:
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Splice(first + 1 + head, len(old) - head - tail, len(new) - head - tail, after)
