"""The one HTTP client that every SDK is given: no redirects, no headers but the needed ones, our key and no other.

SDKs read keys, organisations and addresses from the environment and follow redirects; a prompt must go to the address
that was shown to the user and nowhere else, with nothing on it that was not meant for that address.
"""

from __future__ import annotations

import email.utils
import ipaddress
import math
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from optimas_lsp.rewrite.backends.keys import Key
from optimas_lsp.rewrite.backends.model import BackendError, Destination

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 15.0

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of a response; what sends more is no answer, and is not read to its end."""

_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "transfer-encoding"}
    | {"user-agent"}
)


@dataclass
class Seen:
    """What the last response said of itself; ``status`` None: there was none."""

    status: int | None = None
    retry_after_s: float | None = None
    location: str = ""
    unfit: str = ""
    """Why the body was not read, if it was not."""

    def clear(self) -> None:
        """Before a new request."""
        self.status, self.retry_after_s, self.location, self.unfit = None, None, "", ""


@dataclass(frozen=True)
class Address:
    """A service's base URL, taken apart."""

    url: str
    host: str
    local: bool
    encrypted: bool

    def destination(self, backend: str, model: str) -> Destination:
        """In the words that the user is asked with."""
        return Destination(backend=backend, where=self.url, model=model, local=self.local, encrypted=self.encrypted)


@dataclass(frozen=True, eq=False)
class Wire:
    """A client for one address and what it last saw. ``header`` and ``prefix`` say how the service takes its key."""

    address: Address
    key: Key | None
    header: str = "authorization"
    prefix: str = "Bearer "
    seen: Seen = field(default_factory=Seen)

    def client(self) -> httpx.AsyncClient:
        """A new client, to be closed by whoever asked for it; its deadline is the caller's."""
        import httpx

        return httpx.AsyncClient(**self.options())

    def options(self) -> dict[str, Any]:
        """The arguments of ``httpx.AsyncClient``. Proxies are not used for this machine's own addresses."""
        import httpx

        return {
            "follow_redirects": False,
            "trust_env": not self.address.local,
            "timeout": httpx.Timeout(None, connect=CONNECT_SECONDS),
            "event_hooks": {"request": [self._sending], "response": [self._received]},
        }

    async def _sending(self, request: httpx.Request) -> None:
        for name in list(request.headers):
            if name.lower() not in _HEADERS:
                del request.headers[name]
        # What comes compressed can be a thousand times larger than what was counted on its way.
        request.headers["accept-encoding"] = "identity"
        if self.key is not None:
            request.headers[self.header] = self.prefix + self.key.reveal()
        self.seen.clear()

    async def _received(self, response: httpx.Response) -> None:
        import httpx

        self.seen.status = response.status_code
        self.seen.retry_after_s = _retry_after(response.headers)
        self.seen.location = response.headers.get("location", "")
        if response.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
            self.seen.unfit = "it answers compressed, although it was asked not to"
            raise httpx.DecodingError(self.seen.unfit, request=response.request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _bounded(response.stream, self.seen)


def _bounded(stream: httpx.AsyncByteStream, seen: Seen) -> httpx.AsyncByteStream:
    """``stream`` that ends with an error where it is larger than any answer."""
    import httpx

    class Bounded(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in stream:
                size += len(part)
                if size > LARGEST_ANSWER:
                    seen.unfit = f"it sends more than {LARGEST_ANSWER:,} bytes"
                    raise httpx.DecodingError(seen.unfit)
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def address_of(url: str) -> Address:
    """The address ``url`` is; raises BackendError for one that is no HTTP address or carries a password."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        parts, host = None, None
    if parts is None or not host or parts.scheme not in {"http", "https"}:
        raise BackendError(f"'{url}' is no address of a service", remedy="give http://HOST:PORT/… or https://HOST/…")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BackendError(
            "the service's address carries a user name, password or query",
            remedy="leave them out of rewrite.baseUrl; keys come from the environment or the keyring",
        )
    return Address(url.rstrip("/"), host, _is_local(host), parts.scheme == "https")


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds that the response asks to wait, from ``Retry-After-Ms`` or ``Retry-After`` (seconds or a date)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            wish = float(text) * scale
        except ValueError:
            wish = _seconds_until(text)
        if wish is not None and not math.isnan(wish):
            return max(0.0, wish)
    return None


def _seconds_until(date: str) -> float | None:
    """From now to a date as HTTP writes it; None where it is none."""
    try:
        when = email.utils.parsedate_tz(date)
        return None if when is None else email.utils.mktime_tz(when) - time.time()
    except (ValueError, OverflowError, TypeError):
        return None
