"""Walking a CUDA syntax tree: the few questions that every transformation asks of a node."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_WRAPPERS = frozenset({"parenthesized_expression", "condition_clause"})


def walk(node: Node) -> Iterator[Node]:
    """``node`` and everything in it, in the order of the text."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(found.children))


def within(node: Node, *kinds: str) -> Iterator[Node]:
    """The nodes of these kinds in ``node``, itself included."""
    return (found for found in walk(node) if found.type in kinds)


def field(node: Node, name: str) -> Node:
    """The child called ``name``, which the grammar promises; raises KeyError where the text is broken."""
    found = node.child_by_field_name(name)
    if found is None:
        raise KeyError(f"a {node.type} without {name}")
    return found


def bare(node: Node) -> Node:
    """``node`` without brackets around it."""
    while node.type in _WRAPPERS and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def statements(block: Node) -> list[Node]:
    """The statements of a block, or the one statement that stands in a block's place; comments left out."""
    if block.type != "compound_statement":
        return [block]
    return [child for child in block.named_children if child.type != "comment"]


def enclosing(node: Node, kinds: frozenset[str], stop: Node) -> Iterator[Node]:
    """The nodes of ``kinds`` around ``node``, innermost first, up to and without ``stop``."""
    outer = node.parent
    while outer is not None and outer != stop:
        if outer.type in kinds:
            yield outer
        outer = outer.parent


def contains(outer: Node, inner: Node) -> bool:
    """Whether ``inner`` lies in ``outer`` or is it."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def unconditional(node: Node, stop: Node) -> bool:
    """Whether ``node`` is evaluated whenever the block ``stop`` is run from its top to its end."""
    inner = node
    outer = node.parent
    while outer is not None and inner != stop:
        kind = outer.type
        if kind == "if_statement" and outer.child_by_field_name("condition") != inner:
            return False
        if kind == "conditional_expression" and outer.child_by_field_name("condition") != inner:
            return False
        if kind in LOOPS or kind in {"switch_statement", "lambda_expression", "case_statement", "else_clause"}:
            return outer == stop
        if kind == "binary_expression" and outer.child_by_field_name("right") == inner:
            operator = outer.child_by_field_name("operator")
            if operator is not None and operator.type in {"&&", "||", "and", "or"}:
                return False
        inner, outer = outer, outer.parent
    return True
