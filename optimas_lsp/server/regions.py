"""The lines a rewrite is about: where they stand today, whether they are still what it was made for, and its edits.

Nothing here is sure of a place: a block counts only where its lines are the same, byte for byte, ends included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from optimas_lsp.profile.model import Frozen
from optimas_lsp.source.text import SourceText, Splice

if TYPE_CHECKING:
    from optimas_lsp.rewrite.edits import LineEdit
    from optimas_lsp.source.syntax import Syntax

Fit = Literal["before", "after", "other"]
"""The text holds what the rewrite was made for, what the rewrite makes of it, or something else."""


class Block(Frozen):
    """Whole lines with their ends. ``first`` is 1-based in the text the rewrite started from."""

    first: int
    before: tuple[str, ...]
    after: tuple[str, ...] | None = Field(default=None, description="what the rewrite makes of it, once that is known")

    @property
    def end(self) -> int:
        """The line after the last."""
        return self.first + len(self.before)


class Edit(Frozen):
    """Lines that give way to others, as in ``rewrite.edits.LineEdit``: the stored form of what a rewrite changes."""

    first: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """How blocks stand in a text: ``firsts`` are today's first lines (1-based), 0 for a block that is not there."""

    fit: Fit
    firsts: tuple[int, ...]


def whole_lines(text: SourceText, first: int, end: int) -> tuple[str, ...]:
    """Lines ``first`` to ``end`` (exclusive), 1-based, with their ends."""
    return tuple(map("".join, zip(text.lines[first - 1 : end - 1], text.ends[first - 1 : end - 1], strict=True)))


def region(text: SourceText, syntax: Syntax, lines: Iterable[int]) -> tuple[Block, ...]:
    """The functions that hold ``lines``; a line outside of every function stands for itself."""
    spans: list[tuple[int, int]] = []
    for line in lines:
        function = syntax.function_at(line)
        spans.append((line, line + 1) if function is None else (function.first_line, function.last_line + 1))
    return tuple(Block(first=first, before=whole_lines(text, first, end)) for first, end in _joined(spans))


def rewritten(text: SourceText, blocks: Sequence[Block], edits: Sequence[LineEdit | Edit]) -> tuple[Block, ...]:
    """The blocks widened to hold every edit, with what the edits make of them. ``text`` is what the edits are for.

    An insertion is held by a block only together with the line before it, so that it has a place.
    """
    spans = [(each.first, each.end) for each in blocks]
    spans += [(max(1, each.first - (not each.before)), each.first + max(1, len(each.before))) for each in edits]
    found: list[Block] = []
    for first, end in _joined(spans):
        stop = min(end, text.line_count + 1)
        before = whole_lines(text, first, stop)
        after = list(before)
        mine = (each for each in edits if first <= each.first and each.first + len(each.before) <= stop)
        for edit in sorted(mine, key=lambda each: each.first, reverse=True):
            after[edit.first - first : edit.first - first + len(edit.before)] = edit.after
        found.append(Block(first=first, before=before, after=tuple(after)))
    return tuple(found)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((first, end))
    return joined


def moved(hints: Sequence[int], splices: Iterable[Splice]) -> tuple[int, ...]:
    """Where blocks that began at ``hints`` begin after edits; a guess for a block that was edited itself."""
    found = list(hints)
    for splice in splices:
        shift = splice.inserted - splice.removed
        found = [at + shift if at >= splice.first + splice.removed and at > splice.first - 1 else at for at in found]
    return tuple(found)


def standing(text: SourceText, blocks: Sequence[Block], hints: Sequence[int], longest: int | None = None) -> Standing:
    """How ``blocks``, expected at ``hints``, stand in ``text``: all as before, all as after, or otherwise.

    Blocks of more than ``longest`` lines are looked for at their hints alone: a text that was followed edit by edit
    holds what did not arrive in one of its edits where it was, and a copy elsewhere is not it.
    """
    before = [each.before for each in blocks]
    firsts = _places(text, before, blocks, hints, longest)
    after = [each.after for each in blocks if each.after is not None]
    later: tuple[int, ...] = ()
    if len(after) == len(blocks) and blocks:
        later = _places(text, after, blocks, hints, longest)
    if all(firsts):
        if later and all(later) and all(map(_holds, later, after, firsts, before)) and after != before:
            return Standing("after", later)  # lines were only added, at an edge
        return Standing("before", firsts)
    if later and all(later):
        return Standing("after", later)
    return Standing("other", firsts)


def _holds(outer: int, lines: Sequence[str], inner: int, others: Sequence[str]) -> bool:
    return outer <= inner and inner + len(others) <= outer + len(lines)


SHORT = 4
"""Blocks of fewer lines may stand anywhere by chance, and go with the others."""

ALIKE = 3
"""Two places that begin with as many equal lines are copies of each other, and neither is taken for the other."""


def _places(
    text: SourceText, wanted: Sequence[Sequence[str]], blocks: Sequence[Block], hints: Sequence[int], most: int | None
) -> tuple[int, ...]:
    """Where each of ``wanted`` begins; 0 for one that is not there or may be in several places."""
    grown = [len(lines) - len(block.before) for lines, block in zip(wanted, blocks, strict=True)]
    found = [
        next((each for each in (hint, hint - more) if _stands(text, lines, each)), 0)  # lines added in front moved it
        for lines, hint, more in zip(wanted, hints, grown, strict=True)
    ]
    chief = max((len(lines) for lines in wanted), default=0)
    for at, lines in enumerate(wanted):
        if not found[at] and (len(lines) == chief or len(lines) >= SHORT) and (most is None or len(lines) <= most):
            found[at] = _find(text, lines)
    for at, lines in enumerate(wanted):
        if not found[at] and 0 < len(lines) < SHORT:
            shifts = [place - hint for place, hint in zip(found, hints, strict=True) if place]
            guesses = [blocks[at].first + sum(grown[:at]), *(hints[at] + each for each in shifts)]
            found[at] = next((each for each in guesses if _stands(text, lines, each)), 0)
    return tuple(found)


def _find(text: SourceText, wanted: Sequence[str]) -> int:
    """The first line of ``wanted`` at the only place in the text that begins so; 0 when there is none."""
    if not wanted:
        return 0
    head = wanted[0].rstrip("\r\n")
    found = 0
    at = 0
    while True:
        try:
            at = text.lines.index(head, at) + 1
        except ValueError:
            return found if _stands(text, wanted, found) else 0
        if _stands(text, wanted[:ALIKE], at):
            if found:
                return 0
            found = at


def _stands(text: SourceText, wanted: Sequence[str], first: int) -> bool:
    return first >= 1 and whole_lines(text, first, first + len(wanted)) == tuple(wanted)


def agree(blocks: Sequence[Block], edits: Sequence[Edit]) -> bool:
    """Whether the edits are for what the blocks hold, each in one of them, and make of them what they say."""
    placed = 0
    for block in blocks:
        mine = sorted((each for each in edits if block.first <= each.first <= block.end), key=lambda each: each.first)
        after: list[str] = []
        at = block.first
        for edit in mine:
            end = edit.first + len(edit.before)
            if edit.first < at or block.before[edit.first - block.first : end - block.first] != edit.before:
                return False
            after += [*block.before[at - block.first : edit.first - block.first], *edit.after]
            at = end
        after += block.before[at - block.first :]
        if (block.after if edits else block.before) != tuple(after):
            return False
        placed += len(mine)
    return placed == len(edits)


def todays_edits(blocks: Sequence[Block], firsts: Sequence[int], edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The edits at today's lines, given that every block stands as before at ``firsts``."""
    found: list[Edit] = []
    for edit in edits:
        for block, first in zip(blocks, firsts, strict=True):
            if block.first <= edit.first and edit.first + len(edit.before) <= block.end:
                found.append(edit.model_copy(update={"first": edit.first + first - block.first}))
                break
    return tuple(found)
