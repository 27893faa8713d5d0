"""Issue the loads of several iterations before the first is used: split load and use."""

from __future__ import annotations

import textwrap

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.loops import CountedLoop, comparable, counted, loops
from optimas_lsp.rewrite.catalogue.nodes import LOOPS, field, unconditional, within
from optimas_lsp.rewrite.catalogue.patch import Edit, applied, indent_at, renamed
from optimas_lsp.rewrite.catalogue.scope import Access
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

FACTORS = ((4, 0.95), (8, 1.0), (16, 0.8), (2, 0.5))
"""Iterations at a time, with how promising each is."""


def find(site: Site) -> Found:
    """A variant a factor, for every loop whose loads may be issued ahead."""
    nodes = loops(site.scope)
    if not nodes:
        yield Refusal("the function has no loop")
    for node in nodes:
        loop = counted(site.scope, node)
        if isinstance(loop, str):
            yield Refusal(loop, site.line(node))
            continue
        if loop.trips is not None and loop.trips <= 16:
            yield Refusal("the loop has few iterations, and the compiler unrolls those itself", site.line(node))
            continue
        loads = ahead(site, loop)
        if isinstance(loads, str):
            yield Refusal(loads, site.line(node))
            continue
        for factor, preference in FACTORS:
            yield Variant(
                label=f"{factor} at a time",
                edits=(_edit(site, loop, loads, factor),),
                lines=site.lines(node),
                reason=f"{factor} loads of a thread are in flight at once instead of one, and used in the old order",
                preference=preference,
            )


def ahead(site: Site, loop: CountedLoop) -> list[Access] | str:
    """The loads of an iteration that may be issued before earlier iterations are over, or why there are none."""
    scope = site.scope
    why = comparable(scope, loop) or _bound_to_order(site, loop)
    if why is not None:
        return why
    accesses = scope.accesses(loop.body)
    written = frozenset(access.root for access in accesses if access.write)
    changing = scope.assigned(loop.body)
    found: list[Access] = []
    reason = "no load of the loop is from global memory at a place that follows from the loop's variable alone"
    for access in accesses:
        if access.write or not site.is_global(access.root) or len(access.index) != 1 or _member(access):
            continue
        index = access.index[0]
        if loop.variable not in scope.names(index):
            continue
        if not unconditional(access.node, loop.body):
            reason = "the loads of the loop depend on a condition"
        elif scope.names(index) & changing or scope.accesses(index) or scope.impure(index) is not None:
            reason = "where the loop loads from depends on what it computed"
        elif (separate := site.separate(frozenset({access.root}), written)) is not None:
            reason = separate
        else:
            found.append(access)
    return found or reason


def _bound_to_order(site: Site, loop: CountedLoop) -> str | None:
    """Why nothing of an iteration may happen before earlier ones are over; None if loads may."""
    scope = site.scope
    if any(True for _ in within(loop.body, *LOOPS)):
        return "the loop holds another loop"
    if scope.leaves(loop.body):
        return "the loop may be left early, and a load ahead could lie outside of the data"
    if scope.barriers(loop.body):
        return "threads wait for each other in the loop, so what is loaded may change meanwhile"
    for name, _ in scope.calls(loop.body):
        if not (scope.pure(name) or name.startswith("atomic")):
            return f"the loop calls '{name}', which may write what is loaded"
    return None


def _member(access: Access) -> bool:
    return access.node.parent is not None and access.node.parent.type == "field_expression"


def _edit(site: Site, loop: CountedLoop, loads: list[Access], factor: int) -> Edit:
    scope, data = site.scope, site.syntax.code.data
    indent = indent_at(data, loop.node.start_byte)
    unit = "    "
    name, kind = loop.variable, loop.type
    stride = scope.fresh("stride")
    index = scope.fresh("k")
    at = scope.fresh(f"{name}_k")
    step, bound = loop.step_text(scope), scope.text(loop.bound)
    place = f"({name} + {index} * {stride})"
    arrays: dict[str, tuple[str, Access]] = {}
    edits: list[Edit] = []
    for access in loads:
        text = scope.squeezed(access.node)
        if text not in arrays:
            arrays[text] = (scope.fresh(f"{access.root}_ahead" + ("" if not arrays else f"_{len(arrays)}")), access)
        edits.append(Edit(access.node.start_byte, access.node.end_byte, f"{arrays[text][0]}[{index}]"))
    body = _body(site, loop.body, edits)
    body = renamed(body, {name: at})
    old = indent_at(data, loop.node.end_byte - 1)
    wide = "long long" if loop.integer.bits == 32 else loop.type
    left = f"({wide}){bound} - {name}" if _plain(bound) else f"({wide})({bound}) - {name}"
    guard = f"{stride} > 0 && {name} < {bound} && {left} > {factor - 1} * ({wide}){stride}"
    lines = [
        f"{kind} {name} = {scope.text(loop.start)};",
        f"const {kind} {stride} = {step};",
        f"for (; {guard}; {name} += {factor} * {stride}) {{",
    ]
    for array, access in arrays.values():
        lines.append(f"{unit}{site.element(access.root)} {array}[{factor}];")
    lines += ["#pragma unroll", f"{unit}for (int {index} = 0; {index} < {factor}; ++{index}) {{"]
    for array, access in arrays.values():
        lines.append(f"{unit}{unit}{array}[{index}] = {_at(scope.text(access.node), name, place)};")
    lines += [
        f"{unit}}}",
        "#pragma unroll",
        f"{unit}for (int {index} = 0; {index} < {factor}; ++{index}) {{",
        f"{unit}{unit}const {kind} {at} = {name} + {index} * {stride};",
    ]
    lines += [unit * 2 + line if line else "" for line in unbraced(body)]
    lines += [f"{unit}}}", "}"]
    rest = scope.text(loop.body).split("\n")
    update = scope.text(field(loop.node, "update"))
    head = f"for (; {scope.text(field(loop.node, 'condition')).strip('()')}; {update}) "
    lines += [head + rest[0], *(line.removeprefix(old) for line in rest[1:])]
    text = ["{", *(unit + line if line and not line.startswith("#") else line for line in lines), "}"]
    whole = "\n".join([text[0], *(indent + line if line and not line.startswith("#") else line for line in text[1:])])
    return Edit(loop.node.start_byte, loop.node.end_byte, whole)


def _at(load: str, name: str, place: str) -> str:
    """A load with ``place`` for the loop's variable, without brackets where it is the whole index."""
    return renamed(load, {name: place}).replace(f"[{place}]", f"[{place[1:-1]}]")


def _plain(text: str) -> bool:
    return text.replace("_", "").isalnum()


def _body(site: Site, body: Node, edits: list[Edit]) -> str:
    data = site.syntax.code.data
    shifted = [Edit(e.start - body.start_byte, e.end - body.start_byte, e.text) for e in edits]
    return applied(data[body.start_byte : body.end_byte], shifted).decode("utf-8", "replace")


def unbraced(text: str) -> list[str]:
    """The lines inside of a block's braces, or those of a lone statement, without their common indentation."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return textwrap.dedent(text.strip("\n").rstrip()).split("\n")
