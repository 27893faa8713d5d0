"""What a function does to memory: outputs keep being written, inputs read, and nothing new outlives the launch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import Side, line_of, within
from optimas_lsp.rewrite.guard.surroundings import callees
from optimas_lsp.rewrite.guard.writes import assigned, cast_of, is_argument, pointers, roots, targets


def _written(side: Side) -> frozenset[str]:
    """Root names of everything assigned through an index, a dereference, a member, or handed to a writing call."""
    found: set[str] = set()
    for target in targets(side):
        if target.type != "identifier" or is_argument(target):
            found.update(re.findall(r"[^\W\d]\w*", side.source(target)))
    return frozenset(found)


def _acts(side: Side) -> bool:
    """Whether the text does anything that can be seen from outside: writes through a name, calls, returns a value."""
    if _written(side) or any(True for _ in side.nodes("call_expression")):
        return True
    return any(node.named_child_count for node in side.nodes("return_statement"))


def _outputs(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if rewrite.before.root is None or rewrite.after.root is None or rewrite.main is None:
        return
    if _acts(rewrite.before) and not _acts(rewrite.after):
        yield rewrite.found(rewrite.main.line, "the new text has no effect at all; the old one had")
        return
    written = _written(rewrite.before)
    inside = frozenset(token.text for token in rewrite.main.tokens[rewrite.main.body or 0 :])
    for name, constant in pointers(rewrite.heading):
        if constant or name not in written:
            continue
        if name not in inside:
            yield rewrite.found(rewrite.main.line, f"'{name}' was written and does not occur any more")
        elif not rewrite.after.root.has_error and not _reaches_a_write(rewrite.after, name):
            yield rewrite.found(rewrite.main.line, f"'{name}' was written and is only looked at now")


_LOOKING = frozenset(
    {"sizeof_expression", "alignof_expression", "decltype", "parameter_list", "lambda_capture_specifier"}
)
_AROUND_A_PLACE = frozenset(
    {"field_expression", "subscript_expression", "parenthesized_expression", "conditional_expression"}
)
_COMPARING = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "!"})


def _reaches_a_write(side: Side, name: str) -> bool:
    """Whether something is written through ``name``, or it is handed on to where that may happen."""
    if any(name in roots(side, target) for target in targets(side)):
        return True
    return any(side.source(node) == name and _is_handed_on(side, node) for node in side.nodes("identifier"))


def _is_handed_on(side: Side, node: Node) -> bool:
    """Whether a pointer's value goes anywhere from here: into a variable, a call, a return."""
    inner, outer = node, node.parent
    while outer is not None:
        if outer.type in _LOOKING or outer.type in {"expression_statement", "condition_clause"}:
            return False
        if outer.type == "subscript_expression" and outer.child_by_field_name("argument") == inner:
            return _is_referred_to(side, outer)
        if outer.type == "pointer_expression" and side.source(outer).startswith("*"):
            return _is_referred_to(side, outer)
        if outer.type == "cast_expression" and side.source(outer).replace(" ", "").startswith("(void)"):
            return False
        sign = outer.child_by_field_name("operator")
        if outer.type in {"binary_expression", "unary_expression"} and sign and side.source(sign) in _COMPARING:
            return False
        if outer.type in {"init_declarator", "argument_list", "return_statement", "initializer_list"}:
            return True
        if outer.type == "assignment_expression":
            return outer.child_by_field_name("right") == inner
        inner, outer = outer, outer.parent
    return False


def _is_referred_to(side: Side, node: Node) -> bool:
    """Whether an element's address is taken, or a reference to it is made."""
    inner, outer = node, node.parent
    while outer is not None and outer.type in _AROUND_A_PLACE:
        inner, outer = outer, outer.parent
    if outer is None:
        return False
    if outer.type == "pointer_expression":
        return side.source(outer).startswith("&")
    if outer.type == "init_declarator":
        return "&" in side.source(outer).split("=", 1)[0]
    return outer.type == "argument_list" and outer.child_by_field_name("function") != inner


def _inputs(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if rewrite.main is None:
        return
    inside = frozenset(token.text for token in rewrite.main.tokens[rewrite.main.body or 0 :])
    old = frozenset(token.text for token in rewrite.before.code[_opening(rewrite.before) :])
    for parameter in rewrite.heading.parameters:
        words = [text for text in parameter if re.fullmatch(r"[^\W\d]\w*", text)]
        if len(words) > 1 and words[-1] in old and words[-1] not in inside:
            yield rewrite.found(rewrite.main.line, f"the parameter '{words[-1]}' was used and is not any more")


def _opening(side: Side) -> int:
    return next((segment.body for segment in side.segments if segment.body is not None), 0)


def _state(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    for token in rewrite.after.code:
        if token.kind == "word" and token.text in case.around.state and token.text not in rewrite.before.words:
            yield rewrite.found(
                token.line, f"'{token.text}' keeps its value from one launch to the next and is new here"
            )
    had = {name for target in targets(rewrite.before) for name in _changed(rewrite.before, target)}
    for target in targets(rewrite.after):
        for name in sorted(case.around.state.intersection(_changed(rewrite.after, target)) - had):
            if name in rewrite.before.words:
                yield rewrite.found(
                    line_of(target), f"'{name}' keeps its value from one launch to the next, and is written"
                )


def _changed(side: Side, target: Node) -> set[str]:
    """What a target changes: the names it is written through, or the variable itself."""
    return {*roots(side, target), *({side.source(target)} if target.type == "identifier" else ())}


def _invented(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = {rewrite.before.source(node) for node in _addresses(rewrite.before)}
    for node in _addresses(rewrite.after):
        if rewrite.after.source(node) not in had:
            yield rewrite.found(line_of(node), f"'{rewrite.after.source(node)[:40]}' makes an address of a number")
    if not rewrite.before.words & {"cudaTextureObject_t", "cudaSurfaceObject_t", "texture", "surface"}:
        for callee in callees(rewrite.after):
            if callee.name.startswith(("tex", "surf")) and callee.name in names().calls:
                yield rewrite.found(
                    callee.line, f"'{callee.name}' needs a texture or surface, and the function has none"
                )


def _addresses(side: Side) -> Iterator[Node]:
    """Casts to pointers of numbers, and of variables that only ever are numbers."""
    values: dict[str, list[Node]] = {}
    known = assigned(side)
    for one in known:
        values.setdefault(one.name, []).append(one.value)
    numbers = {one.name for one in known if one.declared} - side.references
    for _ in range(4):  # each round drops what was computed from something else
        numbers = {name for name in numbers if all(_is_number(side, value, numbers) for value in values[name])}
    for node in side.nodes("cast_expression", "call_expression"):
        cast = cast_of(side, node)
        if cast is not None and "*" in cast[0] and _is_number(side, cast[1], numbers):
            yield node


_NO_NUMBERS = ("call_expression", "lambda_expression", "null", "nullptr", "string_literal")


def _is_number(side: Side, value: Node, numbers: set[str]) -> bool:
    """Whether a value is computed from literals and from variables that are."""
    if (
        next(within(value, "call_expression", "lambda_expression", "null", "nullptr", "string_literal"), None)
        is not None
    ):
        return False
    words = {side.source(each) for each in within(value, "identifier", "field_expression", "this")}
    return words <= numbers and bool(words or next(within(value, "number_literal"), None))


RULES = (
    Rule("lost-output", "what the function wrote it still writes", "fail", each(_outputs)),
    Rule("unused-input", "parameters that are not used any more are looked at by the proof", "flag", each(_inputs)),
    Rule("global-state", "no variable that outlives a launch is newly used", "fail", each(_state)),
    Rule("invented-address", "no pointer is made of a number", "fail", each(_invented)),
)
