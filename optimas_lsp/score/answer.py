"""The answer that is scored: its proposal, the text it was made for, and the edits it comes to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.edits import EditError, LineEdit, apply, inverse, plan
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.alignment import match
from optimas_lsp.source.syntax import Syntax, language_of, parse
from optimas_lsp.source.text import SourceText, decode

NO_TEXT = "the text that the answer is about is not at hand (optimas score --source FILE gives it)"


class ScoreError(OptimasError):
    """There is nothing in this outcome that could be scored."""


def original_of(rewriting: Rewriting) -> str | None:
    """The source's text before the edit: from the candidate turned back, else from the file if it is still the same.

    None where neither is at hand.
    """
    if rewriting.edited is not None:
        try:
            return apply(SourceText.of(rewriting.edited), inverse(rewriting.edits)).text
        except EditError:  # not as it was written
            return None
    try:
        data = Path(rewriting.source).read_bytes()
    except (OSError, ValueError):
        return None
    same = hashlib.sha256(data).hexdigest() == rewriting.base_sha256
    return decode(data).text if same else None


def shown(rewriting: Rewriting) -> Attempt | None:
    """The answer that an outcome is about: the one that stands, else the one that came nearest, else the last."""
    return rewriting.shown


def of_rounds(rewriting: Rewriting) -> bool:
    """Whether the change is that of several rounds, each with an answer and scores of its own."""
    return bool(rewriting.rounds) and rewriting.edits != rewriting.rounds[0].edits


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer of a rewrite. ``original`` is the source's text before the edit, None where it is not at hand."""

    rewriting: Rewriting
    attempt: Attempt | None
    original: str | None

    @classmethod
    def of(cls, rewriting: Rewriting, original: str | None = None, number: int | None = None) -> Answer:
        """Answer ``number`` (from 1), else the one that is ``shown``; raises ScoreError when there is none."""
        found = shown(rewriting)
        if number is not None:
            found = next((each for each in rewriting.attempts if each.number == number), None)
            if found is None:
                raise ScoreError(
                    f"there is no answer {number}",
                    where=rewriting.source,
                    remedy=f"the outcome has {len(rewriting.attempts)}",
                )
        return cls(rewriting, found, original_of(rewriting) if original is None else original)

    @property
    def proposal(self) -> Proposal | None:
        """What was proposed; None where the answer is no proposal."""
        outcome = None if self.attempt is None else self.attempt.reply.outcome
        return outcome if isinstance(outcome, Proposal) else None

    @property
    def no_change(self) -> str:
        """Why there is no change to score; empty where there is one."""
        outcome = None if self.attempt is None else self.attempt.reply.outcome
        if outcome is None:
            return "nothing was asked"
        if isinstance(outcome, NoProposal):
            return f"there is no proposal: {outcome.sentence}"
        return "" if outcome.functions else "the answer changes nothing"

    @cached_property
    def syntax(self) -> Syntax | None:
        """The original text, parsed."""
        if self.original is None:
            return None
        return parse(SourceText.of(self.original), language_of(self.rewriting.source) or "cuda")

    @cached_property
    def edits(self) -> tuple[LineEdit, ...] | str:
        """What the answer changes in the original text, or why that cannot be told."""
        if self.no_change:
            return self.no_change
        syntax, proposal = self.syntax, self.proposal
        if syntax is None or proposal is None:
            return NO_TEXT
        try:
            if self.rewriting.edits and self.attempt is shown(self.rewriting):
                apply(syntax.text, self.rewriting.edits)
                return self.rewriting.edits
            return plan(syntax.text, proposal, syntax)
        except OptimasError as error:
            return f"the answer cannot be put into the file: {error.sentence()}"


def placed(edits: tuple[LineEdit, ...], syntax: Syntax) -> frozenset[int]:
    """Lines of the original (1-based) that the edits touch, those without code among them.

    A line is touched when it is taken out or a character of it changes: indentation counts, because a line that is
    indented anew has moved into another loop or branch. New lines touch the statement they are put into, and a pragma
    the one it stands before; between two statements they touch no line.
    """
    found: set[int] = set()
    for edit in edits:
        found |= _touched(edit, syntax)
    return frozenset(found)


def _touched(edit: LineEdit, syntax: Syntax) -> set[int]:
    before, after = list(edit.before), list(edit.after)
    lives = [int(each) for each in match(before, after)]
    found = {edit.first + at for at, there in enumerate(lives) if there < 0}
    # Runs of new lines between two old ones that both stay: ``at`` is the old line in front of which they stand.
    kept = [(at, there) for at, there in enumerate(lives) if there >= 0]
    ends = [(-1, -1), *kept, (len(before), len(after))]
    for (old, new), (next_old, next_new) in pairwise(ends):
        if next_old == old + 1 and next_new > new + 1:
            found |= _put_in(after[new + 1 : next_new], edit.first + next_old, syntax)
    return found


def _put_in(new: list[str], line: int, syntax: Syntax) -> set[int]:
    """The line touched by new lines in front of ``line``, if any."""
    last = syntax.text.line_count
    code = [each for each in new if each.strip()]
    if 1 < line <= last and syntax.statement(line - 1) == syntax.statement(line):
        return {line}
    return {line} if code and line <= last and code[-1].lstrip().startswith("#pragma") else set()


def has_code(text: str) -> bool:
    """Whether a line says anything: no blank line, no comment alone, no lone bracket."""
    bare = text.strip()
    return any(char.isalnum() for char in bare) and not bare.startswith(("//", "/*", "*"))
