"""Count a histogram in shared memory and add each bin once at the end."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.entries.count_in_register import AtomicAdd, atomic_add
from optimas_lsp.rewrite.catalogue.nodes import LOOPS, bare, enclosing, field, within
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

MOST_BINS = 4096


def find(site: Site) -> Found:
    """One variant a global histogram."""
    calls = [call for name, call in site.scope.calls(site.scope.body) if name == "atomicAdd"]
    if not calls:
        yield Refusal("the function has no atomicAdd")
    for call in calls:
        found = _private(site, call)
        yield Refusal(found, site.line(call)) if isinstance(found, str) else found


def _private(site: Site, call: Node) -> Variant | str:
    scope = site.scope
    taken = atomic_add(site, call)
    if isinstance(taken, str):
        return taken
    address, root = taken.address, taken.root
    if not site.is_global(root):
        return "the counters are not in global memory"
    accesses = [access for access in scope.accesses(scope.body) if access.root == root]
    if (
        len(accesses) != 1
        or len(accesses[0].index) != 1
        or scope.squeezed(address) != f"&{scope.squeezed(accesses[0].node)}"
    ):
        return f"'{root}' is used for more than one atomicAdd to an element"
    index = accesses[0].index[0]
    bins = _bins(site, index)
    if bins is None:
        return f"how many bins '{root}' has does not follow from the index '{scope.text(index)}'"
    if not 2 <= bins <= MOST_BINS:
        return f"{bins} bins do not fit the shared memory set aside for this; at most {MOST_BINS} do"
    if any(True for _ in within(scope.body, "return_statement")):
        return "threads may return early, and would not take part in the barriers"
    if any(v.shared for group in scope.variables.values() for v in group):
        return "the function already uses shared memory"
    loop = next(reversed(list(enclosing(call, LOOPS, scope.body))), None)
    if loop is None or loop.parent != scope.body:
        return "the atomicAdd does not stand in a loop that every thread of the block runs"
    return _edit(site, loop, taken, bins, accesses[0].node)


def _bins(site: Site, index: Node) -> int | None:
    """One more than the largest index, from ``unsigned % constant`` or ``… & constant``."""
    scope = site.scope
    index = bare(index)
    if index.type == "identifier":
        variable = scope.one(scope.text(index))
        if variable is None or variable.value is None or not scope.steady(variable):
            return None
        return _bins(site, variable.value)
    if index.type == "cast_expression":
        return _bins(site, field(index, "value"))
    if index.type != "binary_expression":
        return None
    operator = field(index, "operator").type
    value = scope.value_of(field(index, "right"))
    if value is None or value < 1:
        return None
    if operator == "&":
        return value + 1
    left = scope.integer_of(field(index, "left"))
    return value if operator == "%" and left is not None and not left.signed else None


def _edit(site: Site, loop: Node, taken: AtomicAdd, bins: int, access: Node) -> Variant:
    scope, data, root, kind = site.scope, site.syntax.code.data, taken.root, taken.type
    own, bin_name, thread, threads = (scope.fresh(name) for name in ("block_counts", "bin", "rank", "threads"))
    indent = indent_at(data, loop.start_byte)
    element = re.sub(rf"^{re.escape(root)}\b", own, scope.text(access))
    before = [
        f"__shared__ {kind} {own}[{bins}];",
        f"const unsigned {threads} = blockDim.x * blockDim.y * blockDim.z;",
        f"const unsigned {thread} = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
        f"for (unsigned {bin_name} = {thread}; {bin_name} < {bins}; {bin_name} += {threads}) {own}[{bin_name}] = 0;",
        "__syncthreads();",
    ]
    after = [
        "",
        "__syncthreads();",
        f"for (unsigned {bin_name} = {thread}; {bin_name} < {bins}; {bin_name} += {threads}) {{",
        f"    if ({own}[{bin_name}] != 0) atomicAdd(&{root}[{bin_name}], {own}[{bin_name}]);",
        "}",
    ]
    edits = (
        Edit(loop.start_byte, loop.start_byte, "".join(f"{line}\n{indent}" for line in before)),
        Edit(access.start_byte, access.end_byte, element),
        Edit(loop.end_byte, loop.end_byte, "\n".join(indent + line if line else "" for line in after)),
    )
    return Variant(
        f"{bins} bins a block",
        edits,
        site.lines(loop),
        "each block counts in its shared memory and adds every bin once: integer sums do not depend on their order",
    )
