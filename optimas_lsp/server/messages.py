"""Messages in and out: whatever arrives, a request is answered exactly once and nothing is raised.

The other half of curing pygls, how handlers run and end, is in ``hardening.py``.
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

if TYPE_CHECKING:
    from pygls.io_ import Writer
    from pygls.protocol.json_rpc import MsgId

logger = logging.getLogger(__name__)


class Encoded(str):
    """A result or parameters that are JSON text already and are sent as they are."""

    __slots__ = ()


@dataclass(frozen=True)
class Pieces:
    """A long result that is JSON in UTF-8 already, sent piece by piece without being copied."""

    bodies: tuple[bytes | memoryview, ...]


class MessageProtocol(LanguageServerProtocol):
    """The protocol of pygls with its own way from bytes to handlers, and from answers to bytes."""

    def __init__(self, server: LanguageServer, converter: Any) -> None:
        super().__init__(server, converter)
        self._initialized = False

    # -- messages in ----------------------------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """Handle the body of one message; whatever is in it, a request is answered and nothing is raised."""
        try:
            data: Any = json.loads(body)
        except (ValueError, RecursionError) as error:
            logger.warning("a message is not JSON: %s", error)
            self._refuse(None, JsonRpcParseError(f"not JSON: {error}"))
            return
        if not isinstance(data, dict):
            self._refuse(None, JsonRpcInvalidRequest("one JSON object a message is expected"))
            return
        self._dispatch(cast("dict[str, Any]", data))

    def _dispatch(self, data: dict[str, Any]) -> None:
        method: object = data.get("method")
        msg_id: Any = data.get("id")
        if method is None:
            self._receive_response(data)
            return
        is_request = "id" in data
        refusal = self._refusal(method, is_request=is_request)
        message: Any = None
        if refusal is None:
            kind = types.METHOD_TO_TYPES[str(method)][0]
            try:
                message = self._converter.structure(data | {"jsonrpc": self.VERSION}, kind)
            except Exception as error:  # noqa: BLE001 - cattrs raises many kinds; each must become an answer
                refusal = JsonRpcInvalidParams(f"the parameters of {method} do not decode: {_root_cause(error)}")
        if refusal is None:
            context = contextvars.copy_context()
            if is_request:
                context.run(self._handle_request, msg_id, str(method), message.params)
            else:
                context.run(self._handle_notification, str(method), message.params)
        elif is_request:
            self._refuse(msg_id, refusal)
        else:
            logger.warning("ignored notification %s: %s", method, refusal)

    def _refusal(self, method: object, *, is_request: bool) -> JsonRpcException | None:
        """Why a message cannot be handled in the state the session is in, or None."""
        if not isinstance(method, str):
            return JsonRpcInvalidRequest("the method must be a string")
        if self._shutdown and method != types.EXIT:
            return JsonRpcInvalidRequest("the server is shutting down")
        if method == types.INITIALIZE and self._initialized:
            return JsonRpcInvalidRequest("the server is initialized already")
        if not self._initialized and method not in (types.INITIALIZE, types.EXIT):
            return JsonRpcServerNotInitialized("the first request must be initialize")
        if method == types.CANCEL_REQUEST:
            return None
        known = method in self._built_in or method in self._handlers
        expected = types.METHOD_TO_TYPES.get(method)
        if not known or expected is None or is_request != _is_request_type(expected):
            return JsonRpcMethodNotFound.of(method)
        return None

    @property
    def _handlers(self) -> dict[str, Callable[..., Any]]:
        return cast("dict[str, Callable[..., Any]]", self.fm.features)  # pyright: ignore[reportUnknownMemberType]

    @property
    def _built_in(self) -> dict[str, Callable[..., Any]]:
        return cast("dict[str, Callable[..., Any]]", self.fm.builtin_features)  # pyright: ignore[reportUnknownMemberType]

    def _refuse(self, msg_id: Any, error: JsonRpcException) -> None:
        """Answer with an error; as plain data, because an id of null must be written and not left out."""
        self._send_data(
            {"jsonrpc": self.VERSION, "id": msg_id, "error": {"code": error.code, "message": error.message}}
        )

    def _receive_response(self, data: dict[str, Any]) -> None:
        """Settle the future of one of our own requests; an answer that does not decode fails it."""
        msg_id: Any = data.get("id")
        result_type = self._result_types.pop(msg_id, None)
        future = self._request_futures.pop(msg_id, None)
        if future is None or future.done():
            logger.debug("response to unknown or abandoned request %r", msg_id)
            return
        try:
            if data.get("error") is not None:
                error = self._converter.structure(data["error"], types.ResponseError)
                future.set_exception(JsonRpcException.from_error(error))
            elif result_type is None:
                future.set_result(data.get("result"))
            else:
                answer = {"jsonrpc": self.VERSION, "id": msg_id, "result": data.get("result")}
                future.set_result(self._converter.structure(answer, result_type).result)
        except Exception as error:  # noqa: BLE001 - cattrs raises many kinds; the waiting task must learn of each
            future.set_exception(JsonRpcInvalidParams(f"the client's answer does not decode: {_root_cause(error)}"))

    # -- messages out ---------------------------------------------------------------------------------------------

    def _send_response(self, msg_id: MsgId, result: Any = None, error: types.ResponseError | None = None) -> None:
        if isinstance(result, Encoded) and error is None:
            self._result_types.pop(msg_id, None)
            self._send_text(f'{{"jsonrpc":"{self.VERSION}","id":{json.dumps(msg_id)},"result":{result}}}')
        elif isinstance(result, Pieces) and error is None:
            self._result_types.pop(msg_id, None)
            head = f'{{"jsonrpc":"{self.VERSION}","id":{json.dumps(msg_id)},"result":'.encode()
            self._send_bytes(head, *result.bodies, b"}")
        else:
            super()._send_response(msg_id, result, error)

    def notify_encoded(self, method: str, params: Encoded) -> None:
        """Send a notification whose parameters are JSON already (the fast way for many diagnostics)."""
        self._send_text(f'{{"jsonrpc":"{self.VERSION}","method":"{method}","params":{params}}}')

    def _send_text(self, body: str) -> None:
        """Send one message that is JSON text already; only ASCII, as ``json.dumps`` writes it."""
        self._send_bytes(body.encode(self.CHARSET))

    def _send_bytes(self, *pieces: bytes | memoryview) -> None:
        """Send one message; short ones in one step."""
        if self.writer is None:
            logger.error("nobody is connected to send a message to")
            return
        head = b"Content-Length: %d\r\n\r\n" % sum(map(len, pieces))
        writer = cast("Writer", self.writer)  # ours are synchronous, see transport.py
        if len(pieces) == 1:
            writer.write(head + pieces[0])
            return
        for piece in (head, *pieces):
            writer.write(cast("bytes", piece))


def _is_request_type(expected: tuple[Any, ...]) -> bool:
    return expected[1] is not None


def _root_cause(error: BaseException) -> str:
    """The innermost reason of a decoding failure, in one line."""
    while True:
        nested: tuple[BaseException, ...] = getattr(error, "exceptions", ())
        inner = nested[0] if nested else error.__cause__
        if inner is None:
            return f"{type(error).__name__}: {error}".splitlines()[0]
        error = inner
