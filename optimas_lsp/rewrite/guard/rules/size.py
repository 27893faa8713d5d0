"""A rewrite stays of a size that a person can read."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.side import line_of

DEEPEST = 60
"""Brackets inside brackets; more is no program that a person wrote."""

DEEPEST_TREE = 300
"""Levels of the syntax tree; a sum of two hundred terms is as deep as that."""


def _lines(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    limits = case.limits
    before = rewrite.before.text.count("\n") + 1
    after = rewrite.after.text.count("\n") + 1
    most = max(limits.lines, limits.growth * before)
    if after > most:
        yield rewrite.found(0, f"the new text has {after} lines, the old one {before}; at most {most} are accepted")
    if len(rewrite.after.text) > limits.characters:
        yield rewrite.found(
            0, f"the new text has {len(rewrite.after.text)} characters; at most {limits.characters} are accepted"
        )
    longest = max((len(line) for line in rewrite.after.text.split("\n")), default=0)
    if longest > max(400, 2 * max((len(line) for line in rewrite.before.text.split("\n")), default=0)):
        yield rewrite.found(0, f"a line has {longest} characters; code can hide far to the right")


def _depth(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    depth = 0
    for token in rewrite.after.code:
        if token.kind == "mark":
            depth += (token.text in "([{") - (token.text in ")]}")
            if depth > DEEPEST:
                yield rewrite.found(token.line, f"brackets are nested more than {DEEPEST} deep")
                return


def _nesting(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    """Statements and expressions inside each other without brackets, such as loops that are each other's body."""
    root = rewrite.after.root
    waiting = [] if root is None else [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST_TREE:
            yield rewrite.found(line_of(node), f"statements are nested more than {DEEPEST_TREE} deep")
            return
        waiting += [(child, depth + 1) for child in node.children]


def _deep(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    yield from _depth(rewrite, case)
    if case.syntax.language == "cuda":
        yield from _nesting(rewrite, case)


def _count(case: Case) -> Iterator[Finding]:
    count = len(case.proposal.functions)
    if count > case.limits.functions:
        yield Finding("", 0, f"{count} functions are rewritten; at most {case.limits.functions} are accepted")


RULES = (
    Rule("oversize", "a rewrite has at most the lines and characters allowed", "fail", each(_lines)),
    Rule("too-deep", "brackets and statements are nested as a person would", "fail", each(_deep)),
    Rule("too-many", "a proposal rewrites few functions", "fail", _count),
)
