"""A page a rule, in the user's cache folder, for editors that open the description of a diagnostic's code."""

from __future__ import annotations

import logging
import os
import tempfile
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path

from optimas_lsp import __version__
from optimas_lsp.insight.knowledge import page, rules
from optimas_lsp.server.locations import uri_of

logger = logging.getLogger(__name__)


def folder() -> Path:
    """Where what we write for the user to read lies; never inside a workspace."""
    return Path(os.environ.get("OPTIMAS_CACHE_DIR") or user_cache_path("optimas-lsp"))


def write() -> dict[str, str]:
    """Write every page that is missing or was another; the URI of each by rule, none without a cache folder."""
    home = folder() / "rules" / __version__
    pages: dict[str, str] = {}
    try:
        home.mkdir(parents=True, exist_ok=True)
        for rule in rules().values():
            path = home / f"{rule.name}.md"
            text = page(rule)
            if not (path.exists() and path.read_text("utf-8") == text):
                put(path, text)
            pages[rule.name] = uri_of(path)
    except OSError as error:
        logger.warning("no pages about the rules: %s", error)
    return pages


def text_file(text: str, suffix: str = ".md") -> Path | None:
    """A text as a file in the user's cache folder, None where that cannot be written."""
    path = folder() / "texts" / f"{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}{suffix}"
    try:
        put(path, text)
    except OSError:
        return None
    return path


def put(path: Path, text: str) -> None:
    """Write a whole file or nothing, so that two servers may do it at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
