"""Let a block that only counts load 16 bytes at a time, where the row is aligned so."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.entries.batched_loads import ahead, unbraced
from optimas_lsp.rewrite.catalogue.entries.count_in_register import atomic_add
from optimas_lsp.rewrite.catalogue.loops import CountedLoop, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import bare, field, within
from optimas_lsp.rewrite.catalogue.patch import Edit, applied, indent_at, renamed
from optimas_lsp.rewrite.catalogue.scope import Access
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_VECTORS = {"float": "float4", "int": "int4", "unsigned": "uint4"}


def find(site: Site) -> Found:
    """Two variants a loop over a row whose order does not matter: with atomics as they are, and counting first."""
    nodes = loops(site.scope)
    if not nodes:
        yield Refusal("the function has no loop")
    for node in nodes:
        loop = counted(site.scope, node)
        found = loop if isinstance(loop, str) else _row(site, loop)
        if isinstance(found, str):
            yield Refusal(found, site.line(node))
            continue
        assert not isinstance(loop, str)
        for rows, preference in ((1, 0.7), (2, 1.0), (4, 0.9)):
            yield _variant(site, loop, *found, rows, preference)


def _row(site: Site, loop: CountedLoop) -> tuple[Access, Node, Node] | str:
    """The one load of an element, the node of its row's offset, and the atomicAdd that is all the loop does."""
    scope = site.scope
    if loop.type != "int" or scope.squeezed(loop.start) != "threadIdx.x" or loop.step is None:
        return "the loop does not go over a row with a block's threads"
    if scope.squeezed(loop.step) != "blockDim.x":
        return "the loop does not go over a row with a block's threads"
    loads = ahead(site, loop)
    if isinstance(loads, str):
        return loads
    if len(loads) != 1 or site.element(loads[0].root) not in _VECTORS:
        return "the loop does not load one element of 4 bytes"
    adds = [call for name, call in scope.calls(loop.body) if name == "atomicAdd"]
    if len(adds) != 1 or isinstance(taken := atomic_add(site, adds[0]), str):
        return "the loop does more than count, so it matters which thread sees which element"
    if scope.names(taken[0]) & scope.assigned(loop.body) - {taken[1]}:
        return "what is added to depends on the element"
    own = {v.name for g in scope.variables.values() for v in g if loop.body.start_byte <= v.node.start_byte < loop.body.end_byte}
    if scope.assigned_values(loop.body) - own:
        return "something is carried from one element to the next"
    if any(a.write and a.root != taken[1] for a in scope.accesses(loop.body)):
        return "the loop stores, too"
    for name, call in scope.calls(loop.body):
        if call != adds[0] and not scope.pure(name):
            return f"'{name}' is called"
    if any(scope.text(n) in {"threadIdx"} for n in within(loop.body, "identifier")):
        return "the thread's own number is used in the loop"
    index = bare(loads[0].index[0])
    if index.type != "binary_expression" or field(index, "operator").type != "+":
        return "the place loaded from is not a row's offset and the loop's variable"
    left, right = field(index, "left"), field(index, "right")
    offset = left if scope.squeezed(right) == loop.variable else right if scope.squeezed(left) == loop.variable else None
    if offset is None or not scope.invariant(offset, loop.node):
        return "the place loaded from is not a row's offset and the loop's variable"
    variable = scope.one(taken[1])
    if variable is None or not variable.shared:
        why = site.separate(frozenset({loads[0].root}), frozenset({taken[1]}))
        if why is not None:
            return why
    return loads[0], offset, adds[0]


def _variant(
    site: Site, loop: CountedLoop, load: Access, offset: Node, add: Node, rows: int, preference: float
) -> Variant:
    scope, data = site.scope, site.syntax.code.data
    kind = site.element(load.root) or ""
    vector = _VECTORS[kind]
    taken = atomic_add(site, add)
    assert not isinstance(taken, str)
    address, _, count_kind, amount = taken
    own, row, begin, v, k, j = (scope.fresh(n) for n in ("own_count", "row_start", "begin", "v", "k", "j"))
    at, loaded, vectors = (scope.fresh(n) for n in (f"{loop.variable}_k", f"{load.root}_vector", "vectors"))
    name, bound = loop.variable, scope.text(loop.bound)
    body = loop.body
    statement = add.parent
    assert statement is not None

    def action(element: str | None, place: str) -> list[str]:
        edits = [Edit(statement.start_byte - body.start_byte, statement.end_byte - body.start_byte, f"{own} += {scope.text(amount)};")]
        if element is not None:
            edits.append(Edit(load.node.start_byte - body.start_byte, load.node.end_byte - body.start_byte, element))
        text = applied(data[body.start_byte : body.end_byte], edits).decode("utf-8", "replace")
        return unbraced(renamed(text, {name: place} if place != name else {}))

    load_line = f"{loaded}[{k}] = reinterpret_cast<const {vector}*>({row})[{v} + {k} * (int)blockDim.x];"
    lines = [
        "{",
        f"    {count_kind} {own} = 0;",
        f"    int {begin} = 0;",
        f"    const {kind}* {row} = {load.root} + {scope.text(offset)};",
        f"    if (((size_t){row} & 15) == 0 && {bound} > 0) {{",
        f"        const int {vectors} = {bound} / 4;",
        f"        int {v} = threadIdx.x;",
    ]
    if rows > 1:
        lines += _many(vector, loaded, vectors, v, k, j, at, rows, load_line, action)
    lines += [
        f"        for (; {v} < {vectors}; {v} += blockDim.x) {{",
        f"            const {vector} {loaded} = reinterpret_cast<const {vector}*>({row})[{v}];",
        *_four(loaded, v, at, action, "            "),
        "        }",
        f"        {begin} = 4 * {vectors};",
        "    }",
        f"    for (int {name} = {begin} + threadIdx.x; {name} < {bound}; {name} += blockDim.x) {{",
        *("        " + line for line in action(None, name)),
        "    }",
        f"    if ({own} != 0) atomicAdd({scope.text(address)}, {own});",
        "}",
    ]
    indent = indent_at(data, loop.node.start_byte)
    text = "\n".join([lines[0], *(indent + line if line and not line.startswith("#") else line for line in lines[1:])])
    return Variant(
        f"{vector}, {rows} at a time" if rows > 1 else vector,
        (Edit(loop.node.start_byte, loop.node.end_byte, text),),
        site.lines(loop.node),
        "each element is looked at once, by whichever thread, and counted: four come with one 16-byte load where the row "
        "is aligned so, checked at run time",
        preference=preference,
    )


def _four(loaded, v, at, action, indent: str) -> list[str]:  # noqa: ANN001
    lines: list[str] = []
    for number, member in enumerate("xyzw"):
        place = f"(4 * {v} + {number})"
        lines += [f"{indent}{{", *(f"{indent}    {line}" for line in action(f"{loaded}.{member}", place)), f"{indent}}}"]
    return lines


def _many(vector, loaded, vectors, v, k, j, at, rows, load_line, action) -> list[str]:  # noqa: ANN001
    return [
        f"        for (; {v} < {vectors} - {rows - 1} * (int)blockDim.x; {v} += {rows} * (int)blockDim.x) {{",
        f"            {vector} {loaded}[{rows}];",
        "#pragma unroll",
        f"            for (int {k} = 0; {k} < {rows}; ++{k}) {load_line}",
        "#pragma unroll",
        f"            for (int {k} = 0; {k} < {rows}; ++{k}) {{",
        f"                const int {j} = {v} + {k} * (int)blockDim.x;",
        *_four(f"{loaded}[{k}]", j, at, action, "                "),
        "            }",
        "        }",
    ]
