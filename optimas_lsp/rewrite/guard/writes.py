"""What a text writes through which names, and where a pointer is only looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from optimas_lsp.rewrite.guard.side import Side
from optimas_lsp.rewrite.heading import Heading

_WRITERS = re.compile(r"(?:atomic\w+|__st\w+|memcpy|memset|memcpy_async|__pipeline_memcpy_async|store|fetch_\w+)\Z")


def pointers(heading: Heading) -> tuple[tuple[str, bool], ...]:
    """Names of pointer and reference parameters, and whether what they point at is const."""
    found: list[tuple[str, bool]] = []
    for parameter in heading.parameters:
        words = [text for text in parameter if re.fullmatch(r"[^\W\d]\w*", text)]
        if any(text in {"*", "&", "["} for text in parameter) and words:
            star = next((at for at, text in enumerate(parameter) if text in {"*", "&", "["}), len(parameter))
            found.append((words[-1], "const" in parameter[:star]))
    return tuple(found)


def targets(side: Side) -> Iterator[Node]:
    """Everything that is written through: left sides, operands of ``++``, first arguments of writing calls."""
    for node in side.nodes("assignment_expression", "update_expression", "call_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        if node.type == "call_expression":
            target = _first_written(side, node)
        if target is not None:
            yield target


def _first_written(side: Side, call: Node) -> Node | None:
    called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    name = "" if called is None else re.split(r"::|\.|->", side.source(called))[-1].split("<")[0]
    if not _WRITERS.match(name) or arguments is None or not arguments.named_children:
        return None
    return arguments.named_children[0]


def roots(side: Side, target: Node) -> Iterator[str]:
    """The names through which a target is written: ``p`` in ``p[i].x``, ``*(p + 1)``, ``&p[i]`` and ``(c ? p : q)[i]``.

    None for a plain variable, unless it is a reference.
    """
    plain = target.type == "identifier" and not is_argument(target)
    waiting = [target] if not plain or side.source(target) in side.references else []
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            yield side.source(node)
            continue
        if node.type == "field_expression" and (member := node.child_by_field_name("field")) is not None:
            yield side.source(member)
        children = [
            child
            for field in ("argument", "left", "right", "value", "consequence", "alternative")
            if (child := node.child_by_field_name(field)) is not None
        ]
        waiting += children or node.named_children[:1]


def is_argument(node: Node) -> bool:
    """Whether a node is an argument of a call."""
    return node.parent is not None and node.parent.type == "argument_list"


def is_read(side: Side, node: Node, whole: Node) -> bool:
    """Whether within ``whole`` only what a pointer points at is used, not the pointer."""
    inner, outer = node, node.parent
    while outer is not None and inner != whole:
        if outer.type == "subscript_expression" and outer.child_by_field_name("argument") == inner:
            above = outer.parent
            return not (above is not None and above.type == "pointer_expression" and side.source(above).startswith("&"))
        if outer.type == "pointer_expression" and side.source(outer).startswith("*"):
            return True
        inner, outer = outer, outer.parent
    return False


class Assigned(NamedTuple):
    """One value that a variable gets: its name, the value, and the type it is declared with there, if it is."""

    name: str
    value: Node
    kind: str
    declared: bool


def assigned(side: Side) -> list[Assigned]:
    """Every initializer and assignment of a text, in order; members count by their own name."""
    found: list[Assigned] = []
    for node in side.nodes("init_declarator", "assignment_expression"):
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if target is None or value is None or node.parent is None:
            continue
        declared = node.type == "init_declarator"
        if not declared and target.type not in {"identifier", "field_expression"}:
            continue
        words = re.findall(r"[^\W\d]\w*", side.source(target))
        kind = side.source(node.parent).split("=", 1)[0] if declared else ""
        found += [Assigned(words[-1], value, kind, declared)] if words else []
    return found


def cast_of(side: Side, node: Node) -> tuple[str, Node] | None:
    """The type and the operand of a cast in any spelling; None for what is no cast."""
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if node.type == "call_expression":
        kind, value = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if kind is None or not re.search(r"_cast\s*<", side.source(kind)):
            return None
    elif node.type != "cast_expression":
        return None
    return None if kind is None or value is None else (side.source(kind).split("<", 1)[-1], value)
