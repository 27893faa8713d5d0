"""A rewrite changes what is computed or how: not only comments, blanks, braces, names of variables or spellings."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.side import Side

_SKIPPED = frozenset({"comment"})
_TRANSPARENT = frozenset({"parenthesized_expression"})
_MARKS = frozenset({"(", ")", ";", ","})


def canonical(side: Side) -> tuple[str, ...] | None:
    """The syntax tree of a text as a list, without what makes no difference; None where there is no sound tree.

    Left out are comments, redundant brackets and braces, the order of ``const`` and its type, and ``const``,
    ``register`` and top-level ``restrict`` themselves on locals; local names become numbers in order of appearance,
    ``x++`` whose value is not used becomes ``++x``.
    """
    root = side.root
    if root is None or root.has_error:
        return None
    numbers: dict[str, str] = {}
    local = side.declared
    found: list[str] = []
    waiting: list[Node | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            found.append(node)
            continue
        if node.type in _SKIPPED or _dropped(side, node):
            continue
        if node.child_count == 0:
            text = side.source(node)
            if (
                node.type in {"identifier", "type_identifier", "field_identifier", "namespace_identifier"}
                and text in local
            ):
                text = numbers.setdefault(text, f"<{len(numbers)}>")
            found.append(text)
            continue
        children = [child for child in node.children if child.type not in _SKIPPED]
        if node.type in _TRANSPARENT or _lone_block(node, children):
            waiting.extend(reversed([child for child in children if child.type not in {"(", ")", "{", "}"}]))
            continue
        if node.type == "update_expression" and _unused(node):
            children = sorted(children, key=lambda child: child.is_named)
        waiting.append(")" + node.type)
        waiting.extend(reversed(children))
        found.append(node.type + "(")
    return tuple(found)


def _dropped(side: Side, node: Node) -> bool:
    if node.type == "type_qualifier":
        return side.source(node) in {"const", "register", "__restrict__", "__restrict", "restrict"} and _local(node)
    if node.type == "storage_class_specifier":
        return side.source(node) == "register"
    return (
        node.type == ";"
        and node.parent is not None
        and node.parent.type == "expression_statement"
        and (node.parent.child_count == 1)
    )


def _local(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type not in {"compound_statement", "function_definition"}:
        if outer.type in {"type_descriptor", "parameter_list"}:
            return False
        outer = outer.parent
    return outer is not None and outer.type == "compound_statement"


def _lone_block(node: Node, children: list[Node]) -> bool:
    """A block around one statement that declares nothing."""
    if node.type != "compound_statement" or len(children) != 3:
        return False
    outer = node.parent
    return (
        outer is not None
        and outer.type in {"if_statement", "else_clause", "for_statement", "while_statement", "compound_statement"}
        and children[1].type != "declaration"
    )


def _unused(node: Node) -> bool:
    outer = node.parent
    if outer is None:
        return False
    return outer.type == "expression_statement" or (
        outer.type == "for_statement" and outer.child_by_field_name("update") == node
    )


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
    before, after = canonical(rewrite.before), canonical(rewrite.after)
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
