"""Inputs that are const stay what they are: nothing is written through a pointer that a cast made of one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import Side, line_of, within
from optimas_lsp.rewrite.guard.writes import Assigned, assigned, cast_of, is_read, pointers, roots, targets


def _const(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    side = rewrite.after
    for token in side.code:
        if token.kind == "word" and token.text == "const_cast" and "const_cast" not in rewrite.before.words:
            yield rewrite.found(token.line, "const_cast takes the protection off an input")
    old, new = _Inputs.of(rewrite, rewrite.before), _Inputs.of(rewrite, side)
    had = {rewrite.before.source(node) for node in _handed_over(old)}
    for node in _handed_over(new):
        if side.source(node) not in had:
            yield rewrite.found(line_of(node), "an input that is const is handed on as one that may be written")
    known_places = {rewrite.before.source(node) for node in _addressed(old)}
    for node in _addressed(new):
        if side.source(node) not in known_places:
            yield rewrite.found(line_of(node), f"'{side.source(node)}' is the place of the pointer itself")
    freed, known = _freed(new) - _freed(old), frozenset(_written(rewrite.before))
    for target in targets(side):
        through = frozenset(roots(side, target))
        if _casts(new, target):
            yield rewrite.found(line_of(target), "an input that is const is written through a cast")
        elif found := sorted(freed & through):
            yield rewrite.found(line_of(target), f"an input that is const is written through '{found[0]}'")
        elif found := sorted((case.around.constants & through) - known):
            yield rewrite.found(line_of(target), f"'{found[0]}' is constant memory and is written")


def _written(side: Side) -> Iterator[str]:
    for target in targets(side):
        yield from roots(side, target)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Names in a text that hold the address of a const input: as a pointer, or as an integer.

    ``others`` are the pointers that do not: an address computed from one of these is not an input's.
    """

    side: Side
    pointers: frozenset[str]
    numbers: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, rewrite: Rewrite, side: Side) -> _Inputs:
        """Those of one version of a function."""
        parameters = pointers(rewrite.heading)
        same = {name for name, constant in parameters if constant}
        numbers: set[str] = set()
        known = assigned(side)
        for _ in range(_STEPS):
            for one in known:
                if "*" not in one.kind and _is_number_of(side, one.value, same | numbers):
                    numbers.add(one.name)
                elif ("*" in one.kind or not one.declared) and _uses(side, one.value, same):
                    same.add(one.name)
        others = {name for name, constant in parameters if not constant}
        others |= {one.name for one in known if "*" in one.kind} - same
        return cls(side, frozenset(same), frozenset(numbers), frozenset(others))


_STEPS = 4
"""An alias of an alias of an alias is as far as anybody goes."""


def _uses(side: Side, value: Node, names_of: Collection[str]) -> bool:
    """Whether one of the pointers is used in a value as a pointer, not for what it points at."""
    return any(side.source(each) in names_of and not is_read(side, each, value) for each in within(value, "identifier"))


def _is_number_of(side: Side, value: Node, names_of: Collection[str]) -> bool:
    """Whether a value is a pointer's address as an integer, with something added at most."""
    for node in within(value, "cast_expression", "call_expression"):
        cast = cast_of(side, node)
        if cast is not None and "*" not in cast[0] and _uses(side, cast[1], names_of):
            return True
        if cast is None and side.source(node).startswith(_TURNING) and _uses(side, node, names_of):
            return True
    return False


_TURNING = ("__cvta_", "__builtin_bit_cast", "std::bit_cast", "cuda::std::bit_cast")


def _freed(inputs: _Inputs) -> frozenset[str]:
    """Names of pointers that a cast makes of inputs and that may be written through."""
    side, freed = inputs.side, set[str]()
    for _ in range(_STEPS):
        for one in assigned(side):
            if _keeps_place(side, one) and (_casts(inputs, one.value) or _uses(side, one.value, freed)):
                freed.add(one.name)
    return frozenset(freed)


def _keeps_place(side: Side, one: Assigned) -> bool:
    """Whether a variable becomes a place in memory, not what was read from there."""
    if "&" in one.kind:
        return True
    value = one.value
    read = value.type == "subscript_expression" or (
        value.type == "pointer_expression" and side.source(value).startswith("*")
    )
    return not read and ("*" in one.kind or "auto" in one.kind.split() or value.type != "call_expression")


def _casts(inputs: _Inputs, node: Node) -> bool:
    """Whether a cast in the expression makes a pointer to what may be written of an input that is const."""
    side = inputs.side
    for one in within(node, "cast_expression", "call_expression"):
        cast = cast_of(side, one)
        if cast is None or "*" not in cast[0] or "const" in cast[0]:
            continue
        by_number = _uses(side, cast[1], inputs.numbers) and not _uses(side, cast[1], inputs.others)
        if by_number or _uses(side, cast[1], inputs.pointers):
            return True
    return False


def _handed_over(inputs: _Inputs) -> Iterator[Node]:
    """Arguments that are const inputs cast to what may be written, of calls that are not known only to read."""
    side = inputs.side
    for call in side.nodes("call_expression"):
        called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        name = "" if called is None else re.split(r"::|\.|->", side.source(called))[-1].split("<")[0].strip()
        if arguments is None or name in names().calls or cast_of(side, call) is not None:
            continue
        yield from (each for each in arguments.named_children if _casts(inputs, each))


def _addressed(inputs: _Inputs) -> Iterator[Node]:
    """``&x`` of a pointer to an input: whoever has it can make the pointer another type."""
    for node in inputs.side.nodes("pointer_expression"):
        inner = node.child_by_field_name("argument")
        plain = inner is not None and inner.type == "identifier" and inputs.side.source(inner) in inputs.pointers
        if plain and inputs.side.source(node).startswith("&"):
            yield node


RULES = (Rule("const-cast", "const inputs stay const", "fail", each(_const)),)
