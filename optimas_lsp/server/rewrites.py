"""The queue of jobs: one a region, a few at once, each a process of its own; what they are and became survives us.

Everything here runs on the event loop and is short. Features see jobs only in the snapshot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server.asking import Asking, NotAcceptedError
from optimas_lsp.server.course_process import LEAVING_PATIENCE, CourseProcess, Talk
from optimas_lsp.server.job import Job, State
from optimas_lsp.server.job_board import JobBoard, now
from optimas_lsp.server.job_outcome import JobError, taken
from optimas_lsp.server.job_store import JobStore

if TYPE_CHECKING:
    from optimas_lsp.server.editor import Progress
    from optimas_lsp.server.session import Session
    from optimas_lsp.source.text import SourceText

logger = logging.getLogger(__name__)

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


class Rewrites(JobBoard):
    """The jobs of one session, with those that run and those that wait."""

    def __init__(self, session: Session, store: JobStore | None = None) -> None:
        super().__init__(session, store)
        self._runs: dict[str, _Run] = {}
        self._asking = Asking(session.editor, session.background)
        self._admitting = asyncio.Lock()
        self._closed = False

    # -- the list -----------------------------------------------------------------------------------------------------

    def busy_with(self, other: Job) -> Job | None:
        """A job that is not over and would rewrite the same kernel, or some of the same lines, as ``other``."""
        return next((job for job in self.jobs.values() if job.live and job.conflicts(other)), None)

    async def submit(self, order: Order) -> Job:
        """Queue a job; raises JobError where this or another server rewrites the same already."""
        admission = asyncio.ensure_future(self._admit(order))
        try:
            return await asyncio.shield(admission)
        except asyncio.CancelledError:
            admission.add_done_callback(self._unwanted)
            raise

    async def _admit(self, order: Order) -> Job:
        async with self._admitting:
            owner, number = self.store.presence.id, 1 + max((job.number for job in self.jobs.values()), default=0)
            job = order.job.model_copy(update={"owner": owner, "number": number})
            other = self.busy_with(job)
            if other is None:
                try:
                    job, other = await self._session.background.run(self.store.claim, job)
                except TimeoutError:
                    raise JobError("another editor is about to ask for a rewrite, and does not go on",
                                   remedy="end it if it was stopped, then ask again") from None  # fmt: skip
                except OSError as error:  # nobody else can know of it then
                    logger.warning("the job %s cannot be kept: %s", job.id, error)
            if other is not None:
                self._take([other])
                where, there = (", in another editor", " there") if self.elsewhere(other) else ("", "")
                raise JobError(f"{other.kernel} is being rewritten already ({other.title}){where}", where=job.path,
                               remedy=f"wait for it or cancel it{there}")  # fmt: skip
            if self._closed:
                raise JobError("the server is leaving", remedy="ask again")
            self._runs[job.id] = _Run(replace(order, job=job), asyncio.get_running_loop().create_future())
            self.queue.append(job.id)
            self.jobs[job.id] = job
        self.place(job)
        self.keep(job)
        self._pump()
        self.changed()
        return self.jobs[job.id]

    def _unwanted(self, admission: asyncio.Task[Job]) -> None:
        """Cancel a job that was admitted after its request was cancelled."""
        if not admission.cancelled() and admission.exception() is None and admission.result().id in self._runs:
            self.cancel(admission.result().id)

    def cancel(self, identifier: str) -> Job:
        """End a job that is not over, with every process it started; raises JobError when there is nothing to end."""
        job, run = self.get(identifier), self._runs.get(identifier)
        if run is None and self.elsewhere(job):
            raise JobError(f"{job.title} runs in another editor", remedy="cancel it there")
        if run is None:
            raise JobError(f"{job.title} is over already", remedy="optimas.forgetJob removes it from the list")
        if run.task is not None:
            run.task.cancel()
        else:
            self.queue.remove(identifier)
            self._over(run, "cancelled", "it was cancelled before it began")
        return self.jobs[identifier]

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
        while free > 0 and self.queue:
            run = self._runs[self.queue.pop(0)]
            run.slot = True
            run.task = asyncio.ensure_future(self._run(run))
            free -= 1

    async def _run(self, run: _Run) -> None:
        order = run.order
        identifier = order.job.id
        state: State = "failed"
        sentence = "it ended unexpectedly; the server's log says more"
        try:
            self.set(identifier, state="running", started=now(), words="starting")
            run.progress = await self._session.editor.progress(order.job.title, order.token)
            run.progress.on_cancel(lambda: run.task.cancel() if run.task else None)
            run.process = CourseProcess(order.module, order.request, order.seconds, self._session.background)
            talk = Talk(partial(self._said, run), self._consent(run))
            answer = await run.process.run(talk)
            await self.keep_outcome(order.job, answer)
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
            sentence = f"it could not be run: {error}"
        finally:
            self._over(run, state, sentence)

    def _over(self, run: _Run, state: State, sentence: str) -> None:
        identifier = run.order.job.id
        del self._runs[identifier]
        leaving = run.process is not None and run.process.leaving
        if not leaving:  # else it is found at the next start, and called interrupted
            job = self.set(identifier, state=state, sentence=sentence, ended=now(), owner="", words="", stage="")
            self.place(job)
            for told in self.on_end:
                told(job)
            self.drop_old(job.folder)
        if run.progress is not None:
            run.progress.end(sentence[:200])
        if not run.ended.done():
            run.ended.set_result(self.jobs[identifier])
        self._pump()
        self.changed()
        self._session.show_all_again()

    def _said(self, run: _Run, stage: str, words: str) -> None:
        job = self.jobs[run.order.job.id]
        self.jobs[job.id] = job = job.model_copy(update={"stage": stage, "words": words})
        run.shown = max(run.shown, job.percentage)
        if run.progress is not None:
            run.progress.report(words, run.shown)
        self.changed()

    def _consent(self, run: _Run) -> Callable[[Path, list[dict[str, Any]]], Awaitable[bool]]:
        """Asks while another job may run, and goes on when there is a slot again; raises NotAcceptedError."""

        async def ask(folder: Path, actions: list[dict[str, Any]]) -> bool:
            job = run.order.job

            def waiting() -> None:
                run.slot = False
                self.set(job.id, state="waiting-for-consent", words="waiting for your answer")
                self._pump()

            await self._asking.accept(job.title, folder, actions, waiting)
            if not run.slot:
                run.wants_slot = asyncio.get_running_loop().create_future()
                self._pump()
                await run.wants_slot
            self.set(job.id, state="running")
            return True

        return ask

    # -- leaving ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Begin to end every job; ``finish`` waits for that."""
        self._closed = True
        self.queue.clear()
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
        await self.saved()
        leaving = asyncio.ensure_future(self._session.background.run(self.store.presence.leave))
        await asyncio.wait([leaving], timeout=1.0)
