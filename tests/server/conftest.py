"""Servers to talk to: one inside the test's own loop for the protocol, real processes for everything else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.server.hardening import HardenedServer

CLIENTS = Path(__file__).parent / "clients"


def capabilities(name: str) -> dict[str, Any]:
    """What a real client sent as its capabilities."""
    return json.loads((CLIENTS / f"{name}.json").read_text("utf-8"))


class Wire:
    """The writing end of a server inside the test: keeps every message it sends, decoded."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    def write(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        assert int(head.split(b"\r\n")[0].split(b":")[1]) == len(body)
        self.sent.append(json.loads(body))
        self._news.set()

    def close(self) -> None:
        """Nothing to close."""

    def answers(self, msg_id: object) -> list[dict[str, Any]]:
        """Every reply to the request with that id."""
        return [message for message in self.sent if message.get("id") == msg_id and "method" not in message]

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait for a message that makes ``found()`` true, and give what it found."""
        while not (result := found()):
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), 10)
        return result

    async def answer(self, msg_id: object) -> dict[str, Any]:
        """The reply to the request with that id."""
        answers = await self.until(lambda: self.answers(msg_id))
        return answers[0]


class Spoken:
    """A hardened server inside the test's loop, spoken to in raw messages."""

    def __init__(self) -> None:
        self.server = HardenedServer("probe", "0")
        self.wire = Wire()
        self.server.protocol.set_writer(self.wire)

    def say(self, message: object) -> None:
        """Give the server one message, as it would arrive."""
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0"} | dict(message)).encode()  # type: ignore[call-overload]
        self.server.protocol.receive(body)

    async def initialize(self, client: dict[str, Any] | None = None) -> dict[str, Any]:
        """The handshake; gives the server's capabilities."""
        params = {"processId": None, "rootUri": None, "capabilities": client or {}}
        self.say({"id": "init", "method": "initialize", "params": params})
        answer = await self.wire.answer("init")
        self.say({"method": "initialized", "params": {}})
        return answer["result"]["capabilities"]


@pytest.fixture
def spoken() -> Spoken:
    """A fresh hardened server; call ``await spoken.initialize()`` first."""
    return Spoken()
