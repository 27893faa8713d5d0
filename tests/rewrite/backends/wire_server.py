"""A small HTTP server on loopback that plays back what a model's service answered, and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One response; ``hang``: nothing is sent until the client leaves, ``cut``: the connection ends half-way.

    ``endless``: the body goes on until the client leaves. A body of bytes is sent as it is.
    """

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False
    endless: bool = False


@dataclass
class Asked:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: Any


class Server:
    """Gives its answers in order, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[Asked] = []
        self.arrived = threading.Event()
        self.left = threading.Event()
        self._answers = list(answers)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                data = self.rfile.read(length)
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.asked.append(Asked(self.path, headers, json.loads(data) if data else None))
                owner.arrived.set()
                owner.respond(self)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer.hang:
            handler.connection.settimeout(30)
            try:
                while handler.connection.recv(1024):
                    pass
            except OSError:
                pass
            self.left.set()
            handler.close_connection = True
            return
        if answer.endless:
            self._send_for_ever(handler, answer)
            return
        body = answer.body if isinstance(answer.body, str | bytes) else json.dumps(answer.body)
        data = body.encode() if isinstance(body, str) else body
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2] if answer.cut else data)
        if answer.cut:
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True

    def _send_for_ever(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        part = b"{" + b" " * 65_535
        try:
            while True:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        except OSError:
            self.left.set()
        handler.close_connection = True

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    server = Server(*answers)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
