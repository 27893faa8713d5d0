"""A rewrite changes what is computed or how: not only comments, blanks, braces, names of variables or spellings."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.meaning import meaning


def _unchanged(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    main = rewrite.main
    if main is None:
        return
    old = tuple(token.text for token in rewrite.before.code)
    new = tuple(token.text for token in main.tokens)
    if old == new:
        same = (
            "is the same"
            if rewrite.before.text.strip() == rewrite.after.text.strip()
            else "differs in blanks or comments only"
        )
        yield rewrite.found(main.line, f"the new text {same}")
        return
    before, after = meaning(rewrite.before), meaning(rewrite.after)
    if before is not None and before == after and not _restricts_more(rewrite) and not _other_pragmas(rewrite):
        yield rewrite.found(main.line, "the new text differs in names, braces, brackets or spelling only")


def _restricts_more(rewrite: Rewrite) -> bool:
    new = rewrite.new_heading
    return new is not None and (new.restricted != rewrite.heading.restricted or new.bounds != rewrite.heading.bounds)


def _other_pragmas(rewrite: Rewrite) -> bool:
    """Pragmas are no part of the tree, and unrolling is a change."""
    before, after = (
        [" ".join(token.text.split()) for token in side.code if token.kind == "directive"]
        for side in (rewrite.before, rewrite.after)
    )
    return before != after


def _nothing(case: Case) -> Iterator[Finding]:
    if not case.proposal.functions:
        yield Finding("", 0, "the proposal rewrites nothing; its reasons are under 'not_applied'")


RULES = (
    Rule("empty", "the proposal rewrites at least one function", "fail", _nothing),
    Rule(
        "cosmetic",
        "every new text differs in more than comments, blanks, names, braces and spelling",
        "fail",
        each(_unchanged),
    ),
)
