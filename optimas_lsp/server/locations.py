"""File URIs and paths, byte-exact both ways: names that are not UTF-8 survive, other schemes have no path."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit


def path_of(uri: str) -> Path | None:
    """The path a ``file:`` URI names, or None for any other scheme and for what is no URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost"):
        return None
    raw = unquote_to_bytes(parts.path)
    if not raw or b"\0" in raw:
        return None
    text = os.fsdecode(raw)
    if os.name == "nt" and len(text) > 2 and text[2] == ":":
        text = text[1:]
    return Path(text)


def uri_of(path: Path) -> str:
    """The ``file:`` URI of an absolute path."""
    if os.name == "nt":
        return path.as_uri()
    return "file://" + quote_from_bytes(os.fsencode(path), safe=b"/~!$&'()*+,;=:@-._")


def same_place(path: Path) -> Path:
    """The path with links resolved, by which one file has one name; a loop of links leaves the path as it is."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path
