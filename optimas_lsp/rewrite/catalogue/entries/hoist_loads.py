"""Load once, before the loop, what every iteration loads again."""

from __future__ import annotations

from optimas_lsp.rewrite.catalogue.loops import CountedLoop, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import enclosing, unconditional
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at
from optimas_lsp.rewrite.catalogue.scope import Access
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant a loop with such loads."""
    nodes = loops(site.scope)
    if not nodes:
        yield Refusal("the function has no loop")
    for node in nodes:
        loop = counted(site.scope, node)
        found = loop if isinstance(loop, str) else _hoisted(site, loop)
        yield Refusal(found, site.line(node)) if isinstance(found, str) else found


def _hoisted(site: Site, loop: CountedLoop) -> Variant | str:
    scope = site.scope
    if not loop.trips:
        return "the loop may not run at all, and a load before it could lie outside of the data"
    if loop.node.parent is None or loop.node.parent.type != "compound_statement":
        return "the loop is not a statement of a block"
    if scope.barriers(loop.body):
        return "threads wait for each other in the loop, so what is loaded may change"
    accesses = scope.accesses(loop.body)
    written = frozenset(access.root for access in accesses if access.write)
    for name, _ in scope.calls(loop.body):
        if not scope.pure(name):
            return f"the loop calls '{name}', which may write what is loaded"
    chosen: dict[str, list[Access]] = {}
    kinds: dict[str, str] = {}
    why = "no load in the loop has the same place in every iteration"
    for access in accesses:
        if access.write or len(access.index) != 1 or not scope.invariant(access.index[0], loop.node):
            continue
        if not unconditional(access.node, loop.body):
            why = "the loads that stay the same depend on a condition"
            continue
        kind = _kind(site, access)
        if kind is None:
            why = f"the type of '{scope.text(access.node)}' cannot be told"
            continue
        separate = site.separate(frozenset({access.root}), written)
        if separate is not None:
            why = separate
            continue
        text = scope.text(access.node)
        chosen.setdefault(text, []).append(access)
        kinds[text] = kind
    if not chosen:
        return why
    data = site.syntax.code.data
    indent = indent_at(data, loop.node.start_byte)
    edits: list[Edit] = []
    before = ""
    for at, (text, group) in enumerate(chosen.items()):
        name = scope.fresh(f"same_{group[0].root}" + (f"_{at}" if at else ""))
        before += f"const {kinds[text]} {name} = {text};\n{indent}"
        edits += [Edit(access.node.start_byte, access.node.end_byte, name) for access in group]
    edits.append(Edit(loop.node.start_byte, loop.node.start_byte, before))
    return Variant(
        "before the loop",
        tuple(edits),
        site.lines(loop.node),
        "the loop runs at least once and nothing in it can change what is loaded, so one load does for all iterations",
    )


def _kind(site: Site, access: Access) -> str | None:
    if not site.is_global(access.root):
        return None
    outer = next(enclosing(access.node, frozenset({"field_expression"}), site.scope.body), None)
    return None if outer is not None else site.element(access.root)
