"""What the preprocessor chooses between: under which conditions each token stands, and whether a branch is whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from optimas_lsp.rewrite.guard.tokens import CLOSING, OPENING, Token

_CONDITIONAL = re.compile(r"#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")

Guards = tuple[str, ...]
"""The conditions around a token, outermost first; empty: it always counts."""


def _conditional(token: Token) -> str:
    match = _CONDITIONAL.match(token.text) if token.kind == "directive" else None
    return match.group(1) if match else ""


def guards_of(code: Sequence[Token]) -> tuple[Guards, ...]:
    """For each token the conditions it stands under; a conditional line itself stands outside of its own."""
    found: list[Guards] = []
    open_: list[str] = []
    for token in code:
        kind = _conditional(token)
        if kind and not kind.startswith("if") and open_:
            last = open_.pop()
            if kind != "endif":
                found.append(tuple(open_))
                open_.append(f"{last} {' '.join(token.text.split())}")
                continue
        found.append(tuple(open_))
        if kind.startswith("if"):
            open_.append(" ".join(token.text.split()))
    return tuple(found)


def words_by_guard(code: Sequence[Token]) -> Counter[tuple[str, Guards]]:
    """How often each word stands under which conditions."""
    return Counter(
        (token.text, guards) for token, guards in zip(code, guards_of(code), strict=True) if token.kind == "word"
    )


def guarded(code: Sequence[Token]) -> tuple[tuple[str, Guards], ...]:
    """The tokens that stand under conditions, in order, conditional lines left out."""
    return tuple(
        (token.text, guards)
        for token, guards in zip(code, guards_of(code), strict=True)
        if guards and not _conditional(token)
    )


def branch_depths(code: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """For each branch the brackets that it leaves open and the most that it closes of what was open before it.

    (0, 0) is a branch that is whole: whether the compiler sees it or not, what is around it means the same.
    """
    found: list[tuple[int, int]] = []
    open_: list[list[int]] = []
    for token in code:
        kind = _conditional(token)
        if kind and not kind.startswith("if") and open_:
            depth, lowest = open_.pop()
            found.append((depth, lowest))
        if kind and kind != "endif":
            open_.append([0, 0])
        if token.kind == "mark" and open_:
            for each in open_:
                each[0] += (token.text in OPENING) - (token.text in CLOSING)
                each[1] = min(each[1], each[0])
    return tuple(found)
