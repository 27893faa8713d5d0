"""Syntax colours: source text cut into lines of (class, text), without changing a character of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String

Line = tuple[tuple[str, str], ...]

LONGEST = 400
"""Characters of a line that are shown; a minified line must not make the page huge."""

_CLASSES: tuple[tuple[tuple[str, ...], str], ...] = (
    (Comment.Preproc, "p"),
    (Comment, "c"),
    (Keyword, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Decorator, "p"),
)


def highlight(text: str, path: str) -> list[Line]:
    """The lines of ``text``; ``path`` says which language it is. Lines end where profilers count them to end."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, value in _tokens(plain, path):
        pieces = value.split("\n")
        for at, piece in enumerate(pieces):
            if at:
                lines.append([])
            if piece:
                lines[-1].append((kind, piece.expandtabs(4)))
    if not lines[-1] and len(lines) > 1:
        lines.pop()
    return [_cut(line) for line in lines]


def _tokens(text: str, path: str) -> Sequence[tuple[str, str]]:
    lexer: Lexer
    if path.endswith(".py"):
        lexer = PythonLexer(stripnl=False, ensurenl=False)
    elif path.endswith((".cu", ".cuh")):
        lexer = CudaLexer(stripnl=False, ensurenl=False)
    else:
        lexer = CppLexer(stripnl=False, ensurenl=False)
    stream = cast("Iterator[tuple[int, object, str]]", lexer.get_tokens_unprocessed(text))  # pyright: ignore[reportUnknownMemberType]
    tokens = [(_class(token), value) for _, token, value in stream]
    return tokens if "".join(value for _, value in tokens) == text else [("", text)]


def _class(token: object) -> str:
    return next((name for kind, name in _CLASSES if token in kind), "")


def _cut(line: list[tuple[str, str]]) -> Line:
    kept: list[tuple[str, str]] = []
    room = LONGEST
    for kind, text in line:
        if len(text) > room:
            kept.append((kind, text[:room] + " …"))
            break
        kept.append((kind, text))
        room -= len(text)
    return tuple(kept)
