"""The queue of jobs: one a region, a few at once, each a process of its own; what they are and became survives us.

Everything here runs on the event loop and is short. Features see jobs only in the snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server.asking import Asking, NotAcceptedError
from optimas_lsp.server.course_process import LEAVING_PATIENCE, CourseProcess, Talk
from optimas_lsp.server.features.jobs import listing
from optimas_lsp.server.job import Job, State
from optimas_lsp.server.job_outcome import JobError, taken
from optimas_lsp.server.job_places import Places
from optimas_lsp.server.job_store import JobStore
from optimas_lsp.server.snapshot import JobView, frozen

if TYPE_CHECKING:
    from optimas_lsp.server.documents import Document
    from optimas_lsp.server.editor import Progress
    from optimas_lsp.server.session import Session
    from optimas_lsp.source.text import SourceText, Splice

logger = logging.getLogger(__name__)

TELL_SECONDS = 0.1
"""Changes within this time are one change to a client that lists jobs."""

FINISH_SECONDS = LEAVING_PATIENCE + 1.5
"""How long leaving may wait for jobs to end."""


@dataclass(frozen=True)
class Order:
    """A job to be run: ``module`` gets ``request`` (one line of JSON); ``text`` is what the job starts from."""

    job: Job
    module: str
    request: bytes
    seconds: float
    text: SourceText
    token: Any = None


@dataclass
class _Run:
    """A job that is not over: its order, its task once it runs, and who waits for its end."""

    order: Order
    ended: asyncio.Future[Job]
    task: asyncio.Task[None] | None = None
    process: CourseProcess | None = None
    progress: Progress | None = None
    slot: bool = False
    wants_slot: asyncio.Future[None] | None = None
    shown: int = field(default=0)


class Rewrites:
    """The jobs of one session."""

    def __init__(self, session: Session, store: JobStore | None = None) -> None:
        self._session = session
        self.store = store or JobStore.of_user()
        self.places = Places()
        self.jobs: dict[str, Job] = {}
        self.on_end: list[Callable[[Job], None]] = []
        self._runs: dict[str, _Run] = {}
        self._queue: deque[str] = deque()
        self._asking = Asking(session.editor, session.background)
        self._unsaved: dict[str, Job] = {}
        self._saving: asyncio.Task[None] | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._loaded: set[Path] = set()
        session.on_text.append(self._text)

    # -- the list -----------------------------------------------------------------------------------------------------

    async def load(self, folders: Iterable[Path]) -> None:
        """Take in what is kept of folders that were not looked at yet."""
        fresh = [folder for folder in folders if folder not in self._loaded]
        self._loaded.update(fresh)
        if not fresh:
            return
        found = await self._session.background.run(self.store.load, fresh)
        self.jobs = {**{job.id: job for job in found}, **self.jobs}
        for job in found:
            self._place(job)
        self._changed()
        if found:
            self._session.show_all_again()

    def get(self, identifier: str) -> Job:
        """The job with that id; raises JobError."""
        if identifier not in self.jobs:
            raise JobError(f"there is no job '{identifier}'", remedy="optimas.jobs lists them")
        return self.jobs[identifier]

    def busy_with(self, path: Path, blocks: Sequence[Any]) -> Job | None:
        """A job that is not over and concerns one of the same lines of the file at ``path``."""
        for job in self.jobs.values():
            if job.live and job.path == path and job.kind == "rewrite":
                mine = [(each.first, each.end) for each in job.blocks]
                if any(first < each.end and each.first < end for first, end in mine for each in blocks):
                    return job
        return None

    def submit(self, order: Order) -> Job:
        """Queue a job."""
        job = order.job.model_copy(update={"owner": os.getpid()})
        self._runs[job.id] = _Run(replace(order, job=job), asyncio.get_running_loop().create_future())
        self._queue.append(job.id)
        self.jobs[job.id] = job
        self._place(job)
        self._keep(job)
        self._pump()
        self._changed()
        return self.jobs[job.id]

    def cancel(self, identifier: str) -> Job:
        """End a job that is not over, with every process it started; raises JobError when there is nothing to end."""
        job, run = self.get(identifier), self._runs.get(identifier)
        if run is None:
            raise JobError(f"{job.title} is over already", remedy="optimas.forgetJob removes it from the list")
        if run.task is not None:
            run.task.cancel()
        else:
            self._queue.remove(identifier)
            self._over(run, "cancelled", "it was cancelled before it began")
        return self.jobs[identifier]

    async def forget(self, identifier: str) -> None:
        """Remove a job that is over and its outcome; raises JobError for one that is not."""
        job = self.get(identifier)
        if job.live:
            raise JobError(f"{job.title} is not over", remedy="cancel it first")
        del self.jobs[identifier]
        self._unsaved.pop(identifier, None)
        self.places.drop(identifier)
        self._changed()
        self._session.show_all_again()
        await self._session.background.run(self.store.forget, job)

    async def ended(self, identifier: str) -> Job:
        """The job when it is over; cancelling this wait cancels the job."""
        run = self._runs.get(identifier)
        if run is None:
            return self.get(identifier)
        try:
            return await asyncio.shield(run.ended)
        except asyncio.CancelledError:
            if identifier in self._runs:
                self.cancel(identifier)
            raise

    # -- running ------------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Give free slots to those that were accepted meanwhile, then to the queue."""
        settings = self._session.snapshot.settings
        free = (1 if settings is None else settings.jobs.at_once) - sum(run.slot for run in self._runs.values())
        for run in self._runs.values():
            if free > 0 and run.wants_slot is not None and not run.wants_slot.done():
                run.slot = True
                run.wants_slot.set_result(None)
                free -= 1
        while free > 0 and self._queue:
            run = self._runs[self._queue.popleft()]
            run.slot = True
            run.task = asyncio.ensure_future(self._run(run))
            free -= 1

    async def _run(self, run: _Run) -> None:
        order = run.order
        identifier = order.job.id
        state: State = "failed"
        sentence = "it ended unexpectedly; the server's log says more"
        try:
            self._set(identifier, state="running", started=now(), words="starting")
            run.progress = await self._session.editor.progress(order.job.title, order.token)
            run.progress.on_cancel(lambda: run.task.cancel() if run.task else None)
            run.process = CourseProcess(order.module, order.request, order.seconds, self._session.background)
            talk = Talk(partial(self._said, run), self._consent(run))
            answer = await run.process.run(talk)
            await self._session.background.run(self.store.save_outcome, order.job, answer)
            fields = await self._session.background.run(taken, self.jobs[identifier], answer, order.text)
            self.jobs[identifier] = self.jobs[identifier].model_copy(update=fields)
            state, sentence = "done", str(fields["sentence"])
        except asyncio.CancelledError:
            state, sentence = "cancelled", "it was cancelled; everything it started was ended"
        except NotAcceptedError as error:
            state, sentence = "cancelled", error.sentence()
        except OptimasError as error:
            sentence = error.sentence()
        except OSError as error:
            sentence = f"the outcome cannot be kept: {error}"
        finally:
            self._over(run, state, sentence)

    def _over(self, run: _Run, state: State, sentence: str) -> None:
        identifier = run.order.job.id
        del self._runs[identifier]
        leaving = run.process is not None and run.process.leaving
        if not leaving:  # else it is found at the next start, and called interrupted
            job = self._set(identifier, state=state, sentence=sentence, ended=now(), owner=0, words="", stage="")
            self._place(job)
            for told in self.on_end:
                told(job)
        if run.progress is not None:
            run.progress.end(sentence[:200])
        if not run.ended.done():
            run.ended.set_result(self.jobs[identifier])
        self._pump()
        self._changed()
        self._session.show_all_again()

    def _said(self, run: _Run, stage: str, words: str) -> None:
        job = self.jobs[run.order.job.id]
        self.jobs[job.id] = job = job.model_copy(update={"stage": stage, "words": words})
        run.shown = max(run.shown, job.percentage)
        if run.progress is not None:
            run.progress.report(words, run.shown)
        self._changed()

    def _consent(self, run: _Run) -> Callable[[Path, list[dict[str, Any]]], Awaitable[bool]]:
        """Asks while another job may run, and goes on when there is a slot again; raises NotAcceptedError."""

        async def ask(folder: Path, actions: list[dict[str, Any]]) -> bool:
            job = run.order.job

            def waiting() -> None:
                run.slot = False
                self._set(job.id, state="waiting-for-consent", words="waiting for your answer")
                self._pump()

            await self._asking.accept(job.title, folder, actions, waiting)
            if not run.slot:
                run.wants_slot = asyncio.get_running_loop().create_future()
                self._pump()
                await run.wants_slot
            self._set(job.id, state="running")
            return True

        return ask

    # -- what others are told -----------------------------------------------------------------------------------------

    def _set(self, identifier: str, **fields: Any) -> Job:
        self.jobs[identifier] = job = self.jobs[identifier].model_copy(update=fields)
        self._keep(job)
        self._changed()
        return job

    def _keep(self, job: Job) -> None:
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

    def _place(self, job: Job) -> None:
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
            self._changed()

    def closed(self) -> None:
        """A document was closed: what stands in it is not known any more."""
        open_ = {document.path for document in self._session.snapshot.documents.values()}
        for job in self.jobs.values():
            if job.path not in open_:
                self.places.drop(job.id)
        self._changed()

    def _changed(self) -> None:
        session = self._session
        views = {job.id: JobView(job, self.places.of(job.id)) for job in self.jobs.values()}
        session.snapshot = replace(session.snapshot, jobs=frozen(views), queue=tuple(self._queue))
        if session.editor.jobs and self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        import json

        self._telling = None
        self._session.editor.jobs_changed(json.dumps(listing(self._session.snapshot)))

    # -- leaving ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Begin to end every job; ``finish`` waits for that."""
        self._queue.clear()
        for run in list(self._runs.values()):
            if run.process is not None:
                run.process.leaving = True
            if run.task is not None:
                run.task.cancel()

    async def finish(self) -> None:
        """Wait a moment until every process of ours has ended."""
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=FINISH_SECONDS)
        if self._saving is not None and not self._saving.done():
            await asyncio.wait([self._saving], timeout=1.0)


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()
