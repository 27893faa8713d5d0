"""The code that an attempt is about: the text before the change, the functions that could be changed, its licence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.edits import apply, inverse
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.source.syntax import language_of, parse
from optimas_lsp.source.text import SourceText, decode

_LICENCE = re.compile(r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]{2,80}?)[ \t]*(?:\*/)?[ \t]*(?:$|\n)")
MOST_SOURCE = 2 * 1024 * 1024
"""Bytes; a larger file is no source."""


def original_text(rewriting: Rewriting) -> str | None:
    """The file's text before the change: the candidate's with its edits undone, else the file if it is still the same.

    None where neither is there.
    """
    if rewriting.edited is not None:
        try:
            return apply(SourceText.of(rewriting.edited), inverse(rewriting.edits)).text
        except OptimasError:
            return None
    try:
        path = Path(rewriting.source)
        data = path.read_bytes() if path.stat().st_size <= MOST_SOURCE else b""
    except (OSError, ValueError):
        return None
    return decode(data).text if sha256(data).hexdigest() == rewriting.base_sha256 else None


def code_of(text: str, functions: Iterable[str], file: str) -> str:
    """The texts of these functions in the order of the file; the whole text where none of them is found."""
    wanted = set(functions)
    source = SourceText.of(text)
    syntax = parse(source, language_of(file) or "cuda")
    data = syntax.code.data
    found = [
        data[each.extent.start : each.extent.end].decode("utf-8", "replace")
        for each in syntax.functions
        if each.shown_name in wanted or each.name in wanted
    ]
    return "\n\n".join(found) or text


def licence_of(text: str) -> str | None:
    """The licence that a file names by ``SPDX-License-Identifier`` in its first lines."""
    found = _LICENCE.search(text[:4000])
    return found[1].strip() if found else None


def base_name(kernel: str) -> str:
    """A demangled name without return type, namespaces, template arguments and parameters."""
    bare = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", kernel)).partition("(")[0]
    return bare.rpartition("::")[2].split(" ")[-1]
