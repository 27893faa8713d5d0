"""The ``manual`` backend: a person carries the prompt to a model and the answer back, by files or the clipboard."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from optimas_lsp.config import Rewrite
from optimas_lsp.profile.replace import write_atomically
from optimas_lsp.rewrite.backends.clipboard import Clipboard
from optimas_lsp.rewrite.backends.model import BackendError, Call, Destination, Reply, Request
from optimas_lsp.rewrite.parse import LONGEST_ANSWER, no_proposal, parse_answer

POLL_SECONDS = 0.5


class Exchange(Protocol):
    """Where a prompt is put and an answer is found."""

    @property
    def where(self) -> str:
        """In words."""
        ...

    async def put(self, text: str) -> None:
        """Offer the prompt."""
        ...

    async def look(self) -> str | None:
        """The answer if there is a new and complete one."""
        ...


@dataclass
class FileExchange:
    """The prompt is written to one file, the answer read from another once it has stopped growing.

    An answer that is there already is taken at once; after it was used, only a different one counts.
    """

    prompt: Path
    answer: Path
    _used: str | None = None
    _last: tuple[int, int] = field(default=(-1, -1))

    @property
    def where(self) -> str:
        """Both files."""
        return f"the file {self.prompt}, answer in {self.answer}"

    async def put(self, text: str) -> None:
        """Write the prompt in one step; raises BackendError when it cannot be written."""
        try:
            write_atomically(self.prompt, text.encode("utf-8", "replace"))
        except OSError as error:
            raise BackendError(
                f"the prompt cannot be written: {error.strerror}", where=self.prompt, remedy="give another file"
            ) from None

    async def look(self) -> str | None:
        """The answer, if its size and time are those of the last look."""
        try:
            stat = self.answer.stat()
            now = (stat.st_size, stat.st_mtime_ns)
            settled = now == self._last or time.time_ns() - stat.st_mtime_ns > 2e9
            self._last = now
            if not settled or stat.st_size > 4 * LONGEST_ANSWER:
                return None
            text = self.answer.read_bytes().decode("utf-8", "replace")
        except OSError:
            return None
        if not text.strip() or text == self._used:
            return None
        self._used = text
        return text


@dataclass
class ClipboardExchange:
    """The prompt is put on the clipboard; what is on it afterwards and holds a JSON object is the answer."""

    clipboard: Clipboard
    _ours: str = ""

    @property
    def where(self) -> str:
        """In words."""
        return "the clipboard"

    async def put(self, text: str) -> None:
        """Copy the prompt."""
        await self.clipboard.copy(text)
        self._ours = text

    async def look(self) -> str | None:
        """What is on the clipboard, if it is an answer."""
        text = await self.clipboard.paste()
        if not text.strip() or text.strip() == self._ours.strip() or "{" not in text:
            return None
        self._ours = text
        return text


class ManualBackend:
    """Waits as long as the settings' time-out for the person to come back."""

    def __init__(self, settings: Rewrite, exchange: Exchange, *, poll_s: float = POLL_SECONDS) -> None:
        self.settings = settings
        self.exchange = exchange
        self._poll_s = poll_s

    @property
    def destination(self) -> Destination | None:
        """A place on this machine; where a person takes it from there is theirs to decide."""
        return Destination(backend="manual", where=self.exchange.where, local=True)

    async def ask(self, request: Request) -> Reply:
        """The person's answer, or a time-out."""
        started = time.monotonic()
        await self.exchange.put(written(request))
        try:
            async with asyncio.timeout(self.settings.timeout_seconds):
                text = await self._found()
        except TimeoutError:
            late = no_proposal("time-out", f"no answer was found in {self.settings.timeout_seconds:g} s")
            seconds = time.monotonic() - started
            call = Call(seconds=seconds, status=None, result="time-out")
            return Reply(outcome=late, model="manual", calls=(call,), seconds=seconds)
        seconds = time.monotonic() - started
        call = Call(seconds=seconds, status=None, result="answer")
        return Reply(outcome=parse_answer(text), text=text, model="manual", calls=(call,), seconds=seconds)

    async def _found(self) -> str:
        """The answer, as soon as there is one: neither files nor clipboards tell of changes everywhere."""
        while True:
            text = await self.exchange.look()
            if text is not None:
                return text
            await asyncio.sleep(self._poll_s)


def written(request: Request) -> str:
    """A whole conversation as one text, for a chat window."""
    parts = [request.prompt.text]
    for turn in request.turns:
        parts.append("Your previous answer:" if turn.role == "assistant" else "What was wrong with it:")
        parts.append(turn.text)
    return "\n\n".join(parts)
