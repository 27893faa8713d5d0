"""The preprocessor: what a function's text said to it stays, and nothing is hidden behind a macro."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.surroundings import Macro, Surroundings

_UNROLL = re.compile(
    r"#\s*pragma\s+(?:unroll(?:\s*\(\s*[\w\s*/+-]+\s*\)|\s+[\w*/+-]+)?|nounroll)\s*(?://.*)?", re.DOTALL
)
_HIDING = frozenset(
    {"asm", "__asm__", "__asm", "goto", "return", "break", "continue", "_Pragma", "__pragma", "throw", "new", "delete"}
)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _directives(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = Counter(
        _plain(token.text)
        for token in rewrite.before.code
        if token.kind == "directive" and not _UNROLL.fullmatch(token.text.strip())
    )
    for token in rewrite.after.code:
        if token.kind == "directive" and not _UNROLL.fullmatch(token.text.strip()):
            had[_plain(token.text)] -= 1
            if had[_plain(token.text)] < 0:
                yield rewrite.found(token.line, f"'{_plain(token.text)[:60]}' is new; only '#pragma unroll' may be")
    for text, count in had.items():
        if count > 0:
            yield rewrite.found(0, f"'{text[:60]}' is gone")
    code = rewrite.after.code
    for at, token in enumerate(code):
        if token.text in {"_Pragma", "__pragma"} and token.text not in rewrite.before.words:
            said = "".join(each.text for each in code[at + 1 : at + 4])
            if not re.fullmatch(r'\("(?:no)?unroll(?:\s+\d+|\(\d+\))?"\)', said):
                yield rewrite.found(token.line, f"'{token.text}' is new")
        elif token.kind == "mark" and token.text in {"##", "#"}:
            yield rewrite.found(token.line, f"'{token.text}' belongs in a macro only")


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
        if token.text in _HIDING or known.forbidding(token.text) or token.text in around.hosts:
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
