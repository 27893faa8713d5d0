"""Asks a service with a deadline, again after passing failures, and turns every ending into a typed reply."""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from optimas_lsp.config import Rewrite
from optimas_lsp.rewrite.backends.keys import Key, find_key, remedy
from optimas_lsp.rewrite.backends.model import BackendError, Call, Destination, Reply, Request, Usage
from optimas_lsp.rewrite.backends.prices import priced
from optimas_lsp.rewrite.backends.wire import Wire, address_of
from optimas_lsp.rewrite.parse import Kind, NoProposal, no_proposal, parse_answer, sound

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses after which the same request may succeed."""

_NOT_THE_PROTOCOL = (ValueError, TypeError, AttributeError, LookupError, RecursionError, ArithmeticError)
"""What SDKs raise, and reading their objects, when a server's answer has another shape than the protocol's."""

MOST_TOKENS = 1_000_000_000
"""A count above this is none."""

TIMED_OUT_AGAIN = 1
"""How often a request that timed out is sent again: each may cost as much as an answer."""


NOT_COUNTED = Usage()


@dataclass(frozen=True)
class Answered:
    """A service's answer as it came over the wire."""

    text: str
    finish_reason: str = ""
    usage: Usage = NOT_COUNTED
    refused: str = ""
    model: str = ""


class CallError(Exception):
    """What an SDK's exception says, without the SDK: ``passing`` where asking again may help."""

    def __init__(self, words: str, *, passing: bool | None = None) -> None:
        super().__init__(words)
        self.words = words
        self.passing = passing


@dataclass(frozen=True)
class Patience:
    """Waits between requests: doubled each time up to ``longest_s``, with jitter; a service's own wish goes first.

    Where the service asks for more than ``limit_s`` the request is given up. ``sleep`` is replaced by tests.
    """

    first_s: float = 1.0
    longest_s: float = 30.0
    limit_s: float = 120.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    def wait(self, failures: int, asked_s: float | None) -> float | None:
        """Seconds to wait after the ``failures``-th failure, None to give up."""
        if asked_s is not None:
            return asked_s if asked_s <= self.limit_s else None
        whole = min(self.longest_s, self.first_s * 2 ** (failures - 1))
        return whole * random.uniform(0.5, 1.0)  # noqa: S311 - spreads requests, protects nothing


class Service(ABC):
    """A backend that is a model behind HTTP; a subclass speaks one vendor's protocol through its SDK."""

    name: str
    default_url: str
    needs_key = True
    header = "authorization"
    prefix = "Bearer "

    def __init__(self, settings: Rewrite, *, key: Key | None = None, patience: Patience | None = None) -> None:
        """Raises BackendError when no model is named, the address is none, or a needed key is missing."""
        if not settings.model:
            raise BackendError(f"the backend {self.name} needs a model's name", remedy="set rewrite.model, or --model")
        self.settings = settings
        self.patience = patience or Patience()
        address = address_of(settings.base_url or self.default_url)
        found = key or find_key(address.host)
        if found is None and self.needs_key and not address.local:
            raise BackendError(f"there is no key for {address.host}", remedy=remedy(address.host))
        self.wire = Wire(address, found, self.header, self.prefix)

    @property
    def destination(self) -> Destination | None:
        """The service's address."""
        return self.wire.address.destination(self.name, self.settings.model)

    @abstractmethod
    async def call(self, request: Request) -> Answered:
        """One request through the SDK; raises CallError."""

    async def ask(self, request: Request) -> Reply:
        """The reply; see ``model.Backend``."""
        started = time.monotonic()
        calls: list[Call] = []
        while True:
            begun = time.monotonic()
            self.wire.seen.clear()
            try:
                async with asyncio.timeout(self.settings.timeout_seconds):
                    answered = self._sound(await self.call(request))
            except TimeoutError:
                failure = no_proposal("time-out", f"{self.settings.timeout_seconds:g} s")
                passing = sum(call.result == "time-out" for call in calls) < TIMED_OUT_AGAIN
            except CallError as error:
                failure, passing = self._failure(error)
            except _NOT_THE_PROTOCOL as error:
                said = self._scrubbed(" ".join(str(error).split()))[:200]
                failure = no_proposal(
                    "api-error", f"{self.wire.address.url} does not speak {self.name}'s protocol: {said}"
                )
                passing = False
            else:
                calls.append(self._called(begun, "answer"))
                return self._reply(answered, calls, started)
            wait = self.patience.wait(len(calls) + 1, self.wire.seen.retry_after_s) if passing else None
            if wait is None or len(calls) >= self.settings.retries:
                calls.append(self._called(begun, failure.kind))
                asked = self.wire.seen.retry_after_s
                if asked is not None and failure.kind == "rate-limit":
                    failure = failure.model_copy(
                        update={"sentence": f"{failure.sentence} (asked to wait {asked:.0f} s)"}
                    )
                return Reply(
                    outcome=failure,
                    model=self.settings.model,
                    calls=tuple(calls),
                    seconds=time.monotonic() - started,
                )
            calls.append(self._called(begun, failure.kind, wait))
            await self.patience.sleep(wait)

    def _called(self, begun: float, result: Kind | str, waited_s: float = 0.0) -> Call:
        return Call.model_validate(
            {
                "seconds": time.monotonic() - begun,
                "status": self.wire.seen.status,
                "result": result,
                "waited_s": waited_s,
            }
        )

    def _failure(self, error: CallError) -> tuple[NoProposal, bool]:
        seen = self.wire.seen
        words = " ".join(self._scrubbed(error.words).split())[:300]
        if seen.unfit:
            return no_proposal("api-error", f"{self.wire.address.url}: {seen.unfit}"), False
        if seen.status is None:
            return no_proposal("api-error", f"{self.wire.address.url}: {words}"), error.passing is not False
        if 300 <= seen.status < 400:
            return no_proposal(
                "api-error",
                f"it redirects to {seen.location[:200] or 'nowhere'}, and a prompt only goes where it was shown to go; "
                "set rewrite.baseUrl to the address that is meant",
            ), False
        kind: Kind = "rate-limit" if seen.status == 429 else "time-out" if seen.status in {408, 504} else "api-error"
        broken = seen.status < 300  # an answer that began and did not end
        passing = (broken or seen.status in PASSING) if error.passing is None else error.passing
        return no_proposal(kind, f"status {seen.status}: {words}"), passing

    def _reply(self, answered: Answered, calls: list[Call], started: float) -> Reply:
        if answered.refused:
            outcome = no_proposal("refusal", " ".join(answered.refused.split())[:200], answered.refused)
        else:
            outcome = parse_answer(answered.text, finish_reason=answered.finish_reason or None)
        return Reply(
            outcome=outcome,
            text=answered.text or answered.refused,
            model=answered.model or self.settings.model,
            finish_reason=answered.finish_reason,
            usage=priced(answered.usage, self.destination, self.settings),
            calls=tuple(calls),
            seconds=time.monotonic() - started,
        )

    def _sound(self, answered: Answered) -> Answered:
        """The answer as text that can be kept: whole characters, no key, no count that cannot be one.

        SDKs do not check what a server sends. Raises TypeError for what is no text.
        """
        texts = (answered.text, answered.finish_reason, answered.refused, answered.model)
        if any(not isinstance(each, str) for each in texts):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("something else stands where text belongs")
        text, reason, refused, model = map(self._scrubbed, texts)
        counts = {
            name: count if count is not None and 0 <= count <= MOST_TOKENS else None
            for name in ("input_tokens", "output_tokens", "reasoning_tokens")
            for count in [getattr(answered.usage, name)]
        }
        return Answered(text, reason[:100], answered.usage.model_copy(update=counts), refused, model[:200])

    def _scrubbed(self, text: str) -> str:
        return sound(text) if self.wire.key is None else self.wire.key.scrubbed(sound(text))


def missing(package: str, error: ImportError) -> BackendError:
    """The error for an SDK that is not installed."""
    return BackendError(
        f"asking this model needs the packages {package} and httpx; not installed: {error.name or package}",
        remedy="pip install 'optimas-lsp[models]'",
    )
