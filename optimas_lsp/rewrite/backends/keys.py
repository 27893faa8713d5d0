"""Where a service's key is found: the environment, else the system's keyring, bound to the service's host.

A workspace may name any address. So a key belongs to a host: the vendors' own variables are for the vendors' own hosts,
and ``OPTIMAS_KEY_`` with the host's name (``OPTIMAS_KEY_LLM_EXAMPLE_ORG``) is for any other. A key never reaches a log,
an error, a prompt or a child process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

KEYRING_SERVICE = "optimas-lsp"

VENDORS: Mapping[str, tuple[str, ...]] = {
    "api.openai.com": ("OPENAI_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "ollama.com": ("OLLAMA_API_KEY",),
}
"""Variables that hold keys of these hosts only."""


class Key:
    """A secret that shows nothing when printed."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def reveal(self) -> str:
        """The key itself, for the request that needs it."""
        return self._secret

    def scrubbed(self, text: str) -> str:
        """``text`` without the key."""
        return text.replace(self._secret, "[key]") if self._secret else text

    def __repr__(self) -> str:
        """Not the key."""
        return "Key('…')"


def variables(host: str) -> tuple[str, ...]:
    """Names of the environment variables that may hold the key of ``host``, in order."""
    plain = re.sub(r"[^A-Z0-9]+", "_", host.upper()).strip("_")
    return (*VENDORS.get(host.lower(), ()), f"OPTIMAS_KEY_{plain}")


def find_key(host: str, environment: Mapping[str, str] = os.environ) -> Key | None:
    """The key for ``host``, or None: no variable is set and the keyring has no entry (or there is no keyring)."""
    for name in variables(host):
        value = environment.get(name, "").strip()
        if value:
            return Key(value)
    stored = _from_keyring(host)
    return Key(stored) if stored else None


def _from_keyring(host: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(KEYRING_SERVICE, host)
    except (KeyringError, OSError, RuntimeError):  # no keyring on this machine, or it is locked
        return None


def remedy(host: str) -> str:
    """How to give the key of ``host``."""
    return f"set {variables(host)[0]}, or store it: keyring set {KEYRING_SERVICE} {host}"
