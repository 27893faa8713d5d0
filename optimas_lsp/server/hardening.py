"""pygls with its known defects cured; every cure here has a test of its own in ``tests/server/test_hardening.py``.

Observed in pygls 2.1.1 and remedied: a request whose parameters do not decode is never answered; cancelling a running
command answers but does not stop it; futures of notifications and tokens of progress are kept for ever; ``shutdown``
may fail while requests are in flight; ``exit`` waits for threads and forgets its status; a failing notification pops
up a message; documents are kept twice, once wrongly. Bytes are read in ``transport.py``, messages understood and
answered in ``messages.py``, texts kept in ``documents.py``; here is how handlers run, and the built-in methods.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcInternalError,
    JsonRpcInvalidParams,
)
from pygls.lsp.server import LanguageServer
from pygls.progress import Progress
from pygls.protocol import lsp_method

from optimas_lsp.server.messages import MessageProtocol

if TYPE_CHECKING:
    from pygls.protocol.json_rpc import MsgId

logger = logging.getLogger(__name__)

_token: contextvars.ContextVar[types.ProgressToken | None] = contextvars.ContextVar("token", default=None)


def token_of_request() -> types.ProgressToken | None:
    """The token with which the client is ready to show the progress of the command that runs here."""
    return _token.get()


class TidyProgress(Progress):
    """Progress that forgets a token when its work has ended."""

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        """Tell the client that the work ended and drop the token."""
        tokens_of(self).pop(token, None)
        super().end(token, value)


class HardenedProtocol(MessageProtocol):
    """The protocol of pygls: runs handlers, ends them with their requests and keeps nothing of what is over."""

    _server: HardenedServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, server: HardenedServer, converter: Any) -> None:
        super().__init__(server, converter)
        self.progress = TidyProgress(self)

    # -- running handlers -----------------------------------------------------------------------------------------

    def _execute_handler(
        self,
        msg_id: MsgId,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run one handler; what it leaves in the books is removed when it is done, however it ends."""
        self._start(msg_id, handler, callback, args or (), kwargs or {})

    def _start(
        self,
        msg_id: MsgId,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Future[Any] | asyncio.Future[Any]:
        future: Future[Any] | asyncio.Future[Any]
        if inspect.iscoroutinefunction(handler):
            future = asyncio.ensure_future(handler(*args, **kwargs))
            self._keep(msg_id, future, callback)
            return future
        future = Future()
        self._keep(msg_id, future, callback)
        try:
            if inspect.isgeneratorfunction(handler):
                self._advance(None, gen=handler(*args, **kwargs), result_future=future)
            else:
                future.set_result(handler(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes the error of its reply
            if not future.done():
                future.set_exception(error)
        return future

    def _keep(self, msg_id: MsgId, future: Future[Any] | asyncio.Future[Any], callback: Callable[[Any], None]) -> None:
        self._request_futures[msg_id] = cast("Future[Any]", future)

        def drop(_: object) -> None:
            self._request_futures.pop(msg_id, None)

        future.add_done_callback(drop)
        future.add_done_callback(callback)

    def _advance(
        self,
        done: Future[Any] | asyncio.Future[Any] | None,
        *,
        gen: Generator[Any, Any, Any],
        result_future: Future[Any],
    ) -> None:
        """Run a built-in handler up to the handler it hands over to; cancelling its request cancels that one."""
        if result_future.done():
            gen.close()
            return
        try:
            handler, args, kwargs = gen.send(None if done is None else done.result())
        except StopIteration as finished:
            result_future.set_result(finished.value)
            return
        except asyncio.CancelledError:
            if result_future.cancel():
                return
            result_future.set_exception(JsonRpcInternalError("cancelled"))
            return
        except Exception as error:  # noqa: BLE001 - becomes the error of the reply
            result_future.set_exception(error)
            return
        inner = self._start(
            str(uuid.uuid4()),
            handler,
            partial(self._advance, gen=gen, result_future=result_future),
            tuple(args or ()),
            dict(kwargs or {}),
        )

        def stop_inner(outer: Future[Any]) -> None:
            if outer.cancelled():
                inner.cancel()

        result_future.add_done_callback(stop_inner)

    def _check_handler_result(self, future: Future[Any]) -> None:
        """Log the failure of a notification; nobody asked a question, so nobody is interrupted by a message."""
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("a notification could not be handled", exc_info=error)

    def _handle_cancel_notification(self, msg_id: MsgId) -> None:
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    # -- built-in methods -----------------------------------------------------------------------------------------

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Answer with the capabilities; the position encoding is the client's first choice that we speak."""
        self._initialized = True
        result = yield from super().lsp_initialize(params)
        result.capabilities.position_encoding = self._server.position_encoding(params.capabilities)
        if result.capabilities.execute_command_provider is not None:
            result.capabilities.execute_command_provider.work_done_progress = True
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Cancel what is in flight, but this request, over a copy of the books: cancelling changes them."""
        if (handler := self._handlers.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        mine = self.msg_id
        for msg_id, future in list(self._request_futures.items()):
            if msg_id != mine and not future.done():
                future.cancel()
        self._shutdown = True

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> Generator[Any, Any, None]:
        """Leave at once: status 0 after ``shutdown``, else 1."""
        self._server.leave(0 if self._shutdown else 1)
        yield from ()

    def _forward(self, method: str, params: object) -> Generator[Any, Any, None]:
        if (handler := self._handlers.get(method)) is not None:
            yield handler, (params,), None

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Generator[Any, Any, Any]:
        """Run a command with its arguments as they were sent; ``token_of_request`` gives its token for progress."""
        commands = cast("dict[str, Callable[..., Any]]", self.fm.commands)  # pyright: ignore[reportUnknownMemberType]
        handler = commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"Command name {params.command!r} is not defined")
        _token.set(params.work_done_token)
        arguments = cast("Sequence[Any]", params.arguments or ())
        return (yield handler, tuple(arguments), None)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        """Only our own store keeps text."""
        yield from self._forward(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Only our own store keeps text."""
        yield from self._forward(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        """Only our own store keeps text."""
        yield from self._forward(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: types.DidChangeWorkspaceFoldersParams
    ) -> Generator[Any, Any, None]:
        """Only our own session knows the folders."""
        yield from self._forward(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, params)

    @property
    def in_flight(self) -> int:
        """Handlers running and requests of ours without an answer; 0 when all is quiet."""
        return len(self._request_futures)


class HardenedServer(LanguageServer):
    """A language server that logs its own failures instead of showing them, and leaves when told to."""

    protocol: HardenedProtocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, name: str, version: str) -> None:
        super().__init__(name, version, protocol_cls=HardenedProtocol)  # pyright: ignore[reportUnknownMemberType]
        self.exit_status: asyncio.Future[int] | None = None
        self.on_leave: Callable[[], None] | None = None
        self.finish: Callable[[], Awaitable[None]] | None = None
        """Waited for, a moment, after the last message: what ``on_leave`` ended may clear up."""

    def position_encoding(self, capabilities: types.ClientCapabilities) -> types.PositionEncodingKind:
        """The client's first choice among the three the specification names; utf-16 when it names none."""
        general = capabilities.general
        for offered in (general.position_encodings if general else None) or ():
            if offered in set(types.PositionEncodingKind):
                return types.PositionEncodingKind(offered)
        return types.PositionEncodingKind.Utf16

    def leave(self, status: int) -> None:
        """Ask the serving loop to end with ``status``, after stopping what runs; the first reason to leave wins."""
        if self.on_leave is not None:
            self.on_leave()
        if self.exit_status is not None and not self.exit_status.done():
            self.exit_status.set_result(status)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong inside; a message box for each would only be noise."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def tokens_of(progress: Progress) -> dict[types.ProgressToken, Future[Any]]:
    """The work whose progress is shown, by token; cancelling its future is the user's wish to stop it."""
    return cast("dict[types.ProgressToken, Future[Any]]", progress.tokens)  # pyright: ignore[reportUnknownMemberType]
