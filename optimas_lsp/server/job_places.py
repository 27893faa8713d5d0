"""Where the lines of each job stand in the open text, carried through every edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimas_lsp.server.regions import Standing, moved, standing

if TYPE_CHECKING:
    from optimas_lsp.server.documents import Document
    from optimas_lsp.server.job import Job
    from optimas_lsp.source.text import Splice


class Places:
    """The standing of every job whose file is open, by the job's id."""

    def __init__(self) -> None:
        self._bases: dict[str, tuple[int, ...]] = {}
        self._hints: dict[str, tuple[int, ...]] = {}
        self._standings: dict[str, Standing] = {}

    def of(self, identifier: str) -> Standing | None:
        """How a job's lines stand; None for a file that is not open."""
        return self._standings.get(identifier)

    def put(self, job: Job, document: Document, longest: int | None = None) -> Standing:
        """Look for the lines of ``job`` where they were, or, for blocks of at most ``longest`` lines, in all the text.

        What was edited already when an outcome arrives is not looked for: a copy of it is something else.
        """
        bases = tuple(each.first for each in job.blocks)
        hints = self._hints.get(job.id)
        if hints is None:
            hints = bases
        elif longest is None and self._standings[job.id].fit == "other":
            longest = 0
        if (known := self._bases.get(job.id, bases)) != bases:
            hints = tuple(_carried(first, known, hints) for first in bases)
        found = standing(document.text, job.blocks, hints, longest)
        self._bases[job.id] = bases
        self._hints[job.id] = tuple(first or hint for first, hint in zip(found.firsts, hints, strict=True))
        self._standings[job.id] = found
        return found

    def follow(self, job: Job, document: Document, splices: Sequence[Splice] | None) -> Standing:
        """The standing after an edit (``splices``), or in a text that was just opened."""
        if splices is None or job.id not in self._hints:
            self.drop(job.id)
            return self.put(job, document)
        self._hints[job.id] = moved(self._hints[job.id], splices)
        return self.put(job, document, max((each.inserted for each in splices), default=0))

    def drop(self, identifier: str) -> None:
        """Forget a job."""
        self._bases.pop(identifier, None)
        self._hints.pop(identifier, None)
        self._standings.pop(identifier, None)


def _carried(first: int, bases: Sequence[int], hints: Sequence[int]) -> int:
    """Where a line of the text the job started from stands when its nearest known one stands at its hint."""
    if not bases:
        return first
    base, hint = min(zip(bases, hints, strict=True), key=lambda pair: abs(pair[0] - first))
    return first + hint - base
