"""The texts the client has open, exactly as it has them; immutable, a change makes a new document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from optimas_lsp.server.client import Encoding
from optimas_lsp.server.locations import path_of, same_place
from optimas_lsp.source.text import Change, SourceText, Splice


@dataclass(frozen=True, slots=True)
class Document:
    """One open text. ``path`` is where the file lies with links resolved, None for a text that is no file."""

    uri: str
    path: Path | None
    version: int
    language: str
    text: SourceText


def opened(uri: str, language: str, version: int, text: str) -> Document:
    """The document a client has just opened."""
    path = path_of(uri)
    return Document(uri, None if path is None else same_place(path), version, language, SourceText.of(text))


def changed(
    document: Document, version: int, changes: Iterable[Change], encoding: Encoding
) -> tuple[Document, list[Splice]]:
    """The document after ``changes``, and what each did to its lines."""
    text = document.text
    splices: list[Splice] = []
    for change in changes:
        text, splice = text.apply(change, encoding)
        splices.append(splice)
    return replace(document, version=version, text=text), splices
