"""Inputs that are const stay what they are: nothing is written through a pointer that a cast made of one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import Side, line_of, within
from optimas_lsp.rewrite.guard.writes import is_read, pointers, roots, targets


def _const(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    side = rewrite.after
    for token in side.code:
        if token.kind == "word" and token.text == "const_cast" and "const_cast" not in rewrite.before.words:
            yield rewrite.found(token.line, "const_cast takes the protection off an input")
    inputs = {name for name, constant in pointers(rewrite.heading) if constant}
    old = _freed(rewrite.before, inputs)
    freed = _freed(side, inputs)
    had = {rewrite.before.source(node) for node in _handed_over(rewrite.before, inputs)}
    for node in _handed_over(side, inputs):
        if side.source(node) not in had:
            yield rewrite.found(line_of(node), "an input that is const is handed on as one that may be written")
    for target in targets(side):
        if _casts(side, target, inputs):
            yield rewrite.found(line_of(target), "an input that is const is written through a cast")
        elif through := sorted((freed - old).intersection(roots(side, target))):
            yield rewrite.found(line_of(target), f"an input that is const is written through '{through[0]}'")


def _freed(side: Side, inputs: set[str]) -> set[str]:
    """Names of pointers that a cast makes of ``inputs`` and that may be written through."""
    freed: set[str] = set()
    assigned = [
        (declarator, value, node.parent)
        for node in side.nodes("init_declarator", "assignment_expression")
        if (declarator := node.child_by_field_name("declarator") or node.child_by_field_name("left")) is not None
        and (value := node.child_by_field_name("value") or node.child_by_field_name("right")) is not None
    ]
    for _ in range(4):  # an alias of an alias of an alias is as far as anybody goes
        for declarator, value, outer in assigned:
            kind = "" if outer is None else side.source(outer).split("=", 1)[0]
            if not _keeps_place(side, value, kind):
                continue
            if _casts(side, value, inputs) or _passes_on(side, value, freed):
                freed.update(re.findall(r"[^\W\d]\w*", side.source(declarator))[-1:])
    return freed


def _keeps_place(side: Side, value: Node, kind: str) -> bool:
    """Whether what is declared as ``kind`` and gets ``value`` is a place in memory, not what was read from there."""
    if "&" in kind:
        return True
    read = value.type == "subscript_expression" or (
        value.type == "pointer_expression" and side.source(value).startswith("*")
    )
    return not read and ("*" in kind or "auto" in kind.split() or value.type != "call_expression")


def _passes_on(side: Side, value: Node, freed: set[str]) -> bool:
    names_in = (each for each in within(value, "identifier") if side.source(each) in freed)
    return any(not is_read(side, each, value) for each in names_in)


def _casts(side: Side, node: Node, inputs: set[str]) -> bool:
    """Whether a cast in the expression makes a pointer to what may be written of an input that is const."""
    for cast in within(node, "cast_expression", "call_expression"):
        kind, value = cast.child_by_field_name("type"), cast.child_by_field_name("value")
        if cast.type == "call_expression":
            kind, value = cast.child_by_field_name("function"), cast.child_by_field_name("arguments")
            if kind is None or "_cast" not in side.source(kind).split("<")[0]:
                continue
        if kind is None or value is None or "*" not in side.source(kind) or "const" in side.source(kind).split("<")[-1]:
            continue
        if any(side.source(each) in inputs and not is_read(side, each, value) for each in within(value, "identifier")):
            return True
    return False


def _handed_over(side: Side, inputs: set[str]) -> Iterator[Node]:
    """Arguments that are const inputs cast to what may be written, of calls that are not known only to read."""
    for call in side.nodes("call_expression"):
        called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        name = "" if called is None else re.split(r"::|\.|->", side.source(called))[-1].split("<")[0].strip()
        if arguments is None or name in names().calls or name.endswith("_cast"):
            continue
        yield from (each for each in arguments.named_children if _casts(side, each, inputs))


RULES = (Rule("const-cast", "const inputs stay const", "fail", each(_const)),)
