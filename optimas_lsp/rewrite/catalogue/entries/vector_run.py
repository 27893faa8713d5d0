"""Move a thread's run of neighbouring elements in 16-byte pieces, where it is aligned so."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.entries.batched_loads import unbraced
from optimas_lsp.rewrite.catalogue.loops import CountedLoop, comparable, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import LOOPS, bare, field, unconditional, within
from optimas_lsp.rewrite.catalogue.patch import Edit, applied, indent_at, renamed
from optimas_lsp.rewrite.catalogue.scope import Access
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_VECTORS = {"float": "float4", "int": "int4", "unsigned": "uint4", "double": "double2"}


def find(site: Site) -> Found:
    """One variant for every such loop together, and one for each alone."""
    nodes = loops(site.scope)
    if not nodes:
        yield Refusal("the function has no loop")
    sound: list[tuple[CountedLoop, Edit]] = []
    for node in nodes:
        loop = counted(site.scope, node)
        if isinstance(loop, str):
            yield Refusal(loop, site.line(node))
            continue
        found = _run(site, loop)
        if isinstance(found, str):
            yield Refusal(found, site.line(node))
            continue
        sound.append((loop, _edit(site, loop, found)))
    groups = [sound, *([each] for each in sound)] if len(sound) > 1 else [sound] if sound else []
    for at, group in enumerate(groups):
        lines = ", ".join(str(site.named_line(loop.node)) for loop, _ in group)
        yield Variant(
            f"line {lines}",
            tuple(edit for _, edit in group),
            site.lines(*(loop.node for loop, _ in group)),
            "neighbouring elements of one thread come and go with one 16-byte access instead of several; alignment is "
            "checked at run time, and the order of use stays",
            preference=1.0 if at == 0 else 0.8,
        )


def _run(site: Site, loop: CountedLoop) -> tuple[Access, Node, bool] | str:
    """The array whose elements the loop goes over, the offset of its run, and whether they are stored."""
    scope = site.scope
    if loop.step is not None or scope.value_of(loop.start) != 0 or loop.trips is None:
        return "the loop does not go over a run of a constant number of neighbouring elements"
    if (why := comparable(scope, loop)) is not None:
        return why
    if any(True for _ in within(loop.body, *LOOPS)) or scope.leaves(loop.body) or scope.barriers(loop.body):
        return "the loop holds other loops, exits or barriers"
    if (called := scope.impure(loop.body)) is not None:
        return f"the loop calls '{called}'"
    runs = [a for a in scope.accesses(loop.body) if site.is_global(a.root)]
    if len(runs) != 1 or len(runs[0].index) != 1:
        return "the loop does not use exactly one element of one global array"
    access = runs[0]
    kind = types.plain(site.element(access.root) or "")
    width = 0 if kind not in _VECTORS else 16 // (types.size_of(kind) or 16)
    if not width or loop.trips % width or loop.trips < width:
        return "the run's elements do not come in whole 16-byte pieces"
    if access.write and access.read:
        return "the element is changed in place"
    if not unconditional(access.node, loop.body):
        return "the element is used under a condition"
    if loop.node.parent is None or loop.node.parent.type != "compound_statement":
        return "the loop is not a statement of a block"
    if any(a.write and a.root != access.root and not _own(site, a.root) for a in scope.accesses(loop.body)):
        return "the loop writes other memory, too"
    index = bare(access.index[0])
    if index.type != "binary_expression" or field(index, "operator").type != "+":
        return "the element's place is not a run's start and the loop's variable"
    left, right = field(index, "left"), field(index, "right")
    start = left if scope.squeezed(right) == loop.variable else right if scope.squeezed(left) == loop.variable else None
    if start is None or not scope.invariant(start, loop.node):
        return "the element's place is not a run's start and the loop's variable"
    return access, start, access.write


def _own(site: Site, root: str) -> bool:
    """Whether ``root`` is an array of the thread's own."""
    variable = site.scope.one(root)
    return variable is not None and bool(variable.dims) and not variable.shared and not variable.parameter


def _edit(site: Site, loop: CountedLoop, found: tuple[Access, Node, bool]) -> Edit:
    scope, data = site.scope, site.syntax.code.data
    access, start, stored = found
    kind = types.plain(site.element(access.root) or "")
    vector, width = _VECTORS[kind], 16 // (types.size_of(kind) or 16)
    line = site.line(loop.node)
    run, piece = (scope.fresh(f"{access.root}_{word}_{line}") for word in ("run", "piece"))
    qualifier = "" if stored else "const "
    body, name = loop.body, loop.variable
    lines = [
        f"{qualifier}{kind}* {run} = {access.root} + {scope.text(start)};",
        f"if (((size_t){run} & 15) == 0) {{",
        f"    for ({loop.type} {name} = 0; {name} < {loop.trips}; {name} += {width}) {{",
    ]
    pointer = f"reinterpret_cast<{qualifier}{vector}*>({run} + {name})"
    lines.append(f"        {vector} {piece};" if stored else f"        const {vector} {piece} = *{pointer};")
    for number, member in enumerate("xyzw"[:width]):
        edit = Edit(
            access.node.start_byte - body.start_byte, access.node.end_byte - body.start_byte, f"{piece}.{member}"
        )
        text = applied(data[body.start_byte : body.end_byte], [edit]).decode("utf-8", "replace")
        inner = unbraced(renamed(text, {name: f"({name} + {number})"}))
        alone = len(inner) == 1 and inner[0].count(";") == 1
        lines += (
            [f"        {inner[0]}"] if alone else ["        {", *(f"            {each}" for each in inner), "        }"]
        )
    if stored:
        lines.append(f"        *{pointer} = {piece};")
    old = indent_at(data, loop.node.start_byte)
    rest = [each.removeprefix(old) for each in scope.text(loop.node).split("\n")]
    lines += ["    }", "} else {", *(f"    {each}" for each in rest), "}"]
    text = "\n".join([lines[0], *(old + each if each else "" for each in lines[1:])])
    return Edit(loop.node.start_byte, loop.node.end_byte, text)
