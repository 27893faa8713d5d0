"""Text that people, parsers and compilers read differently: none of it gets in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each

_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_DIGRAPHS = frozenset({"<%", "%>", "<:", ":>", "%:"})
_PLAIN_CONTROLS = frozenset("\t\n\r")


def _hidden(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    for at, line in enumerate(rewrite.after.text.split("\n"), 1):
        for char in line:
            category = unicodedata.category(char)
            if char in _PLAIN_CONTROLS and char != "\r":
                continue
            if category in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
                name = unicodedata.name(char, f"U+{ord(char):04X}")
                yield rewrite.found(at, f"holds the invisible character {name.lower()}")
                break
    for token in rewrite.after.tokens:
        plain = token.text.isascii() or token.kind == "comment"
        if not plain and not (token.kind == "word" and token.text in rewrite.before.words):
            name = next(char for char in token.text if not char.isascii())
            yield rewrite.found(
                token.line, f"'{token.text[:40]}' is not plain ASCII ({unicodedata.name(name, 'unnamed').lower()})"
            )


def _spliced(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    for token in rewrite.after.tokens:
        if token.kind == "stray" and token.text == "\\":
            yield rewrite.found(token.line, "a backslash outside of a literal joins or disguises tokens")
        elif token.kind == "directive" and "\\" in token.text and token.text not in _directives(rewrite):
            yield rewrite.found(token.line, "a preprocessor line is continued with a backslash")
        elif token.kind == "comment" and token.text.startswith("//") and re.search(r"\\[ \t]*(?:\r?\n|\Z)", token.text):
            yield rewrite.found(token.line, "a comment ends in a backslash and swallows the next line")
        elif token.kind == "mark" and token.text in _DIGRAPHS:
            yield rewrite.found(token.line, f"the digraph '{token.text}' disguises a bracket or a hash")
        elif token.kind == "stray":
            yield rewrite.found(token.line, f"'{token.text}' belongs in no program text")
    for at, line in enumerate(rewrite.after.text.split("\n"), 1):
        if _TRIGRAPH.search(line):
            yield rewrite.found(at, "a trigraph disguises a character")


def _directives(rewrite: Rewrite) -> frozenset[str]:
    return frozenset(token.text for token in rewrite.before.code if token.kind == "directive")


def _strings(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    known = {token.text for token in rewrite.before.code if token.kind == "string"}
    code = rewrite.after.code
    asserting = 0
    for at, token in enumerate(code):
        if token.kind == "word" and token.text == "static_assert":
            asserting = at
        if token.kind == "mark" and token.text == ";":
            asserting = 0
        if token.kind != "string" or token.text in known:
            continue
        if at > 1 and code[at - 1].text == "(" and code[at - 2].text == "_Pragma":
            continue  # the rule 'preprocessor' reads it
        if token.text == '"C"' and at and code[at - 1].text == "extern":
            continue
        if asserting and not token.text.lstrip("u8UL").startswith("R"):
            continue
        yield rewrite.found(token.line, f"the string {token.text[:40]} is new; device code has no use for one")


RULES = (
    Rule("hidden-characters", "no invisible, bidirectional or look-alike characters", "fail", each(_hidden)),
    Rule("disguised-tokens", "no line splices, trigraphs, digraphs or stray characters", "fail", each(_spliced)),
    Rule("string-literal", "no new string literals outside of static_assert", "fail", each(_strings)),
)
