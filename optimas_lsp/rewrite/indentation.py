"""Indentation: what a file uses, and text written in another style brought into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_LONGEST_UNIT = 8


def indent_of(line: str) -> str:
    """The blanks and tabs a line starts with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def unit_of(lines: Sequence[str]) -> str | None:
    """One step of indentation in ``lines``: a tab or some blanks; None where none can be seen."""
    indents = [indent_of(line) for line in lines if line.strip()]
    tabs = sum(indent.startswith("\t") for indent in indents)
    spaces = sum(indent.startswith(" ") for indent in indents)
    if not tabs and not spaces:
        return None
    if tabs > spaces:
        return "\t"
    return _opened(lines) or _least([len(indent) for indent in indents if "\t" not in indent])


def _opened(lines: Sequence[str]) -> str | None:
    """How far lines usually are indented after one that opens a block."""
    steps: Counter[int] = Counter()
    for line, following in pairwise(line for line in lines if line.strip()):
        opens = line.count("{") > line.count("}") or line.rstrip().endswith(":")
        if opens and "\t" not in indent_of(line) + indent_of(following):
            steps[len(indent_of(following)) - len(indent_of(line))] += 1
    usual = [step for step, _ in steps.most_common() if 1 < step <= _LONGEST_UNIT]
    return " " * usual[0] if usual else None


def _least(widths: Sequence[int]) -> str | None:
    least = min((width for width in widths if width > 1), default=0)
    return " " * least if 0 < least <= _LONGEST_UNIT else None


@dataclass(frozen=True, slots=True)
class Indentation:
    """The file's step of indentation."""

    unit: str

    @classmethod
    def of(cls, file: Sequence[str], function: Sequence[str]) -> Indentation:
        """That of the function's old lines, else that of the file, else four blanks."""
        return cls(unit_of(function) or unit_of(file) or "    ")

    def fitted(self, lines: Sequence[str], base: str) -> list[str]:
        """``lines`` in the file's style, the first indented like ``base`` (if that is blank), the others from there."""
        own = unit_of(lines) or self.unit
        start = indent_of(lines[0])
        outer = base if not base.strip() else indent_of(base)
        return [self._one(line, own, start, outer) for line in lines]

    def _one(self, line: str, own: str, start: str, outer: str) -> str:
        content = line.strip(" \t")
        if not content:
            return ""
        indent = indent_of(line)
        content = line[len(indent) :].rstrip(" \t")
        if content.startswith("#") and not indent:
            return content
        if own == self.unit and indent.startswith(start):
            return outer + indent[len(start) :] + content
        step = 1 if own == "\t" else len(own)
        width = _width(indent, step, own) - _width(start, step, own)
        levels, rest = divmod(max(0, width), step)
        return outer + self.unit * levels + " " * rest + content


def _width(indent: str, step: int, own: str) -> int:
    """Columns of an indentation, counted in blanks of the text's own step; a tab is one step."""
    if own == "\t":
        return indent.count("\t") + indent.count(" ") // 4
    return indent.count(" ") + indent.count("\t") * step
