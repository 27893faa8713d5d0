"""Text that stands for code instead of being it: ellipses, "rest unchanged", blanks to fill in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.tokens import Token

_DOTS = r"(?:\.{3,}|…)"
_WHOLE = re.compile(
    rf"""
      {_DOTS}.{{0,60}} | .{{0,60}}\b(?:as\ before|as\ above|here|code|unchanged|omitted|same|etc)\b[\s.:]*{_DOTS}
    | (?:\W*\b(?:the|rest|remainder|remaining|existing|original|previous|old|other|same|of|and|everything|all|else|logic
        |code|kernel|function|body|implementation|computation|is|are|remains?|stays?|keep|kept|as|before|above|here
        |unchanged|identical|omitted|elided|goes|to|continues?|loop|operations?|steps?|rest|this|below|line|and|so|on|etc|for|brevity|it|was|no|changes?|like|in|with|from|lines?|part)\b){{2,}}\W*
    | \W*(?:unchanged|omitted|elided|snip|snipped|same|etc)\W*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TELLING = re.compile(
    r"\b(?:code|kernel|function|body|implementation|logic|everything|unchanged|identical|omitted|elided|before|above"
    r"|original|existing|brevity|snip|snipped|here|same|as is|no changes?|and so on|etc)\b",
    re.IGNORECASE,
)
_BLANK = re.compile(
    r"\b(?:TODO|FIXME|XXX|TBD|HACK)\b|your[ _](?:code|implementation|logic)|(?:code|implementation) goes here"
    r"|fill (?:this )?in\b|\bplaceholder\b|(?:to be|not yet) implemented|implement (?:this|me|here)\b"
    r"|insert .{0,30}\bhere\b|(?:left|omitted) (?:out )?for brevity|\bpseudo-?code\b|rest of (?:the |your )?"
    r"(?:code|kernel|function|implementation|body)\b(?! (?:reads|uses|needs|waits))|<\s*(?:your|insert|code)\b[^>]*>",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"your_\w+|\w*(?:placeholder|todo|fixme)\w*|(?:insert|fill_in|put)_\w*here|\w*_goes_here", re.IGNORECASE
)
_BEFORE_PACK = frozenset({"typename", "class", "auto", "sizeof", "catch"})


def _words(comment: str) -> str:
    """A comment's words, on one line, without its marks."""
    text = comment[2:-2] if comment.startswith("/*") and comment.endswith("*/") else comment[2:]
    return " ".join(line.strip(" \t*/") for line in text.split("\n")).strip()


def stands_for_code(comment: str, *, alone: bool) -> bool:
    """Whether a comment's words, ``alone`` on its line or behind code, say that code was left out."""
    whole = alone and _WHOLE.fullmatch(comment) and (_TELLING.search(comment) or re.match(_DOTS, comment))
    return bool(whole) or _BLANK.search(comment) is not None


def _comments(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = {_words(token.text) for token in rewrite.before.tokens if token.kind == "comment"}
    for token in rewrite.after.tokens:
        if token.kind != "comment" or not (text := _words(token.text)) or text in had:
            continue
        if stands_for_code(text, alone=rewrite.after.line_text(token.line).startswith(token.text[:2])):
            yield rewrite.found(token.line, f"the comment '{text[:60]}' stands for code that is not there")


def _placeholders(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    yield from _comments(rewrite, case)
    for token in rewrite.after.code:
        if token.kind == "word" and token.text not in rewrite.before.words and _NAMES.fullmatch(token.text):
            yield rewrite.found(token.line, f"'{token.text}' stands for code that is not there")


def _ellipses(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    code = rewrite.after.code
    for at, token in enumerate(code):
        if token.text == "..." and not _pack(code, at):
            yield rewrite.found(token.line, "an ellipsis stands where code belongs")
        elif token.text == "…" or (token.kind == "mark" and token.text == "." and _dots(code, at)):
            yield rewrite.found(token.line, "dots stand where code belongs")


def _dots(code: tuple[Token, ...], at: int) -> bool:
    return at + 1 < len(code) and code[at + 1].text == "."


def _pack(code: tuple[Token, ...], at: int) -> bool:
    """Whether the dots belong to a parameter pack, its expansion, a fold or ``catch (...)``."""
    before = code[at - 1] if at else None
    after = code[at + 1] if at + 1 < len(code) else None
    if before is None or after is None:
        return False
    if before.text in _BEFORE_PACK or (before.text == "(" and at > 1 and code[at - 2].text == "catch"):
        return True
    folding = {"+", "*", "&&", "||", ",", "|", "&", "^", "-", "/"}
    if after.text in folding - {","}:
        return before.kind == "word" or before.text in {"(", ")"}
    if before.text in folding:
        return before.text != "," and after.kind in {"word", "mark"} and after.text not in {";", "}"}
    expanded = before.kind == "word" or before.text in {")", ">", "&", "&&"}
    return expanded and (after.kind == "word" or after.text in {")", ",", ">", "}", ">>"})


RULES = (
    Rule("placeholder", "nothing stands for code that is left out", "fail", each(_placeholders)),
    Rule("ellipsis", "dots stand for parameter packs only", "fail", each(_ellipses)),
)
