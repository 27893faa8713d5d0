"""From a proposal to the smallest set of line edits against a text, and their application both ways.

A line whose code is the same keeps its bytes: comments, blanks and line end. New lines take the file's indentation
and line ends. Applying edits and then their inverse gives the original, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.definition import ends_with_brace, new_definition
from optimas_lsp.rewrite.indentation import Indentation
from optimas_lsp.rewrite.line_match import Line, lines_of, matching_lines
from optimas_lsp.rewrite.locate import locate
from optimas_lsp.rewrite.proposal import FunctionText, Proposal
from optimas_lsp.source.alignment import match
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax, parse
from optimas_lsp.source.text import SourceText


class EditError(OptimasError):
    """A proposal cannot become edits of this text, or edits do not fit the text they are applied to."""


class StaleEditError(EditError):
    """The text is no longer what the edits were made for."""


class LineEdit(Frozen):
    """Lines that give way to others. ``first`` is 1-based; every line is whole, with its end.

    ``before`` empty: the new lines are put in front of line ``first``.
    """

    first: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def plan(text: SourceText, proposal: Proposal, syntax: Syntax | None = None) -> tuple[LineEdit, ...]:
    """The edits that put the proposal's functions in the place of the old ones, in the order of the text.

    ``syntax`` is the parse of ``text`` if there is one (CUDA if not). Raises LocationError for a function that is
    missing or ambiguous, EditError for a new text without a definition or functions that overlap.
    """
    parsed = parse(text, "cuda") if syntax is None else syntax
    found: list[tuple[Function, FunctionText]] = [
        (locate(parsed, item.function, item.text), item) for item in proposal.functions
    ]
    found.sort(key=lambda pair: pair[0].extent.start)
    for (one, _), (other, _) in pairwise(found):
        if other.extent.start < one.extent.end:
            places = " and ".join(f"'{each.shown_name}' (line {each.first_line})" for each in (one, other))
            raise EditError(
                f"{places} overlap",
                remedy="give one new text for each function",
            )
    edits: list[LineEdit] = []
    for function, item in found:
        edits += _function_edits(text, parsed, function, item)
    return tuple(_joined(edits))


def apply(text: SourceText, edits: Sequence[LineEdit]) -> SourceText:
    """The text after the edits; raises StaleEditError naming the first line that is not what it was."""
    whole = [line + end for line, end in zip(text.lines, text.ends, strict=True)]
    for edit in sorted(edits, key=lambda each: each.first, reverse=True):
        start, end = edit.first - 1, edit.first - 1 + len(edit.before)
        if tuple(whole[start:end]) != edit.before or start > len(whole):
            raise StaleEditError(
                "the text has changed since the rewrite was made", line=edit.first, remedy="ask for the rewrite again"
            )
        whole[start:end] = edit.after
    return SourceText.of("".join(whole))


def inverse(edits: Sequence[LineEdit]) -> tuple[LineEdit, ...]:
    """The edits that lead back."""
    shift = 0
    found: list[LineEdit] = []
    for edit in sorted(edits, key=lambda each: each.first):
        found.append(LineEdit(first=edit.first + shift, before=edit.after, after=edit.before))
        shift += len(edit.after) - len(edit.before)
    return tuple(found)


def between(before: SourceText, after: SourceText) -> tuple[LineEdit, ...]:
    """Edits that lead from one text to another, whatever led there; lines that live on are left alone."""
    old, new = ([line + end for line, end in zip(each.lines, each.ends, strict=True)] for each in (before, after))
    edits: list[LineEdit] = []
    at_old = at_new = 0
    kept = [(at, int(to)) for at, to in enumerate(match(old, new)) if to >= 0]
    for same_old, same_new in (*kept, (len(old), len(new))):
        if same_old > at_old or same_new > at_new:
            change = LineEdit(first=at_old + 1, before=tuple(old[at_old:same_old]), after=tuple(new[at_new:same_new]))
            edits.append(change)
        at_old, at_new = same_old + 1, same_new + 1
    return tuple(edits)


def _function_edits(text: SourceText, syntax: Syntax, function: Function, item: FunctionText) -> list[LineEdit]:
    definition = new_definition(syntax, function, item.text)
    if definition is None:
        raise EditError(
            f"the new text for '{item.function}' holds no definition of it",
            remedy="give the whole function, from its heading to its closing brace",
        )
    if not ends_with_brace(syntax, function):
        raise EditError(
            f"the definition of '{item.function}' in the file is not complete",
            line=function.first_line,
            remedy="correct the file first: a bracket or a comment is left open",
        )
    first, last = function.extent.first, function.extent.last
    old = list(text.lines[first.line - 1 : last.line])
    ends = list(text.ends[first.line - 1 : last.line])
    prefix, suffix = old[0][: first.column], old[-1][last.column :]
    style = Indentation.of(text.lines, old)
    new = style.fitted(definition, prefix)
    new[0] = prefix + new[0].lstrip(" \t")
    new[-1] += suffix
    language = syntax.language
    wanted = _code(new, language)
    for merge in (_merged, _differing, _replaced):
        merged = merge(lines_of(old, language), lines_of(new, language))
        if _code([line for _, _, lines in merged for line in lines], language) == wanted:
            break
    else:
        raise EditError(f"the new text for '{item.function}' cannot be fitted in")
    return _as_edits(merged, old, ends, first.line, _usual_end(ends, text.ends))


def _code(lines: Sequence[str], language: str) -> list[str]:
    """What a text says, comments and blanks aside."""
    return [token for line in lines_of(list(lines), language) for token in line.code]


Hunk = tuple[int, int, list[str]]
"""Old lines from the first index to the second (exclusive), and what stands there afterwards."""


def _merged(old: list[Line], new: list[Line]) -> list[Hunk]:
    """Hunks over all old lines; lines whose code is the same keep their text, comments beside changes stay."""
    hunks: list[Hunk] = []
    at_old = at_new = 0
    shift: int | None = 0
    for same_old, same_new in (*matching_lines(old, new), (len(old), len(new))):
        hunks += _kept_comments(old, new, (at_old, same_old), (at_new, same_new))
        if same_old < len(old):
            line, shift = _shifted(old[same_old], new[same_new], shift)
            hunks.append((same_old, same_old + 1, [line]))
        at_old, at_new = same_old + 1, same_new + 1
    return hunks


def _kept_comments(old: list[Line], new: list[Line], olds: tuple[int, int], news: tuple[int, int]) -> list[Hunk]:
    """One changed stretch, less the comments at its edges that describe what stays."""
    (start, end), (begin, stop) = olds, news
    if all(not line.code for line in (*old[start:end], *new[begin:stop])):
        commented = any(line.text.strip() for line in old[start:end])
        added = [line.text for line in new[begin:stop]] if any(line.text.strip() for line in new[begin:stop]) else []
        return [(start, end, [line.text for line in old[start:end]] if commented or not added else added)]
    head, tail = start, end
    if begin < stop and new[begin].code:
        while head < end and not old[head].code:
            head += 1
    if begin == stop or new[stop - 1].code:
        while tail > head and not old[tail - 1].code:
            tail -= 1
    return [
        (start, head, [line.text for line in old[start:head]]),
        (head, tail, [line.text for line in new[begin:stop]]),
        (tail, end, [line.text for line in old[tail:end]]),
    ]


def _shifted(old: Line, new: Line, shift: int | None) -> tuple[str, int | None]:
    """A kept line: as it was, unless its statement moved into or out of a block; and how far it moved."""
    if not old.code or old.is_directive:
        return old.text, shift
    if not old.continues:
        shift = len(new.indent) - len(old.indent) if new.indent != old.indent else 0
        if shift:
            return new.indent + old.text.lstrip(" \t"), shift
        return old.text, 0
    if not shift:
        return old.text, shift
    if shift > 0:
        return new.indent[:1] * shift + old.text, shift
    return old.text[min(-shift, len(old.indent)) :], shift


def _differing(old: list[Line], new: list[Line]) -> list[Hunk]:
    """Hunks with nothing kept but lines that are the same."""
    hunks: list[Hunk] = []
    at_old = at_new = 0
    for same_old, same_new in (*matching_lines(old, new), (len(old), len(new))):
        if same_old < len(old) and old[same_old].text != new[same_new].text:
            continue
        hunks.append((at_old, same_old, [line.text for line in new[at_new:same_new]]))
        if same_old < len(old):
            hunks.append((same_old, same_old + 1, [old[same_old].text]))
        at_old, at_new = same_old + 1, same_new + 1
    return hunks


def _replaced(old: list[Line], new: list[Line]) -> list[Hunk]:
    return [(0, len(old), [line.text for line in new])]


def _as_edits(hunks: Iterable[Hunk], old: list[str], ends: list[str], first: int, usual: str) -> list[LineEdit]:
    edits: list[LineEdit] = []
    whole = [hunk for hunk in hunks if hunk[0] < hunk[1] or hunk[2]]
    if not ends[-1] and len(whole) > 1 and whole[-1][0] == len(old):
        # What follows a last line without an end belongs to the edit of that line, which then gets an end.
        (start, end, lines), (_, _, following) = whole[-2:]
        whole[-2:] = [(start, end, lines + following)]
    for start, end, lines in whole:
        if old[start:end] == lines:
            continue
        before = tuple(old[at] + ends[at] for at in range(start, end))
        after = [line + (ends[start + at] or usual if start + at < end else usual) for at, line in enumerate(lines)]
        if lines and end == len(old) and end > start:
            after[-1] = lines[-1] + ends[-1]
        edits.append(LineEdit(first=first + start, before=before, after=tuple(after)))
    return _joined(edits)


def _joined(edits: list[LineEdit]) -> list[LineEdit]:
    """Edits without those that touch each other: they become one."""
    found: list[LineEdit] = []
    for edit in edits:
        last = found[-1] if found else None
        if last is not None and last.first + len(last.before) == edit.first:
            found[-1] = LineEdit(first=last.first, before=last.before + edit.before, after=last.after + edit.after)
        else:
            found.append(edit)
    return found


def _usual_end(ends: Sequence[str], all_ends: Sequence[str]) -> str:
    """The line end that the function's lines have, else the file's, else a line feed."""
    counted = Counter(end for end in ends if end) or Counter(end for end in all_ends if end)
    return counted.most_common(1)[0][0] if counted else "\n"
