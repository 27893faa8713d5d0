"""Give a thread items one block apart instead of a run of neighbours, so that a warp's accesses lie side by side."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.loops import CountedLoop, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import field, statements, within
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at, line_start
from optimas_lsp.rewrite.catalogue.scope import Variable
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.types import Integer, integer
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """Two variants a loop over a thread's run of items: striped, and striped and unrolled."""
    seen = False
    for node in loops(site.scope):
        loop = counted(site.scope, node)
        if isinstance(loop, str) or loop.step is not None or site.scope.value_of(loop.start) != 0:
            continue
        run = _run(site, loop)
        if run is None:
            continue
        seen = True
        if isinstance(run, str):
            yield Refusal(run, site.line(node))
        elif (why := _dependent(site, loop, run[1])) is not None:
            yield Refusal(why, site.line(node))
        else:
            yield from _variants(site, loop, *run)
    if not seen:
        yield Refusal("no loop goes over a run of neighbouring items of its thread")


def _run(site: Site, loop: CountedLoop) -> tuple[Variable, Variable] | str | None:
    """The first item ``F = thread * K`` and the item ``I = F + k``, if the loop goes over such a run."""
    scope = site.scope
    first_statement = next((s for s in statements(loop.body) if s.type == "declaration"), None)
    if first_statement is None:
        return None
    match = re.fullmatch(
        rf"(?:const)?[a-z_ 0-9]+?(\w+)=(?:(\w+)\+{loop.variable}|{loop.variable}\+(\w+));",
        re.sub(r"\s+", " ", scope.text(first_statement)).replace(" = ", "=").replace(" + ", "+"),
    )
    if match is None:
        return None
    item, first = scope.one(match.group(1)), scope.one(match.group(2) or match.group(3))
    if item is None or first is None or first.value is None or first.parameter:
        return None
    why = _not_a_run(site, loop, first.value, first) or _used_otherwise(site, loop, first, item)
    return (first, item) if why is None else why or None


def _not_a_run(site: Site, loop: CountedLoop, product: Node, first: Variable) -> str | None:
    """Why ``first`` is not the thread's number times the loop's count; empty where it is no product at all."""
    scope = site.scope
    if product.type != "binary_expression" or field(product, "operator").type != "*":
        return ""
    factor = scope.squeezed(loop.bound)
    left, right = field(product, "left"), field(product, "right")
    thread = left if scope.squeezed(right) == factor else right if scope.squeezed(left) == factor else None
    if thread is None:
        return f"'{first.name}' is not the thread's number times '{factor}'"
    if scope.value_of(loop.bound) is None:
        return f"'{factor}' is not a known constant"
    if not scope.is_global_thread(thread):
        return f"'{first.name}' does not follow from the thread's number in the grid"
    kind = integer(first.type)
    if kind is None:
        return f"'{first.name}' is no integer"
    if kind.bits == 64 and not re.search(r"long long|size_t|int64_t", scope.text(product)):
        return f"'{first.name}' is computed in 32 bits and kept in 64"
    return None


def _used_otherwise(site: Site, loop: CountedLoop, first: Variable, item: Variable) -> str | None:
    """Why the three names are used for more than finding the item; None if they are not."""
    scope = site.scope
    if item.type != first.type:
        return "the item's number is of another type than the first one's"
    if scope.assigned_after(first.name, item.name):
        return f"'{first.name}' or '{item.name}' changes"
    if sum(scope.text(node) == first.name for node in within(scope.body, "identifier")) != 2:
        return f"'{first.name}' is used for more than the item's number"
    if sum(scope.text(node) == loop.variable for node in within(loop.body, "identifier")) != 1:
        return f"'{loop.variable}' is used for more than the item's number"
    return None


def _dependent(site: Site, loop: CountedLoop, item: Variable) -> str | None:
    """Why it matters which thread handles which item, or in what order; None if it does not."""
    scope = site.scope
    body = loop.body
    if scope.barriers(body) or scope.barriers(scope.body):
        return "threads wait for each other"
    if scope.leaves(body):
        return "the loop may be left early, so an item may depend on the one before it"
    if (called := scope.impure(body)) is not None:
        return f"'{called}' is called, which may depend on the order of the items"
    own = {
        v.name
        for group in scope.variables.values()
        for v in group
        if body.start_byte <= v.node.start_byte < body.end_byte
    }
    carried = sorted(scope.assigned_values(body) - own - {loop.variable})
    if carried:
        return f"'{carried[0]}' is carried from one item to the next"
    accesses = scope.accesses(body)
    written = frozenset(access.root for access in accesses if access.write)
    for access in accesses:
        if access.root in written and (len(access.index) != 1 or scope.squeezed(access.index[0]) != item.name):
            return f"'{access.root}' is written, and used at other places than '{item.name}'"
        if access.root not in written and access.root not in own:
            why = site.separate(frozenset({access.root}), written)
            if why is not None:
                return why
    if not written or not all(site.is_global(root) for root in written):
        return "the loop writes no global memory of the kernel's"
    rest = [
        a for a in scope.accesses(scope.body) if a.write and not body.start_byte <= a.node.start_byte < body.end_byte
    ]
    if rest:
        return "memory is written outside of the loop, too"
    for node in within(body, "identifier"):
        if scope.text(node) in {"threadIdx", "blockIdx"}:
            return "the thread's own number is used in the loop"
    return None


def _variants(site: Site, loop: CountedLoop, first: Variable, item: Variable) -> Found:
    scope, data = site.scope, site.syntax.code.data
    if first.value is None:
        return
    name = "long long" if integer(first.type) == Integer(64, signed=True) else first.type
    factor = scope.text(loop.bound)
    declaration = f"blockIdx.x * ({name})blockDim.x * {factor} + threadIdx.x"
    use = next(node for node in within(loop.body, "identifier") if scope.text(node) == loop.variable)
    edits = (
        Edit(first.value.start_byte, first.value.end_byte, declaration),
        Edit(use.start_byte, use.end_byte, f"{loop.variable} * ({name})blockDim.x"),
    )
    reason = (
        f"the block handles the same items, but its threads take every {'blockDim.x'}-th one, "
        "so that a warp's loads and stores lie side by side"
    )
    lines = _lines(site, loop.node, first.node)
    start = line_start(data, loop.node.start_byte)
    pragma = f"{indent_at(data, loop.node.start_byte)}#pragma unroll\n"
    yield Variant("striped", edits, lines, reason, preference=0.95)
    if not data[start : loop.node.start_byte].strip() and "unroll" not in site.syntax.text.line(
        site.line(loop.node) - 1
    ):
        yield Variant(
            "striped, unrolled",
            (*edits, Edit(start, start, pragma)),
            lines,
            reason + "; unrolled, several of them are under way at once",
        )


def _lines(site: Site, *nodes: Node) -> tuple[int, int]:
    return site.lines(*nodes)
