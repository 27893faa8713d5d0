"""A bare LSP client for measurements: raw messages over a server's standard input and output, nothing in between."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

CLIENTS = Path(__file__).parents[1] / "tests" / "server" / "clients"


class Server:
    """A server process. ``started`` is the moment before it was spawned (seconds of ``perf_counter``)."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._next = 0
        self.configuration: Any = None

    def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        assert self.process.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive_raw(self) -> bytes:
        """The body of the next message."""
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return self.process.stdout.read(length)

    def receive(self) -> dict[str, Any]:
        """The next message; questions of the server are answered on the way with nothing."""
        message = json.loads(self.receive_raw())
        self._answer(message)
        return message

    def _answer(self, message: dict[str, Any]) -> None:
        if "id" in message and "method" in message:
            items = message.get("params", {}).get("items")
            self.send({"id": message["id"], "result": None if items is None else [self.configuration] * len(items)})

    def until(self, method: str, *, parse: bool = True) -> object:
        """The next notification or request with that method; unparsed where its reading is not to be measured."""
        marks = [f'"method":{space}"{method}"'.encode() for space in ("", " ")]
        while True:
            body = self.receive_raw()
            if any(mark in body for mark in marks):
                return json.loads(body) if parse else body
            self._answer(json.loads(body))

    def ask(self, method: str, params: Any) -> bytes:
        """The reply to one request, unparsed: reading it is the client's business, not the server's."""
        self._next += 1
        self.send({"id": self._next, "method": method, "params": params})
        mark = f'"id":{self._next},'.encode()
        while True:
            body = self.receive_raw()
            if mark in body[:100].replace(b" ", b""):
                return body
            self._answer(json.loads(body))

    def request(self, method: str, params: Any) -> Any:
        """The result of one request."""
        self._next += 1
        self.send({"id": self._next, "method": method, "params": params})
        while (message := self.receive()).get("id") != self._next or "method" in message:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def notify(self, method: str, params: Any) -> None:
        """Tell the server something."""
        self.send({"method": method, "params": params})

    def initialize(self, client: str, root: Path | None) -> Any:
        """The handshake up to the reply; the client's capabilities are those a real editor sent."""
        capabilities = json.loads((CLIENTS / f"{client}.json").read_text("utf-8"))
        folders = None if root is None else [{"uri": root.as_uri(), "name": root.name}]
        return self.request(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": capabilities, "workspaceFolders": folders},
        )

    def settle(self) -> dict[str, Any]:
        """Wait until every report has been read; gives the debug information."""
        asked = {"command": "optimas.debugInformation", "arguments": [{"wait": True}]}
        return self.request("workspace/executeCommand", asked)

    def close(self) -> None:
        """Shut the server down and wait for it."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.wait(10)


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def show(figures: dict[str, tuple[float, str]]) -> dict[str, tuple[float, str]]:
    """Print ``name value unit`` lines at once; gives the figures back."""
    for key, (value, unit) in figures.items():
        print(f"{key} {value:.3f} {unit}", flush=True)
    return figures


def keep(name: str, figures: dict[str, tuple[float, str]]) -> None:
    """Keep figures as JSON under ``build/bench/``."""
    target = Path(__file__).parents[1] / "build" / "bench" / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    plain = {key: {"value": value, "unit": unit} for key, (value, unit) in figures.items()}
    target.write_text(json.dumps(plain, indent=2) + "\n", "utf-8")


def report(name: str, figures: dict[str, tuple[float, str]]) -> None:
    """Print each figure as ``name value unit`` and keep all as JSON, for a benchmark that measures once."""
    keep(name, show(figures))
