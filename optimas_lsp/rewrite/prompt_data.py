"""Text that others wrote, made fit to stand in a prompt: data that cannot end its own quotation or speak for us.

Source code, paths, names and past answers stand between two lines that carry a digest of all of that data, so no part
of it can hold the line that would end it. Characters that a person does not see but a model reads are spelled out, and
the marks by which chat templates separate speakers are spelled apart.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

_MARKS = re.compile(
    r"<(?=\|)|\|(?=>)|<(?=/?s>)|<(?=/?(?:start|end)_of_turn>)|<(?=/?(?:bos|eos|unk|pad|system|user|assistant|think)>)"
    r"|\[(?=/?(?:INST|SYS|TOOL_CALLS|AVAILABLE_TOOLS)\])|<(?=</?SYS>>)",
    re.IGNORECASE,
)
"""First character of a chat template's control token; a blank after it takes the token apart."""


def visible(text: str) -> str:
    """One line of foreign text in which every character is one that a person sees; control tokens are apart.

    Tabs stay; other control, format, surrogate and private characters become ``<U+XXXX>``.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(map(_seen, text))
    return _MARKS.sub(lambda match: match.group() + " ", text)


def phrase(text: str) -> str:
    """Foreign text within a sentence: visible, on one line, blanks collapsed."""
    return visible(" ".join(text.split()))


def _seen(char: str) -> str:
    if char == "\t":
        return char
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return f"<U+{ord(char):04X}>"
    return char


def fence_of(contents: Iterable[str]) -> str:
    """A word that no text of ``contents`` holds: a digest of them all."""
    texts = list(contents)
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    fence = f"DATA-{digest[:20]}"
    while any(fence in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
        fence = f"DATA-{digest[:20]}"
    return fence


def quoted(fence: str, title: str, lines: Iterable[str]) -> list[str]:
    """``lines`` between an opening and a closing line that carry ``fence``; ``title`` is our own word for the data."""
    return [f"<<<{fence} {title}", *lines, f"{fence}>>>"]
