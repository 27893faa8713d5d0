"""Divide in 32 bits where both numbers fit, and by constants where the launch's sizes are the profiled ones."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import bare, field, within
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant for all 64-bit divisions together, one for all divisions by a size of the launch."""
    scope = site.scope
    wide: list[tuple[Node, str]] = []
    fixed: list[tuple[Node, str]] = []
    why = "the function has no division of 64-bit integers, nor one by a size of its launch"
    for node in within(scope.body, "binary_expression"):
        operator = field(node, "operator").type
        if operator not in {"/", "%"}:
            continue
        left, right = field(node, "left"), field(node, "right")
        size = _launched(site, right)
        if size is not None:
            kind = scope.integer_of(left)
            if kind is not None and kind.bits == 32 and not scope.accesses(left) and scope.impure(left) is None:
                one, other = scope.text(left), scope.text(right)
                fixed.append((node, f"({other} == {size}u ? ({one}) {operator} {size}u : ({one}) {operator} {other})"))
            continue
        kind = scope.integer_of(node)
        if kind is None or kind.bits != 64 or scope.value_of(right) is not None:
            continue
        if bare(left).type != "identifier" or bare(right).type != "identifier":
            why = "the numbers divided are not plain variables"
            continue
        one, other = scope.text(bare(left)), scope.text(bare(right))
        if any(not _wide(site, name) for name in (one, other)):
            why = f"'{one}' and '{other}' are not both 64-bit integers"
            continue
        narrow = f"({kind.name})((unsigned){one} {operator} (unsigned){other})"
        wide.append((node, f"((({one} | {other}) >> 32) == 0 ? {narrow} : {one} {operator} {other})"))
    if wide:
        yield Variant(
            "32 bits where they do",
            tuple(Edit(node.start_byte, node.end_byte, text) for node, text in wide),
            site.lines(*(node for node, _ in wide)),
            "a 64-bit division takes several times as many instructions as a 32-bit one, which gives the same result "
            "when both numbers fit",
        )
    if fixed:
        yield Variant(
            "by the profiled size",
            tuple(Edit(node.start_byte, node.end_byte, text) for node, text in fixed),
            site.lines(*(node for node, _ in fixed)),
            "the compiler turns a division by a constant into a multiplication; other sizes are still divided by",
            preference=0.8,
        )
    if not wide and not fixed:
        yield Refusal(why)


def _wide(site: Site, name: str) -> bool:
    variable = site.scope.one(name)
    kind = None if variable is None or variable.memory else site.scope.integer_of
    if kind is None or variable is None:
        return False
    return variable.type in {"long long", "int64_t", "unsigned long long", "uint64_t", "size_t", "ptrdiff_t"}


def _launched(site: Site, node: Node) -> int | None:
    """The profiled value of ``blockDim`` or ``gridDim`` that ``node`` is, or None."""
    text = site.scope.squeezed(node)
    name, _, axis = text.partition(".")
    sizes = {"blockDim": site.kernel.block, "gridDim": site.kernel.grid}.get(name)
    if sizes is None or axis not in {"x", "y", "z"}:
        return None
    return sizes["xyz".index(axis)]
