"""Where the lines of new texts come to stand: a guardrail holds something against a line of the file as changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.edits import LineEdit, apply, plan
from optimas_lsp.rewrite.line_match import lines_of
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.alignment import match
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax

LONGEST = 200_000
"""Characters of all new texts together beyond which no line is looked for."""


@dataclass(frozen=True, eq=False)
class Placing:
    """A proposal put into the text that it is about, if it fits."""

    syntax: Syntax
    proposal: Proposal

    @cached_property
    def _changed(self) -> tuple[tuple[LineEdit, ...], tuple[str, ...]] | None:
        """The edits and the lines of the changed text; None where it cannot be put in."""
        if sum(len(each.text) for each in self.proposal.functions) > LONGEST:
            return None
        try:
            edits = plan(self.syntax.text, self.proposal, self.syntax)
            return edits, apply(self.syntax.text, edits).lines
        except (OptimasError, RecursionError, ValueError):
            return None

    def lines(self, function: Function, text: str) -> tuple[int, ...] | None:
        """For each line of a function's new text its line in the changed file, 1-based; None: it cannot be put in.

        A line that did not get there, such as a comment that gave way to the file's own, counts as the next that did.
        """
        if self._changed is None:
            return None
        edits, changed = self._changed
        first, last = function.first_line, function.last_line
        start = first + sum(_growth(each) for each in edits if each.first < first)
        end = last + sum(_growth(each) for each in edits if each.first <= last)
        new, region = self._codes(text.split("\n")), self._codes(changed[start - 1 : end])
        found = [
            start + int(to) if to >= 0 and code else None for code, to in zip(new, match(new, region), strict=True)
        ]
        return tuple(_filled(found, max(start, end)))

    def _codes(self, lines: Sequence[str]) -> list[str]:
        """What each line says, comments and blanks aside: the file's own comments stay."""
        return ["\0".join(line.code) for line in lines_of([*lines], self.syntax.language)]


def _growth(edit: LineEdit) -> int:
    return len(edit.after) - len(edit.before)


def _filled(found: Sequence[int | None], last: int) -> list[int]:
    """Every line with a number: its own, else that of the next line that has one, else the ``last``."""
    filled: list[int] = []
    following = last
    for each in reversed(found):
        following = following if each is None else each
        filled.append(following)
    return filled[::-1]
