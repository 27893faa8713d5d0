"""Sum up in a register instead of in an element of memory, and store once after the loop."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import LOOPS, contains, field, statements, within
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant a loop that adds to an element set just before it."""
    seen = False
    for node in within(site.scope.body, "assignment_expression"):
        loop = _loop_around(site, node)
        if loop is None or field(node, "operator").type == "=" or field(node, "left").type != "subscript_expression":
            continue
        seen = True
        found = _registered(site, node, loop)
        yield Refusal(found, site.line(node)) if isinstance(found, str) else found
    if not seen:
        yield Refusal("no loop adds to an element of memory")


def _loop_around(site: Site, node: Node) -> Node | None:
    outer = node.parent
    while outer is not None and outer != site.scope.body:
        if outer.type in LOOPS:
            return outer
        outer = outer.parent
    return None


def _registered(site: Site, update: Node, loop: Node) -> Variant | str:
    scope = site.scope
    target = field(update, "left")
    name = scope.squeezed(target)
    access = next((each for each in scope.accesses(target) if each.node == target), None)
    kind = None if access is None else site.element(access.root)
    if access is None or kind is None:
        return f"the type of '{name}' cannot be told"
    if not all(scope.invariant(index, loop) for index in access.index):
        return f"'{name}' is not the same element throughout the loop"
    if scope.barriers(loop):
        return f"threads wait for each other in the loop, so another one may read '{name}' meanwhile"
    if (called := scope.impure(loop)) is not None:
        return f"the loop calls '{called}', which may read '{name}'"
    if scope.leaves(loop, own_loop=False):
        return "the loop may be left by a return or jump"
    others = frozenset(each.root for each in scope.accesses(loop) if each.node != target and each.root != access.root)
    same = [each for each in scope.accesses(loop) if each.root == access.root]
    if any(scope.squeezed(each.node) != name for each in same):
        return f"the loop uses other elements of '{access.root}', too"
    if (why := site.separate(others, frozenset({access.root}))) is not None:
        return why
    before = _previous(loop)
    init = _initial(site, before, name)
    if before is None or init is None:
        return f"'{name}' is not set right before the loop, so whether the loop runs at all would matter"
    own = scope.fresh("sum")
    data = site.syntax.code.data
    indent = indent_at(data, loop.start_byte)
    edits = [
        Edit(before.start_byte, before.end_byte, f"{kind} {own} = {scope.text(init)};"),
        *(Edit(each.node.start_byte, each.node.end_byte, own) for each in same),
        Edit(loop.end_byte, loop.end_byte, f"\n{indent}{scope.text(target)} = {own};"),
    ]
    return Variant(
        label=f"{own} for {name}",
        edits=tuple(edits),
        lines=site.lines(before, loop),
        reason=f"'{name}' is kept in a register while the loop runs, so no step waits for memory to give back the sum",
    )


def _previous(node: Node) -> Node | None:
    before = node.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    if node.parent is None or node.parent.type != "compound_statement":
        return None
    return before


def _initial(site: Site, before: Node | None, name: str) -> Node | None:
    if before is None or before.type != "expression_statement":
        return None
    inner = statements(before)[0].named_children[0] if before.named_children else before
    if inner.type != "assignment_expression" or field(inner, "operator").type != "=":
        return None
    if site.scope.squeezed(field(inner, "left")) != name or not contains(before, inner):
        return None
    return field(inner, "right")
