"""Expectations written into copies of the samples, as comments on lines of their own.

    float score = scores[row * classes + c];
    //@ diag("long_scoreboard", "86%") hint("86 %")

A mark speaks of the nearest line above that holds no marks, so that line reads as it was profiled; what the marks push
down is an edit like any other. Python files use ``#@``. Arguments are Python literals.

=====================  =================================================================================
``diag(rule, share)``  a finding of that rule and share of samples (whole percent), information or above
``lens(text)``         a code lens at this line whose title holds ``text``
``hint(text)``         an inlay hint on this line that holds ``text``
``hover(text)``        the hover of this line holds ``text``
``gone()``             the line was changed after profiling: no finding, no hint
=====================  =================================================================================
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_MARKED = re.compile(r"^[ \t]*(?://|#)@(?P<marks>.*)$")
_CALL = re.compile(r"\s*(?P<name>[a-z_]+)\((?P<arguments>(?:[^\"'()]|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')*)\)\s*")

ARGUMENTS = {"diag": 2, "lens": 1, "hint": 1, "hover": 1, "gone": 0}


class MarkError(ValueError):
    """A mark that cannot be understood; the message names file and line."""


@dataclass(frozen=True)
class Mark:
    """One expectation about ``line`` (1-based, of the marked text)."""

    line: int
    name: str
    arguments: tuple[str, ...]


def is_marked(line: str) -> bool:
    """Whether the line holds marks and nothing else."""
    return bool(_MARKED.match(line))


def parse_marks(text: str, file: str = "<text>") -> list[Mark]:
    """Every mark of a marked source, in order; raises MarkError."""
    marks: list[Mark] = []
    subject = 0
    for number, line in enumerate(text.split("\n"), 1):
        found = _MARKED.match(line)
        if not found:
            subject = number
            continue
        if subject == 0:
            raise MarkError(f"{file}:{number}: a mark needs a line above it")
        rest = found["marks"]
        while rest.strip():
            call = _CALL.match(rest)
            if not call:
                raise MarkError(f"{file}:{number}: not a mark: {rest.strip()!r}")
            marks.append(Mark(subject, call["name"], _arguments(call, f"{file}:{number}")))
            rest = rest[call.end() :]
    return marks


def _arguments(call: re.Match[str], where: str) -> tuple[str, ...]:
    name, text = call["name"], call["arguments"].strip()
    try:
        values: object = ast.literal_eval(f"({text},)") if text else ()
    except (SyntaxError, ValueError):
        raise MarkError(f"{where}: arguments of {name} are not literals: {text}") from None
    if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
        raise MarkError(f"{where}: arguments of {name} must be strings: {text}")
    if name not in ARGUMENTS:
        raise MarkError(f"{where}: there is no mark '{name}' (known: {', '.join(ARGUMENTS)})")
    if len(values) != ARGUMENTS[name]:
        raise MarkError(f"{where}: {name} takes {ARGUMENTS[name]} arguments, not {len(values)}")
    return tuple(str(value) for value in values)


def without_marks(text: str) -> str:
    """The source with its marker lines taken out."""
    return "\n".join(line for line in text.split("\n") if not is_marked(line))


def with_marks(text: str, expected: dict[int, list[str]], comment: str) -> str:
    """``text`` (without marks) with the marks of each 1-based line written below it, indented alike."""
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        lines.append(line)
        if number in expected:
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}{comment}@ {' '.join(expected[number])}")
    return "\n".join(lines)
