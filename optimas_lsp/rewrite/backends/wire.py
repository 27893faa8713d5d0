"""The one HTTP client that every SDK is given: no redirects, no headers but the needed ones, our key and no other.

SDKs read keys, organisations and addresses from the environment and follow redirects; a prompt must go to the address
that was shown to the user and nowhere else, with nothing on it that was not meant for that address.
"""

from __future__ import annotations

import email.utils
import ipaddress
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from optimas_lsp.rewrite.backends.keys import Key
from optimas_lsp.rewrite.backends.model import BackendError, Destination

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 15.0

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

    def clear(self) -> None:
        """Before a new request."""
        self.status, self.retry_after_s, self.location = None, None, ""


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
        if self.key is not None:
            request.headers[self.header] = self.prefix + self.key.reveal()
        self.seen.clear()

    async def _received(self, response: httpx.Response) -> None:
        self.seen.status = response.status_code
        self.seen.retry_after_s = _retry_after(response.headers)
        self.seen.location = response.headers.get("location", "")


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
            return max(0.0, float(text) * scale)
        except ValueError:
            when = email.utils.parsedate_tz(text)
            if when is not None:
                return max(0.0, email.utils.mktime_tz(when) - time.time())
    return None
