"""A digest of a syntax tree that is the same for texts that say the same in other words.

What makes no difference: comments, redundant brackets and braces, names of locals, ``const``, ``register`` and
``restrict`` of locals, the order of the two operands of ``+`` and ``*``, ``a > b`` for ``b < a``, the spelling of
casts, literals, integer types, increments and compound assignments, how declarations are split, the order of
neighbouring declarations that only compute from variables, and such variables that nothing uses.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from optimas_lsp.rewrite.guard.declared import members
from optimas_lsp.rewrite.guard.declaring import Part, parts_of, runs, word_counts
from optimas_lsp.rewrite.guard.side import Side

Digest = bytes
Blocks = Mapping[int, tuple[Part, ...]]
Ranks = Mapping[tuple[int, int], Digest]

_QUALIFIERS = frozenset({"const", "register", "__restrict__", "__restrict", "restrict"})
_NAMES = frozenset({"identifier", "type_identifier", "namespace_identifier", "statement_identifier"})
_TURNED = {">": "<", ">=": "<="}
_COMMUTING = frozenset({"+", "*", "==", "!=", "&", "|", "^"})
_COMPOUND = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"})
_FLOAT = re.compile(r"(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?([fFlL]?)")
_BLOCKED = frozenset({"if_statement", "else_clause", "for_statement", "while_statement", "compound_statement"})
_SIZED_WORDS = re.compile(r"\b(?:int|signed)\b")


def meaning(side: Side) -> Digest | None:
    """The digest of a text; None where it has no sound tree."""
    root = side.root
    if root is None or root.has_error:
        return None
    used = word_counts(side)
    blocks = {block.id: tuple(parts_of(side, block, used)) for block in side.nodes("compound_statement")}
    own = members(side)
    blind = _Reading(side, dict.fromkeys((*side.declared, *(f".{name}" for name in own)), "<>"), blocks, {})
    blind.digest(root)
    order = dict.fromkeys(_in_order(side, blocks, blind.ranks))
    named = {name: f"<{at}>" for at, name in enumerate(order)}
    named |= {f".{name}": named[name] for name in own if name in named}
    return _Reading(side, named, blocks, blind.ranks).digest(root)


def _in_order(side: Side, blocks: Blocks, ranks: Ranks) -> Iterator[str]:
    """The names that the text declares, those of a run in the order of what they say."""
    first = {run[0].name: run for parts in blocks.values() for run in runs(parts) if len(run) > 1}
    for name in side.declared_in_order:
        run = first.get(name, ())
        yield from (part.name for part in sorted(run, key=lambda part: ranks[part.key]))
        yield name


@dataclass(frozen=True, eq=False)
class _Reading:
    """One pass over a tree: names of locals as ``locals_`` has them, runs of declarations sorted by ``ranks``."""

    side: Side
    locals_: Mapping[str, str]
    blocks: Blocks
    known: Ranks
    ranks: dict[tuple[int, int], Digest] = field(default_factory=dict[tuple[int, int], Digest])

    def digest(self, root: Node) -> Digest:
        """The digest of the tree."""
        done: dict[int, Digest] = {}
        waiting: list[tuple[Node, bool]] = [(root, False)]
        while waiting:
            node, ready = waiting.pop()
            if not ready:
                waiting.append((node, True))
                waiting.extend((child, False) for child in node.children)
            elif node.type == "compound_statement" and not _is_lone_block(node, _counted(node, done)):
                done[node.id] = self._block(node, done)
            else:
                done[node.id] = _digest(self.side, node, self.locals_, done)
        return done[root.id]

    def _block(self, block: Node, done: Mapping[int, Digest]) -> Digest:
        found: list[Digest] = []
        for run in runs(self.blocks[block.id]):
            for part in run:
                self.ranks[part.key] = _part(part, done)
            found += [
                self.ranks[part.key]
                for part in sorted(run, key=lambda part: self.known.get(part.key, b""))
                if self.ranks[part.key]
            ]
        return _hash("block", *found)


def _part(part: Part, done: Mapping[int, Digest]) -> Digest:
    if part.declarator is None:
        return done[part.statement.id]
    others = part.statement.children_by_field_name("declarator")
    kinds = (child for child in part.statement.children if child not in others and child.type not in {",", ";"})
    return _hash("declared", *(done[child.id] for child in kinds if done[child.id]), done[part.declarator.id])


def _counted(node: Node, done: Mapping[int, Digest]) -> list[Node]:
    return [child for child in node.children if done[child.id]]


def _hash(*parts: str | Digest) -> Digest:
    joined = b"\0".join(part.encode("utf-8", "replace") if isinstance(part, str) else part for part in parts)
    return hashlib.blake2b(joined, digest_size=16).digest()


def _digest(side: Side, node: Node, locals_: Mapping[str, str], done: Mapping[int, Digest]) -> Digest:
    """The digest of a node whose children have theirs; empty for what does not count."""
    kind = node.type
    if kind == "comment" or _is_dropped(side, node):
        return b""
    if node.child_count == 0 or kind == "sized_type_specifier":
        return _leaf(side, node, locals_)
    counted = _counted(node, done)
    if kind == "parenthesized_expression" or _is_lone_block(node, counted):
        inner = [child for child in counted if child.type not in {"(", ")", "{", "}"}]
        return _hash("group", *(done[child.id] for child in inner)) if len(inner) != 1 else done[inner[0].id]
    special = _SPECIAL.get(kind)
    found = special(side, node, counted, done) if special else None
    return found or _hash(kind, *(done[child.id] for child in counted))


def _leaf(side: Side, node: Node, locals_: Mapping[str, str]) -> Digest:
    text = side.source(node)
    if node.type == "field_identifier":
        text = locals_.get(f".{text}", text)
    elif node.type in _NAMES:
        text = locals_.get(text, text)
    elif node.type == "number_literal":
        text = _number(text)
    elif node.type in {"sized_type_specifier", "primitive_type"}:
        words = sorted(_SIZED_WORDS.sub(" ", text).split())
        text = " ".join(words) or "int"
    return _hash("leaf", text)


def _number(text: str) -> str:
    """A literal's value and type, whatever its spelling."""
    plain = text.replace("'", "")
    if "x" in plain.lower():
        return plain.lower()
    match = _FLOAT.fullmatch(plain)
    if match is None or not ("." in plain or match.group(3)):
        return plain.lower()
    value = float(plain.rstrip("fFlL"))
    return f"{value!r}{match.group(4).lower()}"


def _is_dropped(side: Side, node: Node) -> bool:
    if node.type == "type_qualifier":
        return side.source(node) in _QUALIFIERS and _is_inside_body(node)
    if node.type == "storage_class_specifier":
        return side.source(node) == "register"
    return node.type == "expression_statement" and node.child_count == 1


def _is_inside_body(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type not in {"compound_statement", "function_definition"}:
        if outer.type in {"type_descriptor", "parameter_list"}:
            return False
        outer = outer.parent
    return outer is not None and outer.type == "compound_statement"


def _is_lone_block(node: Node, counted: Sequence[Node]) -> bool:
    """A block around one statement that declares nothing."""
    outer = node.parent
    return (
        node.type == "compound_statement"
        and len(counted) == 3
        and outer is not None
        and outer.type in _BLOCKED
        and counted[1].type != "declaration"
    )


def _is_unused(node: Node) -> bool:
    """Whether nobody looks at the value of an expression."""
    outer = node.parent
    if outer is None:
        return False
    return outer.type == "expression_statement" or (
        outer.type == "for_statement" and outer.child_by_field_name("update") == node
    )


def _binary(side: Side, node: Node, _: Sequence[Node], done: Mapping[int, Digest]) -> Digest | None:
    left, right, sign = (node.child_by_field_name(name) for name in ("left", "right", "operator"))
    if left is None or right is None or sign is None:
        return None
    operator, operands = side.source(sign), [done[left.id], done[right.id]]
    if operator in _TURNED:
        operator, operands = _TURNED[operator], operands[::-1]
    if operator in _COMMUTING:
        operands.sort()
    return _hash("binary", operator, *operands)


def _update(side: Side, node: Node, _: Sequence[Node], done: Mapping[int, Digest]) -> Digest | None:
    argument, sign = node.child_by_field_name("argument"), node.child_by_field_name("operator")
    if argument is None or sign is None or not _is_unused(node):
        return None
    return _hash("set", side.source(sign)[0], done[argument.id], _hash("leaf", "1"))


def _bare(node: Node | None) -> Node | None:
    """What is inside redundant brackets."""
    while node is not None and node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _assignment(side: Side, node: Node, _: Sequence[Node], done: Mapping[int, Digest]) -> Digest | None:
    left, right, sign = (_bare(node.child_by_field_name(name)) for name in ("left", "right", "operator"))
    if left is None or right is None or sign is None:
        return None
    operator = side.source(sign)
    if operator == "=" and right.type == "binary_expression":
        first, second, inner = (right.child_by_field_name(name) for name in ("left", "right", "operator"))
        if first is not None and second is not None and inner is not None:
            within = side.source(inner)
            if within in _COMPOUND and done[first.id] == done[left.id]:
                return _hash("set", within, done[left.id], done[second.id])
            if within in _COMMUTING & _COMPOUND and done[second.id] == done[left.id]:
                return _hash("set", within, done[left.id], done[first.id])
    return _hash("set", operator.removesuffix("="), done[left.id], done[right.id])


def _cast(side: Side, node: Node, _: Sequence[Node], done: Mapping[int, Digest]) -> Digest | None:
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if kind is None or value is None:
        return None
    return _hash("cast", " ".join(side.source(kind).split()), done[value.id])


def _call(side: Side, node: Node, _: Sequence[Node], done: Mapping[int, Digest]) -> Digest | None:
    called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or arguments is None or arguments.named_child_count != 1:
        return None
    value = done[arguments.named_children[0].id]
    if called.type == "primitive_type":
        return _hash("cast", side.source(called), value)
    match = re.fullmatch(r"static_cast\s*<(.*)>", side.source(called), re.DOTALL)
    return _hash("cast", " ".join(match.group(1).split()), value) if match else None


_SPECIAL = {
    "binary_expression": _binary,
    "update_expression": _update,
    "assignment_expression": _assignment,
    "cast_expression": _cast,
    "call_expression": _call,
}
