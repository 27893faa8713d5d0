"""Let neighbouring threads add the pairs of a tree, instead of every second, fourth, eighth one."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.loops import loops
from optimas_lsp.rewrite.catalogue.nodes import bare, field, statements, within
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant a loop of doubling steps."""
    seen = False
    for loop in loops(site.scope):
        variable = _doubling(site, loop)
        if variable is None:
            continue
        seen = True
        found = _contiguous(site, loop, variable)
        yield Refusal(found, site.line(loop)) if isinstance(found, str) else found
    if not seen:
        yield Refusal("no loop doubles a step")


def _doubling(site: Site, loop: Node) -> str | None:
    scope = site.scope
    start, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
    condition = loop.child_by_field_name("condition")
    if start is None or update is None or condition is None or start.type != "declaration":
        return None
    match = re.fullmatch(r"(?:int|unsigned|unsignedint)(\w+)=1;", re.sub(r"\s+", "", scope.text(start)))
    if match is None:
        return None
    name = match.group(1)
    doubled = {f"{name}*=2", f"{name}<<=1", f"{name}={name}*2", f"{name}=2*{name}", f"{name}+={name}"}
    if scope.squeezed(update) not in doubled or not scope.squeezed(condition).startswith(f"{name}<"):
        return None
    return name


def _contiguous(site: Site, loop: Node, step: str) -> Variant | str:
    scope = site.scope
    if loop.parent != scope.body or any(
        leaving.start_byte < loop.start_byte for leaving in within(scope.body, "return_statement")
    ):
        return "not every thread of the block is sure to reach the loop, and the threads that add would be others"
    body = statements(field(loop, "body"))
    if len(body) != 2 or body[0].type != "if_statement" or scope.squeezed(body[1]) != "__syncthreads();":
        return "the loop's body is not one if and one barrier"
    branch = body[0]
    condition = bare(field(branch, "condition"))
    thread = _chosen(site, condition, step)
    if thread is None or branch.child_by_field_name("alternative") is not None:
        return f"the condition is not 'thread % (2 * {step}) == 0' without an else"
    consequence = statements(field(branch, "consequence"))
    inner = consequence[0].named_children[0] if len(consequence) == 1 and consequence[0].named_children else None
    if inner is None or inner.type != "assignment_expression":
        return "more than one assignment is made under the condition"
    why = _other_than_pair(site, inner, thread, step)
    if why is not None:
        return why
    place = scope.fresh("place")
    edits = [
        Edit(
            branch.start_byte,
            branch.start_byte,
            f"const unsigned {place} = 2u * {step} * threadIdx.x;\n{_indent(site, branch)}",
        ),
        Edit(condition.start_byte, condition.end_byte, f"{place} < blockDim.x"),
    ]
    spelled = scope.squeezed(thread)
    edits += [
        Edit(node.start_byte, node.end_byte, place)
        for access in scope.accesses(inner)
        for node in within(access.index[0], "identifier", "field_expression")
        if scope.squeezed(node) == spelled
    ]
    return Variant(
        label="neighbouring threads",
        edits=tuple(edits),
        lines=site.lines(loop),
        reason="the same pairs are added in the same order by neighbouring threads, so that whole warps work or rest",
    )


def _other_than_pair(site: Site, inner: Node, thread: Node, step: str) -> str | None:
    """What else than the thread's element and the one a step further the assignment uses; None if nothing."""
    scope = site.scope
    accesses = scope.accesses(inner)
    roots = {access.root for access in accesses}
    array = scope.one(next(iter(roots))) if len(roots) == 1 else None
    if array is None or not array.shared or len(array.dims) != 1:
        return "the pairs are not elements of one shared array"
    spelled = scope.squeezed(thread)
    for access in accesses:
        index = scope.squeezed(access.index[0])
        if index not in {spelled, f"{spelled}+{step}", f"{step}+{spelled}"}:
            return f"'{index}' is neither the thread's element nor the one {step} further"
    if scope.impure(inner) is not None or scope.names(inner) - {array.name, step} - scope.names(thread):
        return "the assignment uses more than the pair"
    if scope.squeezed(field(inner, "left")) != f"{array.name}[{spelled}]":
        return "another element than the thread's own is written"
    if sum(access.write for access in accesses) != 1:
        return "more than the thread's own element is written"
    return None


def _indent(site: Site, node: Node) -> str:
    data = site.syntax.code.data
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    return data[start : node.start_byte].decode()


def _chosen(site: Site, condition: Node, step: str) -> Node | None:
    """The thread's number in ``thread % (2 * step) == 0``, if the condition is that."""
    scope = site.scope
    if condition.type != "binary_expression" or field(condition, "operator").type != "==":
        return None
    left, right = bare(field(condition, "left")), bare(field(condition, "right"))
    if scope.text(right) != "0" or left.type != "binary_expression" or field(left, "operator").type != "%":
        return None
    if scope.squeezed(field(left, "right")) not in {f"2*{step}", f"{step}*2", f"{step}<<1", f"{step}+{step}"}:
        return None
    thread = field(left, "left")
    return thread if scope.is_thread(thread) else None
