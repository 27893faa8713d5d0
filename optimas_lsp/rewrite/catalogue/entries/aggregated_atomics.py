"""Let one lane of a warp add for all of its active lanes."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.entries.count_in_register import atomic_add, indirect
from optimas_lsp.rewrite.catalogue.nodes import field
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at, indented
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant an integer ``atomicAdd`` to an address that is the same for all threads of a block."""
    calls = [call for name, call in site.scope.calls(site.scope.body) if name == "atomicAdd"]
    if not calls:
        yield Refusal("the function has no atomicAdd")
    for call in calls:
        found = _aggregated(site, call)
        yield Refusal(found, site.line(call)) if isinstance(found, str) else found


def _aggregated(site: Site, call: Node) -> Variant | str:
    scope = site.scope
    taken = atomic_add(site, call)
    if isinstance(taken, str):
        return taken
    address, kind, amount, statement = taken.address, taken.type, taken.amount, taken.statement
    if indirect(site, taken) or not _uniform(site, address):
        return "the address differs between the threads of a warp"
    if not site.one_dimensional:
        return "the profiled blocks have more than one dimension, so a lane's number does not follow from threadIdx.x"
    if _alone(site, call):
        return "one thread of the block adds, so there is nothing to put together"
    one = scope.value_of(amount)
    lanes, leader = scope.fresh("lanes"), scope.fresh("total")
    if one is not None:
        total = f"{kind}(__popc({lanes}))" if one == 1 else f"{kind}(__popc({lanes})) * {scope.text(amount)}"
        total = total.replace("unsigned long long(", "(unsigned long long)(")
    elif kind == "unsigned long long" or not site.device_at_least(80):
        return "summing amounts over a warp needs 32-bit integers and a GPU of compute capability 8.0"
    else:
        total = f"__reduce_add_sync({lanes}, {scope.text(amount)})"
    lines = [
        "{",
        f"    const unsigned {lanes} = __activemask();",
        f"    const {kind} {leader} = {total};",
        f"    if ((threadIdx.x & 31) == __ffs({lanes}) - 1) atomicAdd({scope.text(address)}, {leader});",
        "}",
    ]
    text = indented(lines, indent_at(site.syntax.code.data, statement.start_byte))
    return Variant(
        f"one a warp for {scope.squeezed(address)}",
        (Edit(statement.start_byte, statement.end_byte, text),),
        site.lines(statement),
        "the lanes that add at the same time are counted, and one of them adds for all: integer sums do not depend on "
        "their order",
    )


def _uniform(site: Site, address: Node) -> bool:
    """Whether an address is made of parameters, shared names, constants and ``blockIdx`` alone."""
    scope = site.scope
    for name in scope.names(address):
        variable = scope.one(name)
        if name in site.constants or name in {"blockIdx", "gridDim", "blockDim"}:
            continue
        if variable is None or not (variable.parameter or variable.shared):
            return False
        if not variable.memory and scope.assigned_after(name):
            return False
    return not any(access.index and scope.accesses(access.index[0]) for access in scope.accesses(address))


def _alone(site: Site, call: Node) -> bool:
    """Whether the call stands under ``if (threadIdx.x == …)``."""
    scope = site.scope
    outer = call.parent
    while outer is not None and outer != scope.body:
        if outer.type == "if_statement":
            text = scope.squeezed(field(outer, "condition"))
            left = text.split("==")[0]
            known = scope.one(left)
            if "==" in text and (left == "threadIdx.x" or (known is not None and known.value is not None)):
                value = "threadIdx.x" if left == "threadIdx.x" else scope.resolved(known.value)  # type: ignore[union-attr]
                if value == "threadIdx.x":
                    return True
        outer = outer.parent
    return False
