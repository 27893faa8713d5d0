"""What is known of every job: kept on disk, placed in the open texts, shown in the snapshot, told to the client.

Everything here runs on the event loop and is short; disks are read and written off it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
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
from optimas_lsp.server.reports import Stamp
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
        self.unkept: dict[str, dict[str, Any]] = {}
        """Outcomes that could not be written, by the job's id."""
        self._unsaved: dict[str, Job] = {}
        self._failed: dict[str, Job] = {}
        self._told_unkept = False
        self._saving: asyncio.Task[None] | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._loaded: dict[Path, Mapping[str, Stamp]] = {}
        self._forgotten: set[str] = set()
        self._look_turn = asyncio.Lock()
        session.on_text.append(self._text)

    async def load(self, folders: Iterable[Path]) -> None:
        """Take in what is kept of folders that were not looked at yet."""
        fresh = [folder for folder in folders if folder not in self._loaded]
        first = not self._loaded
        self._loaded.update((folder, {}) for folder in fresh)
        if not fresh:
            return
        if first:
            self._session.spawn(self._session.background.run(sweep))
            self._session.spawn(self._session.background.run(self.store.presence.sweep))
        found = await self._session.background.run(self.store.load, fresh)
        if self._take(found):
            self._session.show_all_again()

    async def look(self) -> None:
        """Take in what other servers on the open folders did since, and write what could not be written before."""
        for job in self._failed.values():
            self._unsaved.setdefault(job.id, job)
        self._failed.clear()
        mine = [job for job in self.jobs.values() if job.live and not self.elsewhere(job)]
        for lost in await self._session.background.run(self.store.stand_by, mine) if mine else ():
            if self.jobs.get(lost.id) == lost:
                self._unsaved.setdefault(lost.id, lost)
        self._save_soon()
        async with self._look_turn:
            for folder in [each.path for each in self._session.snapshot.folders if each.path in self._loaded]:
                watched = [job.id for job in self.jobs.values() if job.folder == folder and self.elsewhere(job)]
                before = self._loaded[folder]
                look = await self._session.background.run(self.store.look, folder, before, watched)
                if look.files is None:
                    continue
                self._loaded[folder] = look.files
                gone = [each for each in before.keys() - look.files.keys() if self._drop(each)]
                if self._take(look.jobs) or gone:
                    self._session.show_all_again()

    def _take(self, found: Iterable[Job]) -> bool:
        """Have jobs as they are kept, but for those that this server knows better; whether that changed something."""
        news = False
        for kept in found:
            old = self.jobs.get(kept.id)
            ours = self.store.presence.id in (kept.owner, "" if old is None else old.owner)
            if ours or kept.id in self._forgotten or kept.id in self._unsaved or kept.id in self._failed:
                continue
            job = kept if old is None else kept.model_copy(update={"told_stale": old.told_stale})
            if job != old:
                news = True
                self.jobs[job.id] = job
                self.place(job)
        if news:
            self.changed()
        return news

    def _drop(self, identifier: str) -> bool:
        """Have no job that another server removed; whether there was one."""
        job = self.jobs.get(identifier)
        if job is None or job.owner == self.store.presence.id:
            return False
        del self.jobs[identifier]
        self.places.drop(identifier)
        self.changed()
        return True

    def elsewhere(self, job: Job) -> bool:
        """Whether another server runs it."""
        return job.live and job.owner != self.store.presence.id

    def get(self, identifier: str) -> Job:
        """The job with that id; raises JobError."""
        if identifier not in self.jobs:
            raise JobError(f"there is no job '{identifier}'", remedy="optimas.jobs lists them")
        return self.jobs[identifier]

    async def forget(self, identifier: str) -> None:
        """Remove a job that is over and its outcome; raises JobError for one that is not."""
        job = self.get(identifier)
        if job.live:
            where = " in the editor that asked for it" if self.elsewhere(job) else ""
            raise JobError(f"{job.title} is not over", remedy=f"cancel it first{where}")
        del self.jobs[identifier]
        self._forgotten.add(identifier)
        for kept in (self._unsaved, self._failed, self.unkept):
            kept.pop(identifier, None)
        self.places.drop(identifier)
        self.changed()
        self._session.show_all_again()
        await self.saved()  # else it might be written once more
        try:
            await self._session.background.run(self.store.forget, job)
        except OSError as error:
            logger.warning("the job %s stays on disk: %s", identifier, error)

    def drop_old(self, folder: Path) -> None:
        """Of a folder's jobs that are over keep the last, as on disk: each is looked for after every edit."""
        over = [job for job in self.jobs.values() if job.folder == folder and not job.live]
        for old in sorted(over, key=lambda job: job.age)[:-KEPT]:
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
        self._save_soon()

    def _save_soon(self) -> None:
        if self._unsaved and (self._saving is None or self._saving.done()):
            self._saving = asyncio.ensure_future(self._save())

    async def _save(self) -> None:
        while self._unsaved:
            identifier, job = self._unsaved.popitem()
            self._failed[identifier] = job  # until it is written, after its outcome
            if identifier in self.unkept and not await self.keep_outcome(job, self.unkept[identifier]):
                continue
            done = await self._written(self._session.background.run(self.store.save, job))
            if done and self._failed.get(identifier) is job:
                del self._failed[identifier]

    async def keep_outcome(self, job: Job, outcome: dict[str, Any]) -> bool:
        """Write an outcome, or have it in memory until that can be done; whether it is written."""
        self.unkept[job.id] = outcome
        done = await self._written(self._session.background.run(self.store.save_outcome, job, outcome))
        if done:
            self.unkept.pop(job.id, None)
        return done

    async def _written(self, writing: Awaitable[None]) -> bool:
        """Whether ``writing`` could be done; that it cannot is told once, until it can be again."""
        try:
            await writing
        except OSError as error:
            if not self._told_unkept:
                self._told_unkept = True
                self._session.editor.tell(
                    f"Rewrites cannot be kept ({error}): without that they end with this session. Make room or set "
                    "OPTIMAS_STATE_DIR; it is tried again.",
                    "warning",
                )
            return False
        self._told_unkept = False
        return True

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
        views = {job.id: JobView(job, self.places.of(job.id), self.elsewhere(job)) for job in self.jobs.values()}
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
