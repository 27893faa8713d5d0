"""Declarations as parts that can be told apart: which say the same in another order, and which nobody uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.guard.side import Side, within

_EFFECTS = (
    "call_expression",
    "subscript_expression",
    "pointer_expression",
    "assignment_expression",
    "update_expression",
    "lambda_expression",
    "new_expression",
    "initializer_list",
    "argument_list",
    "co_await_expression",
)
"""What an initializer may not hold for its place to be of no account: reads of memory and everything that acts."""

_PLAIN_TYPES = frozenset({"primitive_type", "sized_type_specifier", "placeholder_type_specifier"})


_STORAGE = frozenset({"storage_class_specifier", "attribute_specifier"})


@dataclass(frozen=True, slots=True)
class Part:
    """One declarator of a declaration in a block, or any other statement (``declarator`` None)."""

    statement: Node
    declarator: Node | None = None
    name: str = ""
    plain: bool = False
    """Whether it only computes from variables, so that it may stand before or after its plain neighbours."""

    @property
    def key(self) -> tuple[int, int]:
        """What it can be found by."""
        return self.statement.id, 0 if self.declarator is None else self.declarator.id


def parts_of(side: Side, block: Node, used: Mapping[str, int]) -> Iterator[Part]:
    """The statements of a block in order, declarations as their parts, those left out that are ``used`` once only."""
    for child in block.named_children:
        if child.type != "declaration":
            yield Part(child)
            continue
        simple = _is_simple(side, child)
        for declarator in child.children_by_field_name("declarator"):
            named = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
            name = side.source(named) if named is not None and named.type == "identifier" else ""
            plain = simple and bool(name) and next(within(declarator, *_EFFECTS), None) is None
            if plain and used.get(name, 0) == 1:
                continue
            yield Part(child, declarator, name, plain)


def runs(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts in order, neighbours that are plain together."""
    run: list[Part] = []
    for part in parts:
        if part.plain:
            run.append(part)
            continue
        if run:
            yield run
            run = []
        yield [part]
    if run:
        yield run


def word_counts(side: Side) -> Mapping[str, int]:
    """How often each word stands in the code."""
    return Counter(token.text for token in side.code if token.kind == "word")


def _is_simple(side: Side, declaration: Node) -> bool:
    """Whether a declaration is of a plain type, and of nothing but variables of the thread."""
    kind = declaration.child_by_field_name("type")
    storage = any(child.type in _STORAGE for child in declaration.children)
    words = {side.source(child) for child in declaration.children}
    return kind is not None and kind.type in _PLAIN_TYPES and not storage and "__shared__" not in words
