"""Let a block that only counts load 16 bytes at a time, where the row is aligned so."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.entries.batched_loads import ahead, unbraced
from optimas_lsp.rewrite.catalogue.entries.count_in_register import AtomicAdd, atomic_add, indirect
from optimas_lsp.rewrite.catalogue.loops import CountedLoop, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import bare, field, within
from optimas_lsp.rewrite.catalogue.patch import Edit, applied, indent_at, renamed
from optimas_lsp.rewrite.catalogue.scope import Access
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_VECTORS = {"float": "float4", "int": "int4", "unsigned": "uint4"}


@dataclass(frozen=True)
class _Row:
    """A loop over a row: the load of an element, the row's offset, and the atomicAdd that is all the loop does."""

    loop: CountedLoop
    load: Access
    offset: Node
    add: AtomicAdd


def find(site: Site) -> Found:
    """Variants of one, two and four vectors at a time, for every loop over a row whose order does not matter."""
    nodes = loops(site.scope)
    if not nodes:
        yield Refusal("the function has no loop")
    for node in nodes:
        loop = counted(site.scope, node)
        found = loop if isinstance(loop, str) else _row(site, loop)
        if isinstance(found, str):
            yield Refusal(found, site.line(node))
            continue
        for vectors, preference in ((2, 1.0), (4, 0.9), (1, 0.7)):
            yield _variant(site, found, vectors, preference)


def _row(site: Site, loop: CountedLoop) -> _Row | str:
    scope = site.scope
    if loop.type != "int" or loop.step is None or scope.squeezed(loop.step) != "blockDim.x":
        return "the loop does not go over a row with a block's threads"
    if scope.squeezed(loop.start) != "threadIdx.x":
        return "the loop does not go over a row with a block's threads"
    loads = ahead(site, loop)
    if isinstance(loads, str):
        return loads
    if len(loads) != 1 or site.element(loads[0].root) not in _VECTORS:
        return "the loop does not load one element of 4 bytes"
    adds = [call for name, call in scope.calls(loop.body) if name == "atomicAdd"]
    taken = atomic_add(site, adds[0]) if len(adds) == 1 else ""
    if isinstance(taken, str):
        return "the loop does more than count, so it matters which thread sees which element"
    why = _more_than_counts(site, loop, loads[0], taken)
    if why is not None:
        return why
    index = bare(loads[0].index[0])
    sides = [] if index.type != "binary_expression" else [field(index, "left"), field(index, "right")]
    rest = [side for side in sides if scope.squeezed(side) != loop.variable]
    if len(rest) != 1 or field(index, "operator").type != "+" or not scope.invariant(rest[0], loop.node):
        return "the place loaded from is not a row's offset and the loop's variable"
    return _Row(loop, loads[0], rest[0], taken)


def _more_than_counts(site: Site, loop: CountedLoop, load: Access, add: AtomicAdd) -> str | None:
    """Why it matters which thread looks at which element; None if it does not."""
    scope, body = site.scope, loop.body
    if indirect(site, add) or (scope.names(add.address) & scope.assigned(body)) - {add.root}:
        return "what is added to depends on the element"
    own = {
        variable.name
        for group in scope.variables.values()
        for variable in group
        if body.start_byte <= variable.node.start_byte < body.end_byte
    }
    if scope.assigned_values(body) - own:
        return "something is carried from one element to the next"
    if any(access.write and access.root != add.root for access in scope.accesses(body)):
        return "the loop stores, too"
    if any(name != "atomicAdd" and not scope.pure(name) for name, _ in scope.calls(body)):
        return "the loop calls what may do more than compute"
    if any(scope.text(node) == "threadIdx" for node in within(body, "identifier")):
        return "the thread's own number is used in the loop"
    variable = scope.one(add.root)
    if variable is None or not variable.shared:
        return site.separate(frozenset({load.root}), frozenset({add.root}))
    return None


def _variant(site: Site, row: _Row, count: int, preference: float) -> Variant:
    scope, data, loop = site.scope, site.syntax.code.data, row.loop
    kind = site.element(row.load.root) or ""
    vector = _VECTORS[kind]
    own, start, begin, v, whole = (scope.fresh(n) for n in ("own_count", "row_start", "begin", "v", "whole"))
    loaded, vectors = scope.fresh(f"{row.load.root}_vector"), scope.fresh("vectors")
    name, bound = loop.variable, scope.text(loop.bound)
    lines = [
        f"{row.add.type} {own} = 0;",
        f"int {begin} = 0;",
        f"const {kind}* {start} = {row.load.root} + {scope.text(row.offset)};",
        f"if (((size_t){start} & 15) == 0 && {bound} > 0) {{",
        f"    const {vector}* {vectors} = reinterpret_cast<const {vector}*>({start});",
        f"    const int {whole} = {bound} / 4;",
        f"    int {v} = threadIdx.x;",
    ]
    if count > 1:
        k, at = scope.fresh("k"), scope.fresh("v_k")
        lines += [
            f"    for (; {v} < {whole} - {count - 1} * (int)blockDim.x; {v} += {count} * (int)blockDim.x) {{",
            f"        {vector} {loaded}[{count}];",
            "#pragma unroll",
            f"        for (int {k} = 0; {k} < {count}; ++{k}) {loaded}[{k}] = {vectors}[{v} + {k} * (int)blockDim.x];",
            "#pragma unroll",
            f"        for (int {k} = 0; {k} < {count}; ++{k}) {{",
            f"            const int {at} = {v} + {k} * (int)blockDim.x;",
            *("            " + line for line in _elements(site, row, own, f"{loaded}[{k}]", at)),
            "        }",
            "    }",
        ]
    lines += [
        f"    for (; {v} < {whole}; {v} += blockDim.x) {{",
        f"        const {vector} {loaded} = {vectors}[{v}];",
        *("        " + line for line in _elements(site, row, own, loaded, v)),
        "    }",
        f"    {begin} = 4 * {whole};",
        "}",
        f"for (int {name} = {begin} + threadIdx.x; {name} < {bound}; {name} += blockDim.x) {{",
        *("    " + line for line in _action(site, row, own, None, name)),
        "}",
        f"if ({own} != 0) atomicAdd({scope.text(row.add.address)}, {own});",
    ]
    lines = ["{", *(line if line.startswith("#") else f"    {line}" for line in lines), "}"]
    indent = indent_at(data, loop.node.start_byte)
    text = "\n".join([lines[0], *(line if line.startswith("#") else indent + line for line in lines[1:])])
    return Variant(
        f"{vector}, {count} at a time" if count > 1 else vector,
        (Edit(loop.node.start_byte, loop.node.end_byte, text),),
        site.lines(loop.node),
        "each element is looked at once, by whichever thread, and counted: four come with one 16-byte load where the "
        "row is aligned so, checked at run time",
        preference=preference,
    )


def _action(site: Site, row: _Row, own: str, element: str | None, place: str) -> list[str]:
    """The loop's body for the element at ``place``, counting in ``own``; ``element`` stands for its load."""
    body, statement, load = row.loop.body, row.add.statement, row.load.node
    start = body.start_byte
    counting = f"{own} += {site.scope.text(row.add.amount)};"
    edits = [Edit(statement.start_byte - start, statement.end_byte - start, counting)]
    if element is not None:
        edits.append(Edit(load.start_byte - start, load.end_byte - start, element))
    text = applied(site.syntax.code.data[start : body.end_byte], edits).decode("utf-8", "replace")
    return unbraced(renamed(text, {row.loop.variable: place}))


def _elements(site: Site, row: _Row, own: str, vector: str, number: str) -> list[str]:
    """The loop's body for the four elements of the vector with this number."""
    lines: list[str] = []
    for at, member in enumerate("xyzw"):
        action = _action(site, row, own, f"{vector}.{member}", f"(4 * {number} + {at})")
        lines += ["{", *(f"    {line}" for line in action), "}"]
    return lines
