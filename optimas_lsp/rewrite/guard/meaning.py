"""A digest of a syntax tree that is the same for texts that say the same in other words.

What makes no difference: comments, redundant brackets and braces, names of locals, ``const``, ``register`` and
``restrict`` of locals, the order of the two operands of ``+`` and ``*``, ``a > b`` for ``b < a``, the spelling of
casts, literals, integer types, increments and compound assignments.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from optimas_lsp.rewrite.guard.side import Side

Digest = bytes

_QUALIFIERS = frozenset({"const", "register", "__restrict__", "__restrict", "restrict"})
_NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "namespace_identifier", "statement_identifier"}
)
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
    locals_ = {name: f"<{at}>" for at, name in enumerate(side.declared_in_order)}
    done: dict[int, Digest] = {}
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            done[node.id] = _digest(side, node, locals_, done)
            continue
        waiting.append((node, True))
        waiting.extend((child, False) for child in node.children)
    return done[root.id]


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
    counted = [child for child in node.children if done[child.id]]
    if kind == "parenthesized_expression" or _is_lone_block(node, counted):
        inner = [child for child in counted if child.type not in {"(", ")", "{", "}"}]
        return _hash("group", *(done[child.id] for child in inner)) if len(inner) != 1 else done[inner[0].id]
    special = _SPECIAL.get(kind)
    found = special(side, node, counted, done) if special else None
    return found or _hash(kind, *(done[child.id] for child in counted))


def _leaf(side: Side, node: Node, locals_: Mapping[str, str]) -> Digest:
    text = side.source(node)
    if node.type in _NAMES:
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
