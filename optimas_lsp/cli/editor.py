"""A small editor for ``optimas demo``: speaks LSP to a server process over its standard input and output.

Plain JSON-RPC and plain dictionaries, as any client would send them; answers every request the server makes.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

import optimas_lsp
from optimas_lsp.errors import WorkerError

Message = dict[str, Any]

CAPABILITIES: Message = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeLens": {"dynamicRegistration": False},
        "synchronization": {"didSave": True},
    },
    "workspace": {"configuration": True, "workspaceFolders": True},
    "window": {"workDoneProgress": True},
}
"""What this editor can do, as it tells the server."""


class Editor:
    """One connection to one server; a context manager that always ends the server."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        # The server must be this very package, also where it runs from a checkout and is not installed.
        here = str(Path(optimas_lsp.__file__).resolve().parent.parent)
        paths = os.pathsep.join(each for each in (here, os.environ.get("PYTHONPATH")) if each)
        environment = {**os.environ, "PYTHONPATH": paths}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment
        )
        self._folder = folder
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        self._last_id = 0
        self._working: set[int | str] = set()
        self.diagnostics: dict[str, list[Message]] = {}
        """The latest published diagnostics by URI."""
        threading.Thread(target=self._receive, args=(cast("IO[bytes]", self._process.stdout),), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            cast("IO[bytes]", self._process.stdin).close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def start(self, timeout: float) -> Message:
        """The initialize handshake; returns the server's capabilities."""
        uri = self._folder.as_uri()
        answer = self.request(
            "initialize",
            {
                "processId": None,
                "clientInfo": {"name": "optimas demo"},
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": self._folder.name}],
                "capabilities": CAPABILITIES,
            },
            timeout,
        )
        self.notify("initialized", {})
        return cast("Message", answer)["capabilities"]

    def open(self, path: Path, language: str, text: str) -> str:
        """Open a document; returns its URI."""
        uri = path.as_uri()
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def stop(self, timeout: float) -> int:
        """Shut the server down as the protocol asks; returns its exit status."""
        self.request("shutdown", None, timeout)
        self.notify("exit", None)
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise WorkerError(f"the server did not leave within {timeout:.0f} s of 'exit'") from None

    def request(self, method: str, params: object, timeout: float) -> object:
        """Send a request and wait for its result; raises WorkerError for an error answer, a death or silence."""
        self._last_id += 1
        number = self._last_id
        self._send({"id": number, "method": method, "params": params})
        answer = self._until(lambda message: message.get("id") == number and "method" not in message, method, timeout)
        if "error" in answer:
            raise WorkerError(f"the server answered {method} with an error: {answer['error'].get('message')}")
        return answer.get("result")

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def wait_for_diagnostics(self, timeout: float) -> None:
        """Wait until some document has a diagnostic and no work is in progress: then every report has been read."""
        if not self._settled():
            self._until(lambda _: self._settled(), "findings", timeout)

    def _settled(self) -> bool:
        return any(self.diagnostics.values()) and not self._working

    def _until(self, wanted: Callable[[Message], bool], what: str, timeout: float) -> Message:
        deadline = time.monotonic() + timeout
        while True:
            try:
                message = self._inbox.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise WorkerError(f"the server sent no {what} within {timeout:.0f} s") from None
            if message is None:
                status = self._process.wait()
                raise WorkerError(f"the server left with status {status} while {what} was awaited")
            self._handle(message)
            if wanted(message):
                return message

    def _handle(self, message: Message) -> None:
        """Take notifications in; answer the server's requests as an editor with default settings does."""
        method = message.get("method")
        params = cast("Message", message.get("params") or {})
        if method == "textDocument/publishDiagnostics":
            self.diagnostics[params["uri"]] = params["diagnostics"]
        if method == "$/progress":
            (self._working.discard if params["value"]["kind"] == "end" else self._working.add)(params["token"])
        if method is not None and "id" in message:
            asked = cast("list[Message]", params.get("items", []))
            result = [None] * len(asked) if method == "workspace/configuration" else None
            self._send({"id": message["id"], "result": result})

    def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe = cast("IO[bytes]", self._process.stdin)
        try:
            pipe.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            pipe.flush()
        except OSError:
            raise WorkerError("the server closed its standard input") from None

    def _receive(self, pipe: IO[bytes]) -> None:
        """Runs in a thread: frames from the server, then None when it is gone."""
        while (length := _content_length(pipe)) is not None:
            body = pipe.read(length)
            if len(body) < length:
                break
            self._inbox.put(json.loads(body))
        self._inbox.put(None)


def _content_length(pipe: IO[bytes]) -> int | None:
    """Read the header of the next frame; None at the end of the stream."""
    length: int | None = None
    for line in iter(pipe.readline, b""):
        name, _, value = line.decode("ascii", "replace").partition(":")
        if not line.strip():
            return length
        if name.strip().lower() == "content-length":
            length = int(value)
    return None
