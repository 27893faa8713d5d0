"""The preprocessor: what a function's text said to it stays, and nothing is hidden behind a macro."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from optimas_lsp.rewrite.guard.branches import guarded
from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import Side
from optimas_lsp.rewrite.guard.surroundings import Macro, Surroundings
from optimas_lsp.rewrite.guard.tokens import Token, closing_of

_UNROLL = re.compile(
    r"#\s*pragma\s+(?:unroll(?:\s*\(\s*[\w\s*/+-]+\s*\)|\s+[\w*/+-]+)?|nounroll)\s*(?://.*)?", re.DOTALL
)
MOST_UNROLLED = 1024
"""A loop unrolled further only keeps the compiler busy."""

_VALUES = frozenset(
    {"sizeof", "alignof", "const", "true", "false", "nullptr", "static_cast", "and", "or", "not", "xor", "bitand"}
    | {"bitor", "compl", "not_eq", "__restrict__", "__restrict", "restrict"}
)
"""Keywords that an expression of constants may hold, besides types; any other is a statement or a declaration."""


def _plain(text: str) -> str:
    return " ".join(text.split())


def _directives(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = Counter(_kept(rewrite.before))
    for token in rewrite.after.code:
        if token.kind == "directive" and any(int(number) > MOST_UNROLLED for number in re.findall(r"\d+", token.text)):
            if token.text not in rewrite.before.text:
                yield rewrite.found(token.line, f"'{_plain(token.text)[:60]}' has the compiler write out too much")
        elif token.kind == "directive" and not _UNROLL.fullmatch(token.text.strip()):
            had[_plain(token.text)] -= 1
            if had[_plain(token.text)] < 0:
                yield rewrite.found(token.line, f"'{_plain(token.text)[:60]}' is new; only '#pragma unroll' may be")
    for text, count in had.items():
        if count > 0:
            yield rewrite.found(0, f"'{text[:60]}' is gone")
    if not any(had.values()):
        yield from _moved(rewrite)
    yield from _pragmas(rewrite)
    for token in rewrite.after.code:
        if token.kind == "mark" and token.text in {"##", "#"}:
            yield rewrite.found(token.line, f"'{token.text}' belongs in a macro only")


def _kept(side: Side) -> list[str]:
    """Preprocessor lines in order, but those that only ask to unroll."""
    return [
        _plain(token.text)
        for token in side.code
        if token.kind == "directive" and not _UNROLL.fullmatch(token.text.strip())
    ]


def _moved(rewrite: Rewrite) -> Iterator[Finding]:
    """The same preprocessor lines in another order, or around other code."""
    if _kept(rewrite.before) != _kept(rewrite.after):
        yield rewrite.found(0, "the preprocessor lines are in another order")
    elif guarded(rewrite.before.code) != guarded(rewrite.after.code):
        yield rewrite.found(0, "code changed that the preprocessor may leave out: the profile saw one choice", "flag")


def _pragmas(rewrite: Rewrite) -> Iterator[Finding]:
    """``_Pragma`` says the same as a preprocessor line, in the middle of code."""
    had = Counter(said for _, said in _operators(rewrite.before))
    for token, said in _operators(rewrite.after):
        had[said] -= 1
        if had[said] < 0 and not re.fullmatch(r'\("(?:no)?unroll(?:\s+\d+|\(\d+\))?"\)', said):
            yield rewrite.found(token.line, f"'{token.text}{said[:40]}' is new")


def _operators(side: Side) -> Iterator[tuple[Token, str]]:
    for at, token in enumerate(side.code):
        if token.kind == "word" and token.text in {"_Pragma", "__pragma"}:
            close = closing_of(side.code, at + 1) if at + 1 < len(side.code) else None
            yield token, "".join(each.text for each in side.code[at + 1 : (close or at) + 1])


def _macros(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    for token in rewrite.after.code:
        if token.kind != "word" or token.text in rewrite.before.words:
            continue
        for macro in case.around.macros.get(token.text, ()):
            if why := _hides(macro, case.around, frozenset({token.text})):
                yield rewrite.found(token.line, f"the macro '{token.text}' is new here, and {why}")
                break


def _hides(macro: Macro, around: Surroundings, seen: frozenset[str]) -> str:
    """Why a macro may not be used anew; empty where it stands for a plain expression of constants."""
    known = names()
    for token in macro.body:
        if token.kind in {"string", "stray", "directive"} or token.text in {"##", "#", "{", "}", ";", "="}:
            return f"holds '{token.text[:20]}'"
        if token.kind != "word" or token.text in macro.parameters or token.text in seen:
            continue
        statement = token.text in known.keywords and token.text not in known.types | _VALUES
        if statement or known.forbidding(token.text) or token.text in around.hosts:
            return f"hides '{token.text}'"
        for inner in around.macros.get(token.text, ()):
            if why := _hides(inner, around, seen | {token.text}):
                return why
        if not (known.known(token.text) or token.text in around.words):
            return f"uses '{token.text}', which is not known"
    return ""


RULES = (
    Rule(
        "preprocessor", "preprocessor lines stay as they are; '#pragma unroll' may be added", "fail", each(_directives)
    ),
    Rule("macro", "a macro that is new to the function stands for constants only", "fail", each(_macros)),
)
