"""Applies an outcome through the client, and believes only the text: checked before and looked at afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp.server.features.jobs import offer
from optimas_lsp.server.features.offers import claim, workspace_edit
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.snapshot import JobView
from optimas_lsp.server.wording import one_line

if TYPE_CHECKING:
    from optimas_lsp.server.documents import Document
    from optimas_lsp.server.session import Session

SECONDS = 3.0
"""How long after its answer a client may take to send the text it changed."""

OPEN_SECONDS = 10.0
"""How long a client may take to open a file it was asked to show."""


@dataclass(frozen=True)
class Applied:
    """Whether the text is the rewritten one now, and the sentence about it."""

    applied: bool
    sentence: str


class Applier:
    """Applies outcomes of one session, one at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._waiting = ""

    async def apply(self, identifier: str) -> Applied:
        """Apply the outcome of a job; raises JobError where there is nothing to apply, or no text it is for."""
        if self._waiting:
            raise JobError(f"the edit of {self._waiting} still waits for your answer in the editor",
                           remedy="apply or discard it there first")  # fmt: skip
        async with self._turn:
            document = await self._opened(identifier)
            view = self._view(identifier)
            job = view.job
            match offer(self._session.snapshot, view):
                case "applied":
                    return Applied(applied=True, sentence=f"{job.kernel} is rewritten already")
                case "stale":
                    raise JobError(
                        f"{job.kernel} was edited since the rewrite was made, so it does not fit",
                        where=job.path,
                        remedy="undo the edit, or ask for the rewrite again",
                    )
                case "none":
                    raise JobError(f"there is nothing to apply: {job.sentence or job.state}", remedy="see its outcome")
                case _:
                    return await self._send(view, document)

    def _view(self, identifier: str) -> JobView:
        view = self._session.snapshot.jobs.get(identifier)
        if view is None:
            raise JobError(f"there is no job '{identifier}'", remedy="optimas.jobs lists them")
        return view

    async def _opened(self, identifier: str) -> Document:
        """The open document the job is about; a client that can show files is asked to open it."""
        job = self._view(identifier).job
        if (document := self._document(job.path)) is None:
            opened = await self._session.editor.open(job.path)
            if opened:
                await self._text_until(lambda: self._document(job.path) is not None, OPEN_SECONDS)
            document = self._document(job.path)
        if document is None:
            raise JobError("the file is not open", where=job.path, remedy="open it, then apply the rewrite")
        return document

    def _document(self, path: object) -> Document | None:
        return next((each for each in self._session.snapshot.documents.values() if each.path == path), None)

    async def _send(self, view: JobView, document: Document) -> Applied:
        session, job = self._session, view.job
        if not session.editor.client.apply_edit:
            raise JobError(
                "this editor lets no server change a text", remedy="set jobs.offer to edit, or copy the diff"
            )
        settings = session.snapshot.settings_for(job.path)
        confirm = settings is not None and settings.jobs.confirm
        edit = workspace_edit(session.snapshot, view, document, confirm=confirm)
        if edit is None:
            raise JobError(f"{job.kernel} is not what the rewrite was made for", remedy="ask for the rewrite again")
        params = types.ApplyWorkspaceEditParams(edit=edit, label=f"Rewrite {job.kernel}")
        refused = "refused"
        self._waiting = job.kernel if confirm else ""
        try:
            answer = await session.editor.apply(params, patient=confirm)
        except JsonRpcException as error:
            answer, refused = (
                types.ApplyWorkspaceEditResult(applied=False, failure_reason=error.message),
                "did not apply",
            )
        finally:
            self._waiting = ""
        rewritten = await self._text_until(lambda: self._fit(job.id) == "after", SECONDS if answer.applied else 0.0)
        if rewritten:
            return Applied(applied=True, sentence=f"{job.kernel} is rewritten; {claim(job)}. Profile it again to see.")
        untouched = self._fit(job.id) == "before"
        if not answer.applied and untouched:
            why = f": {one_line(answer.failure_reason)}" if answer.failure_reason else ""
            return Applied(applied=False, sentence=f"the editor {refused} the edit{why}; nothing was changed")
        if untouched:
            return Applied(
                applied=False,
                sentence="the editor says that it applied the rewrite, but the text is as before: it skipped the edit, "
                "or has yet to send the text. Look at it; if nothing changed, try again",
            )
        return Applied(
            applied=False, sentence=f"{job.kernel} is neither as before nor as rewritten now: undo, then try again"
        )

    def _fit(self, identifier: str) -> str | None:
        view = self._session.snapshot.jobs.get(identifier)
        return None if view is None or view.standing is None else view.standing.fit

    async def _text_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Whether ``holds()`` becomes true within ``seconds``; looked at whenever a text was opened or edited."""
        news = asyncio.Event()

        def told(*_: object) -> None:
            news.set()

        self._session.on_text.append(told)
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    news.clear()
                    await news.wait()
        except TimeoutError:
            return holds()
        finally:
            self._session.on_text.remove(told)
        return True
