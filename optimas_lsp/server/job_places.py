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
        self._hints: dict[str, tuple[int, ...]] = {}
        self._standings: dict[str, Standing] = {}

    def of(self, identifier: str) -> Standing | None:
        """How a job's lines stand; None for a file that is not open."""
        return self._standings.get(identifier)

    def put(self, job: Job, document: Document) -> Standing:
        """Look for the lines of ``job`` where they were, or in the whole text."""
        hints = self._hints.get(job.id)
        if hints is None or len(hints) != len(job.blocks):
            hints = tuple(each.first for each in job.blocks)
        found = standing(document.text, job.blocks, hints)
        self._hints[job.id] = tuple(first or hint for first, hint in zip(found.firsts, hints, strict=True))
        self._standings[job.id] = found
        return found

    def follow(self, job: Job, document: Document, splices: Sequence[Splice] | None) -> Standing:
        """The standing after an edit (``splices``), or in a text that was just opened."""
        if splices is not None and job.id in self._hints:
            self._hints[job.id] = moved(self._hints[job.id], splices)
        return self.put(job, document)

    def drop(self, identifier: str) -> None:
        """Forget a job."""
        self._hints.pop(identifier, None)
        self._standings.pop(identifier, None)
