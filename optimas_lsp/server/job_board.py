"""What is known of every job: kept on disk, placed in the open texts, shown in the snapshot, told to the client.

Everything here runs on the event loop and is short; disks are read and written off it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.server.course_process import sweep
from optimas_lsp.server.features.jobs import listing
from optimas_lsp.server.job import Job
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.job_places import Places
from optimas_lsp.server.job_store import KEPT, JobStore
from optimas_lsp.server.snapshot import JobView, frozen

if TYPE_CHECKING:
    from optimas_lsp.server.documents import Document
    from optimas_lsp.server.session import Session
    from optimas_lsp.source.text import Splice

logger = logging.getLogger(__name__)

TELL_SECONDS = 0.1
"""Changes within this time are one change to a client that lists jobs."""


class JobBoard:
    """The jobs of one session, by id; ``queue`` are the ids of those that wait, in order."""

    def __init__(self, session: Session, store: JobStore | None = None) -> None:
        self._session = session
        self.store = store or JobStore.of_user()
        self.places = Places()
        self.jobs: dict[str, Job] = {}
        self.queue: list[str] = []
        self.on_end: list[Callable[[Job], None]] = []
        self._unsaved: dict[str, Job] = {}
        self._saving: asyncio.Task[None] | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._loaded: set[Path] = set()
        session.on_text.append(self._text)

    async def load(self, folders: Iterable[Path]) -> None:
        """Take in what is kept of folders that were not looked at yet."""
        fresh = [folder for folder in folders if folder not in self._loaded]
        first = not self._loaded
        self._loaded.update(fresh)
        if not fresh:
            return
        if first:
            self._session.spawn(self._session.background.run(sweep))
        found = await self._session.background.run(self.store.load, fresh)
        self.jobs = {**{job.id: job for job in found}, **self.jobs}
        for job in found:
            self.place(job)
        self.changed()
        if found:
            self._session.show_all_again()

    def get(self, identifier: str) -> Job:
        """The job with that id; raises JobError."""
        if identifier not in self.jobs:
            raise JobError(f"there is no job '{identifier}'", remedy="optimas.jobs lists them")
        return self.jobs[identifier]

    async def forget(self, identifier: str) -> None:
        """Remove a job that is over and its outcome; raises JobError for one that is not."""
        job = self.get(identifier)
        if job.live:
            raise JobError(f"{job.title} is not over", remedy="cancel it first")
        del self.jobs[identifier]
        self._unsaved.pop(identifier, None)
        self.places.drop(identifier)
        self.changed()
        self._session.show_all_again()
        await self._session.background.run(self.store.forget, job)

    def drop_old(self, folder: Path) -> None:
        """Of a folder's jobs that are over keep the last, as on disk: each is looked for after every edit."""
        over = [job for job in self.jobs.values() if job.folder == folder and not job.live]
        for old in sorted(over, key=lambda job: job.created)[:-KEPT]:
            self._session.spawn(self.forget(old.id))

    def set(self, identifier: str, **fields: Any) -> Job:
        """Give a job new values, keep it and show it."""
        self.jobs[identifier] = job = self.jobs[identifier].model_copy(update=fields)
        self.keep(job)
        self.changed()
        return job

    def keep(self, job: Job) -> None:
        """Have it written to disk; of several states of one job the last."""
        self._unsaved[job.id] = job
        if self._saving is None or self._saving.done():
            self._saving = asyncio.ensure_future(self._save())

    async def _save(self) -> None:
        while self._unsaved:
            _, job = self._unsaved.popitem()
            try:
                await self._session.background.run(self.store.save, job)
            except OSError as error:
                logger.warning("the job %s cannot be kept: %s", job.id, error)

    def place(self, job: Job) -> None:
        """Look for the job's lines anew."""
        for document in self._session.snapshot.documents.values():
            if document.path == job.path:
                self.places.put(job, document)

    def _text(self, document: Document, splices: list[Splice] | None) -> None:
        """A document was opened (``splices`` None) or edited: find the lines of its jobs again."""
        changed = False
        for job in [each for each in self.jobs.values() if each.path == document.path and each.blocks]:
            before = self.places.of(job.id)
            now_there = self.places.follow(job, document, splices)
            changed |= before is None or before.fit != now_there.fit or before.firsts != now_there.firsts
            if job.live and now_there.fit == "other" and not job.told_stale:
                self.jobs[job.id] = job.model_copy(update={"told_stale": True})
                self._session.editor.tell(
                    f"{job.kernel} was edited while it is being rewritten: the result will fit only if its text is as "
                    "before again."
                )
        if changed:
            self.changed()

    def closed(self) -> None:
        """A document was closed: what stands in it is not known any more."""
        open_ = {document.path for document in self._session.snapshot.documents.values()}
        for job in self.jobs.values():
            if job.path not in open_:
                self.places.drop(job.id)
        self.changed()

    def changed(self) -> None:
        """Let features and the client see how jobs stand now."""
        session = self._session
        views = {job.id: JobView(job, self.places.of(job.id)) for job in self.jobs.values()}
        session.snapshot = replace(session.snapshot, jobs=frozen(views), queue=tuple(self.queue))
        if session.editor.jobs and self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        self._telling = None
        self._session.editor.jobs_changed(json.dumps(listing(self._session.snapshot)))

    async def saved(self) -> None:
        """Wait a moment until what changed is on disk."""
        if self._saving is not None and not self._saving.done():
            await asyncio.wait([self._saving], timeout=1.0)


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()
