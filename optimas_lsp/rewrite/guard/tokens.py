"""A lexer for C++ and CUDA that trusts nobody: what a compiler could read differently becomes a token of its own.

The syntax tree answers questions of meaning; whether a text is one function, what words it uses and what hides in it
is decided here, so that a text which confuses the parser gains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

TokenKind = Literal["word", "number", "string", "char", "mark", "comment", "directive", "stray"]
"""``directive`` is a whole preprocessor line with its continuations; ``stray`` what belongs in no program text."""


class Token(NamedTuple):
    """One token: its text, the offset of its first character and its 1-based line."""

    kind: TokenKind
    text: str
    start: int
    line: int

    @property
    def end(self) -> int:
        """The offset just after it."""
        return self.start + len(self.text)


_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\n\r\f\v]+)
  | (?P<comment>//(?:[^\n\\]|\\\r?\n|\\)*|/\*.*?(?:\*/|\Z))
  | (?P<string>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
      |(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\Z))
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'(?=[0-9A-Za-z_])|[0-9A-Za-z_.])*)
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z))
  | (?P<word>[^\W\d]\w*|\$\w+)
  | (?P<mark><<<|>>>|<=>|->\*|\.\.\.|<<=|>>=|<:|:>|<%|%>|%:|::|->|\.\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
      |[-+*/%&|^]=|\#\#|[-+*/%&|^~!<>=?:;,.(){}\[\]\#])
  | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"(?:\#|%:|\?\?=)(?:/\*.*?\*/|//[^\n]*|\\\r?\n|[^\n])*", re.DOTALL)

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())


def lex(text: str) -> tuple[Token, ...]:
    """Every token of ``text``, comments and directives included, blanks left out. Linear, never fails."""
    tokens: list[Token] = []
    place, line, fresh = 0, 1, True
    while place < len(text):
        match = _DIRECTIVE.match(text, place) if fresh else None
        kind: str = "directive"
        if match is None:
            match = _TOKEN.match(text, place)
            if match is None:
                raise AssertionError("the last alternative matches any character")
            kind = "string" if match.lastgroup == "delimiter" else match.lastgroup or "stray"
        found = match.group()
        if kind == "blank":
            fresh = fresh or "\n" in found
        else:
            tokens.append(Token(_KINDS.get(kind, "stray"), found, place, line))
            fresh = (fresh and kind == "comment") or (kind == "directive")
        line += found.count("\n")
        place = match.end()
    return tuple(tokens)


_KINDS: dict[str, TokenKind] = {
    "comment": "comment",
    "string": "string",
    "number": "number",
    "char": "char",
    "word": "word",
    "mark": "mark",
    "directive": "directive",
}


def code_of(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """The tokens without comments."""
    return tuple(token for token in tokens if token.kind != "comment")


def texts(tokens: Iterable[Token]) -> tuple[str, ...]:
    """What the tokens say."""
    return tuple(token.text for token in tokens)


def closing_of(tokens: Sequence[Token], opening: int) -> int | None:
    """Index of the bracket that closes the one at index ``opening``, all kinds of brackets counted; None: never."""
    depth = 0
    for at in range(opening, len(tokens)):
        if tokens[at].kind != "mark":
            continue
        depth += (tokens[at].text in OPENING) - (tokens[at].text in CLOSING)
        if depth == 0:
            return at
    return None
