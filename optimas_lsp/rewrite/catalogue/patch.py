"""Edits of a source text by byte offsets, and what they leave."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` takes the place of bytes ``start`` to ``end`` (exclusive)."""

    start: int
    end: int
    text: str


def applied(data: bytes, edits: Iterable[Edit]) -> bytes:
    """``data`` after all edits; raises ValueError if two of them overlap."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    parts: list[bytes] = []
    at = 0
    for edit in ordered:
        if edit.start < at:
            raise ValueError("edits overlap")
        parts += (data[at : edit.start], edit.text.encode())
        at = edit.end
    return b"".join((*parts, data[at:]))


def indent_at(data: bytes, offset: int) -> str:
    """The blanks that the line of ``offset`` starts with."""
    start = data.rfind(b"\n", 0, offset) + 1
    match = re.match(rb"[ \t]*", data[start:])
    return match.group().decode() if match else ""


def line_start(data: bytes, offset: int) -> int:
    """Where the line of ``offset`` begins."""
    return data.rfind(b"\n", 0, offset) + 1


def indented(lines: Iterable[str], indent: str) -> str:
    """Lines of a replacement: all but the first start with ``indent``; blank ones stay blank."""
    first, *rest = lines
    return "\n".join((first, *(indent + line if line and not line.startswith("#") else line for line in rest)))


def renamed(text: str, names: dict[str, str]) -> str:
    """``text`` with whole words replaced, members after ``.`` and ``->`` aside."""
    if not names:
        return text
    pattern = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(map(re.escape, names)) + r")(?!\w)")
    return pattern.sub(lambda match: names[match.group(1)], text)


def shifted(text: str, old: str, new: str) -> list[str]:
    """The lines of ``text``, which stood at indentation ``old``, for indentation ``new`` before each but the first."""
    lines = text.split("\n")
    return [lines[0], *(new + line.removeprefix(old) if line.strip() else "" for line in lines[1:])]
