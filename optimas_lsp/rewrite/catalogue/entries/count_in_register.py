"""Count in a register and add once after the loop, instead of one atomic operation a hit."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.nodes import LOOPS, contains, enclosing, field
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_TYPES = {"int": "int", "unsigned": "unsigned", "unsigned long long": "unsigned long long"}


def find(site: Site) -> Found:
    """One variant an ``atomicAdd`` of integers to one address in a loop."""
    calls = [call for name, call in site.scope.calls(site.scope.body) if name == "atomicAdd"]
    if not calls:
        yield Refusal("the function has no atomicAdd")
    for call in calls:
        found = _counted(site, call)
        yield Refusal(found, site.line(call)) if isinstance(found, str) else found


@dataclass(frozen=True)
class AtomicAdd:
    """An ``atomicAdd`` of integers whose result is not used: ``type`` is the counter's, ``root`` names its memory."""

    statement: Node
    address: Node
    root: str
    type: str
    amount: Node


def atomic_add(site: Site, call: Node) -> AtomicAdd | str:
    """``call`` as such, or why it is none."""
    scope = site.scope
    given = field(call, "arguments").named_children
    statement = call.parent
    if len(given) != 2 or statement is None or statement.type != "expression_statement":
        return "the old value that atomicAdd gives back is used"
    root = scope.root(given[0])
    kind = None if root is None else site.element(root)
    name = None if kind is None else _TYPES.get(types.plain(kind), _integer(kind))
    if root is None or name is None:
        return "what is added to is not known to be an integer, and sums of other types depend on their order"
    if scope.impure(given[1]) is not None or scope.impure(given[0]) is not None:
        return "the address or the amount calls what may do more than compute"
    amount = scope.integer_of(given[1])
    if amount is None and scope.value_of(given[1]) is None:
        return "the amount is not known to be an integer"
    return AtomicAdd(statement, given[0], root, name, given[1])


def _integer(kind: str) -> str | None:
    known = types.integer(kind)
    if known is None or known.bits < 32 or (known.bits == 64 and known.signed):
        return None
    return "unsigned long long" if known.bits == 64 else "int" if known.signed else "unsigned"


def indirect(site: Site, add: AtomicAdd) -> bool:
    """Whether the address depends on what is loaded."""
    return any(access.root != add.root for access in site.scope.accesses(add.address))


def _counted(site: Site, call: Node) -> Variant | str:
    scope = site.scope
    taken = atomic_add(site, call)
    if isinstance(taken, str):
        return taken
    address, kind = taken.address, taken.type
    if indirect(site, taken):
        return "the address added to depends on what is loaded"
    around = list(enclosing(call, LOOPS, scope.body))
    if not around:
        return "the atomicAdd does not stand in a loop"
    chosen: Node | None = None
    why = ""
    for loop in around:
        why = _blocked(site, loop, call, taken)
        if why:
            break
        chosen = loop
    if chosen is None:
        return why
    own = scope.fresh("own_count")
    data = site.syntax.code.data
    indent = indent_at(data, chosen.start_byte)
    edits = (
        Edit(chosen.start_byte, chosen.start_byte, f"{kind} {own} = 0;\n{indent}"),
        Edit(taken.statement.start_byte, taken.statement.end_byte, f"{own} += {scope.text(taken.amount)};"),
        Edit(chosen.end_byte, chosen.end_byte, f"\n{indent}if ({own} != 0) atomicAdd({scope.text(address)}, {own});"),
    )
    return Variant(
        label=f"{own} for {scope.squeezed(address)}",
        edits=edits,
        lines=site.lines(chosen),
        reason="each thread counts in a register and adds once: integer sums do not depend on their order",
    )


def _blocked(site: Site, loop: Node, call: Node, taken: AtomicAdd) -> str:
    """Why the count cannot be carried through ``loop``; empty if it can."""
    scope, address, root = site.scope, taken.address, taken.root
    if loop.parent is None or loop.parent.type != "compound_statement":
        return "the loop is not a statement of a block"
    if scope.names(address) & scope.assigned_values(loop):
        return "the address added to changes in the loop"
    if scope.barriers(loop):
        return "threads wait for each other in the loop, so the counter may be read meanwhile"
    if scope.leaves(loop, own_loop=False):
        return "the loop may be left by a return or jump, and the count would be lost"
    for access in scope.accesses(loop):
        if access.root == root and not contains(address, access.node):
            return f"the loop uses '{root}' besides adding to it"
    unknown = next((name for name, other in scope.calls(loop) if other != call and not scope.pure(name)), None)
    if unknown is not None:
        return f"the loop calls '{unknown}', which may use the counter"
    variable = scope.one(root)
    if variable is None:
        return f"what '{root}' reaches is not known"
    if not variable.shared:
        readers = frozenset(a.root for a in scope.accesses(loop) if a.root != root)
        why = site.separate(readers, frozenset({root}))
        if why is not None:
            return why
    return ""
