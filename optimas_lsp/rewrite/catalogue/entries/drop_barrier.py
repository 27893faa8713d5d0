"""Remove a barrier with nothing to order: directly after another one, or at the very end."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import within
from optimas_lsp.rewrite.catalogue.patch import Edit, line_start
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant for all such barriers."""
    scope = site.scope
    barriers = [
        node for node in within(scope.body, "expression_statement") if scope.squeezed(node) == "__syncthreads();"
    ]
    if not barriers:
        yield Refusal("the function has no __syncthreads()")
        return
    unneeded = [node for node in barriers if _unneeded(site, node)]
    if not unneeded:
        yield Refusal("between any two barriers memory is used, so each may be needed")
        return
    data = site.syntax.code.data
    edits: list[Edit] = []
    for node in unneeded:
        start, end = line_start(data, node.start_byte), node.end_byte
        alone = not data[start : node.start_byte].strip() and data[end : end + 1] == b"\n"
        edits.append(Edit(start, end + 1, "") if alone else Edit(node.start_byte, end, ""))
    yield Variant(
        "without them",
        tuple(edits),
        site.lines(*unneeded),
        "no memory is used between this barrier and the one before it, or the kernel's end, so it orders nothing",
    )


def _unneeded(site: Site, node: Node) -> bool:
    scope = site.scope
    if node.parent is None or node.parent.type != "compound_statement":
        return False
    if node.parent == scope.body and site.function.kind == "kernel" and _last(node):
        return True
    before = node.prev_named_sibling
    while before is not None:
        if before.type == "expression_statement" and scope.squeezed(before) == "__syncthreads();":
            return True
        if before.type == "comment":
            pass
        elif before.type != "declaration" or scope.accesses(before) or scope.impure(before) is not None:
            return False
        before = before.prev_named_sibling
    return False


def _last(node: Node) -> bool:
    following = node.next_named_sibling
    while following is not None and following.type == "comment":
        following = following.next_named_sibling
    return following is None
