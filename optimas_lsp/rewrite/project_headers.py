"""The project's own headers that a source file includes with quotes, found beside it and in given folders.

As the compiler does, this also follows an include out of the folders: only names are taken from what it finds. What a
prompt may show is ``prompt_files``' business, and ends at the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from optimas_lsp.source.text import decode

MOST_HEADERS = 64
"""More are not read."""

LARGEST = 1_000_000
"""Bytes; a larger header is left out."""

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def project_headers(source: Path, text: str, folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Texts of the headers that ``text`` (of the file ``source``) includes with quotes, and that those include.

    A header that is not found, cannot be read or is very large is left out: whoever compiles will say so.
    """
    found: dict[Path, str] = {}
    waiting = [(source.parent, text)]
    while waiting and len(found) < MOST_HEADERS:
        folder, including = waiting.pop()
        for match in _INCLUDE.finditer(including):
            for place in (folder, *folders):
                header = _read(place / match.group(1), found)
                if header is not None:
                    path, content = header
                    found[path] = content
                    waiting.append((path.parent, content))
                    break
    return tuple(found.values())


def _read(path: Path, known: dict[Path, str]) -> tuple[Path, str] | None:
    """The resolved path and text of a header that is not known yet; None for one that is, or that cannot be read."""
    try:
        resolved = path.resolve()
        if resolved in known or not resolved.is_file() or resolved.stat().st_size > LARGEST:
            return None
        return resolved, decode(resolved.read_bytes()).text
    except OSError:
        return None
