"""What the server says to the editor: everything outward goes through here, so nothing else knows the protocol.

Requests to the client are bounded: at most one refresh of a kind is unanswered at a time, and none is waited for longer
than a moment.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from optimas_lsp.server import names
from optimas_lsp.server.client import Client
from optimas_lsp.server.hardening import HardenedServer, tokens_of
from optimas_lsp.server.locations import uri_of
from optimas_lsp.server.messages import Encoded
from optimas_lsp.server.wording import without_links

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 30.0
"""How long the client may take to answer what is no question to the user."""

BAR_SECONDS = 2.0
"""How long work may wait for its progress bar; it begins without, and the bar comes when the client has it."""

SECTION = "optimas"

_KINDS = {"error": types.MessageType.Error, "warning": types.MessageType.Warning, "info": types.MessageType.Info}


@dataclass(slots=True)
class _Refresh:
    send: Callable[[], Awaitable[None]]
    wanted: bool = False
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class Editor:
    """One connected client."""

    server: HardenedServer
    client: Client = field(default_factory=Client)
    hotspots: bool = False
    jobs: bool = False
    announce: bool = True
    _refreshes: dict[str, _Refresh] = field(default_factory=dict[str, _Refresh])
    _late: asyncio.Future[Any] | None = None
    _opening: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _tokens: itertools.count[int] = field(default_factory=itertools.count)

    def publish(self, params: Encoded) -> None:
        """Show exactly these diagnostics in one document."""
        self.server.protocol.notify_encoded(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def refresh(self) -> None:
        """Have the client ask again for what it pulls; calls while an answer is due are one more request."""
        server, client = self.server, self.client
        if client.refresh_code_lenses:
            self._refresh("codeLens", lambda: server.workspace_code_lens_refresh_async(None))
        if client.refresh_inlay_hints:
            self._refresh("inlayHint", lambda: server.workspace_inlay_hint_refresh_async(None))
        if client.pull_diagnostics:
            self._refresh("diagnostic", lambda: server.workspace_diagnostic_refresh_async(None))
        self.hotspots_changed()

    def hotspots_changed(self) -> None:
        """Tell a client that lists hot spots that the list would differ now."""
        if self.hotspots:
            self.server.protocol.notify_encoded(names.HOTSPOTS_CHANGED, Encoded("{}"))

    def jobs_changed(self, listing: str) -> None:
        """Tell a client that lists jobs what the list is now; ``listing`` is JSON."""
        if self.jobs:
            self.server.protocol.notify_encoded(names.JOBS_CHANGED, Encoded(listing))

    def _refresh(self, kind: str, send: Callable[[], Awaitable[None]]) -> None:
        refresh = self._refreshes.setdefault(kind, _Refresh(send))
        refresh.wanted = True
        if refresh.task is None or refresh.task.done():
            refresh.task = asyncio.ensure_future(self._drain(kind, refresh))

    async def _drain(self, kind: str, refresh: _Refresh) -> None:
        while refresh.wanted:
            await asyncio.sleep(0)  # several causes within one turn of the loop are one refresh
            refresh.wanted = False
            try:
                await asyncio.wait_for(refresh.send(), ANSWER_SECONDS)
            except (TimeoutError, JsonRpcException) as error:
                logger.warning("the client did not refresh %s: %s", kind, error or "no answer")

    def log(self, text: str, kind: str = "info") -> None:
        """A line in the client's log of this server."""
        self.server.window_log_message(types.LogMessageParams(type=_KINDS[kind], message=text))

    def tell(self, text: str, kind: str = "info") -> None:
        """A sentence the user sees, and finds again in the log."""
        self.server.window_show_message(types.ShowMessageParams(type=_KINDS[kind], message=without_links(text)))
        self.log(text, kind)

    async def ask(self, text: str, choices: Sequence[str]) -> str | None:
        """The choice the user makes, None for none; waits as long as the user does."""
        answer = await self.server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                type=types.MessageType.Info,
                message=without_links(text),
                actions=[types.MessageActionItem(title=choice) for choice in choices],
            )
        )
        return None if answer is None else answer.title

    async def apply(
        self, params: types.ApplyWorkspaceEditParams, *, patient: bool = False
    ) -> types.ApplyWorkspaceEditResult:
        """The client's answer to an edit, which is not to be trusted; ``patient`` waits as long as a user decides.

        Raises JsonRpcException, also when there is no answer.
        """
        asked = self.server.workspace_apply_edit_async(params)
        try:
            return await (asked if patient else asyncio.wait_for(asked, ANSWER_SECONDS))
        except TimeoutError:
            raise JsonRpcException(f"no answer within {ANSWER_SECONDS:.0f} s") from None

    async def open(self, path: Path, *, external: bool = False) -> bool:
        """Show a file, outside of the editor if ``external``; False when the client cannot or will not."""
        if not self.client.show_document:
            return False
        params = types.ShowDocumentParams(uri=uri_of(path), take_focus=True, external=external)
        try:
            result = await asyncio.wait_for(self.server.window_show_document_async(params), ANSWER_SECONDS)
        except (TimeoutError, JsonRpcException) as error:
            logger.warning("the client did not show %s: %s", path, error or "no answer")
            return False
        return result.success

    async def configuration(self, scopes: Sequence[str | None], late: Callable[[], object]) -> list[Any] | None:
        """Our section of the user's settings, once a scope; None when the client has none to give.

        ``late`` is called when the client answers only after that was given up; then it can be asked again.
        """
        if not self.client.configuration:
            return None
        items = [types.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
        asked = asyncio.ensure_future(self.server.workspace_configuration_async(types.ConfigurationParams(items=items)))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await asyncio.shield(asked)
        except JsonRpcException as error:
            logger.warning("the client did not give its settings: %s", error)
            return None
        except TimeoutError:
            logger.warning("the client did not give its settings yet")
            self._await_late(asked, late)
            return None
        values = list(answer)
        return values + [None] * (len(scopes) - len(values))

    def _await_late(self, asked: asyncio.Future[Any], late: Callable[[], object]) -> None:
        """Have ``late`` called when the answer comes after all; only the last question of its kind is waited for."""
        if self._late is not None:
            self._late.cancel()
        self._late = asked
        asked.add_done_callback(lambda done: None if done.cancelled() or done.exception() else late())

    async def register(self, identifier: str, method: str, options: object, *, again: bool = False) -> None:
        """Ask the client for a dynamic registration; ``again`` replaces the one with the same identifier."""
        try:
            if again:
                gone = types.UnregistrationParams(unregisterations=[types.Unregistration(identifier, method)])
                await asyncio.wait_for(self.server.client_unregister_capability_async(gone), ANSWER_SECONDS)
            wish = types.RegistrationParams(registrations=[types.Registration(identifier, method, options)])
            await asyncio.wait_for(self.server.client_register_capability_async(wish), ANSWER_SECONDS)
        except (TimeoutError, JsonRpcException) as error:
            logger.warning("the client did not register %s: %s", method, error or "no answer")

    async def progress(self, title: str, given: types.ProgressToken | None = None) -> Progress:
        """A progress bar the user may cancel; a silent one where the client has none, and until it has it.

        ``given`` is the token of a request, with which the client is ready to show progress.
        """
        begin = types.WorkDoneProgressBegin(title=title, cancellable=True, percentage=0)
        bar = Progress(self.server)
        if given is not None:
            bar.show(given, begin)
        elif self.client.work_done_progress:
            opening = asyncio.ensure_future(self._open_bar(bar, begin))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)
            try:
                await asyncio.wait({opening}, timeout=BAR_SECONDS)
            except asyncio.CancelledError:
                bar.end("cancelled")  # nobody has it who could
                raise
        return bar

    async def _open_bar(self, bar: Progress, begin: types.WorkDoneProgressBegin) -> None:
        token = f"optimas-{next(self._tokens)}"
        try:
            wish = self.server.work_done_progress.create_async(token)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            async with asyncio.timeout(ANSWER_SECONDS):
                await wish
        except (TimeoutError, JsonRpcException) as error:
            logger.warning("the client shows no progress: %s", error or "no answer")
            tokens_of(self.server.work_done_progress).pop(token, None)
        else:
            bar.show(token, begin)


class Progress:
    """One progress bar: silent until it is shown, as it may never be."""

    def __init__(self, server: HardenedServer) -> None:
        self._server = server
        self.token: types.ProgressToken | None = None
        self._last: types.WorkDoneProgressReport | None = None
        self._act: Callable[[], object] | None = None
        self._over = False

    def show(self, token: types.ProgressToken, begin: types.WorkDoneProgressBegin) -> None:
        """The client is ready for it under this token; what was said before is caught up with."""
        if self._over:
            tokens_of(self._server.work_done_progress).pop(token, None)
            return
        self.token = token
        self._server.work_done_progress.begin(token, begin)
        tokens_of(self._server.work_done_progress)[token].add_done_callback(self._cancelled)
        if self._last is not None:
            self._server.work_done_progress.report(token, self._last)

    def _cancelled(self, done: Future[Any]) -> None:
        if done.cancelled() and self._act is not None:
            self._act()

    def on_cancel(self, act: Callable[[], object]) -> None:
        """Do ``act`` when the user cancels."""
        self._act = act

    def report(self, text: str, percentage: int | None = None) -> None:
        """Say how far the work is (percentage 0 to 100)."""
        self._last = types.WorkDoneProgressReport(message=text, percentage=percentage)
        if self.token is not None:
            self._server.work_done_progress.report(self.token, self._last)

    def end(self, text: str) -> None:
        """Say how the work ended."""
        self._over = True
        if self.token is not None:
            self._server.work_done_progress.end(self.token, types.WorkDoneProgressEnd(message=text))
