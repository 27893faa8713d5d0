"""Load through the read-only path what no thread of the kernel writes."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.nodes import contains
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_LOADABLE = frozenset(
    {"char", "short", "int", "long long", "unsigned char", "unsigned short", "unsigned", "unsigned long long", "float"}
    | {"double", "int2", "int4", "uint2", "uint4", "float2", "float4", "double2", "int32_t", "uint32_t"}
)


def find(site: Site) -> Found:
    """One variant for all loads that may take the read-only path."""
    scope = site.scope
    if site.function.kind != "kernel":
        yield Refusal("what the function's pointers reach is not known")
        return
    accesses = scope.accesses(scope.body)
    written = frozenset(access.root for access in accesses if access.write and _outside(site, access.root))
    unknown = next((name for name, _ in scope.calls(scope.body) if not (scope.pure(name) or _known(name))), None)
    edits: list[Edit] = []
    nodes: list[Node] = []
    why = "the kernel loads nothing through a pointer to const"
    for access in accesses:
        variable = scope.one(access.root)
        if access.write or not site.is_global(access.root) or len(access.index) != 1 or variable is None:
            continue
        if not variable.const:
            continue
        if types.plain(variable.type) not in _LOADABLE:
            why = f"'{variable.type}' is no type that can be loaded so"
            continue
        if access.node.parent is not None and access.node.parent.type == "field_expression":
            continue
        if unknown is not None:
            why = f"'{unknown}' is called, which may write what is loaded"
            continue
        separate = site.separate(frozenset({access.root}), written)
        if separate is not None:
            why = separate
            continue
        if any(other.node != access.node and contains(access.node, other.node) for other in accesses):
            why = "a load's place depends on another load"
            continue
        text = scope.text(access.node)
        edits.append(Edit(access.node.start_byte, access.node.end_byte, f"__ldg(&{text})"))
        nodes.append(access.node)
    if not edits:
        yield Refusal(why)
        return
    yield Variant(
        label="all loads of const data",
        edits=tuple(edits),
        lines=site.lines(*nodes),
        reason="nothing writes this data while the kernel runs, so it may be loaded through the read-only path",
    )


def _outside(site: Site, root: str) -> bool:
    """Whether ``root`` may be memory that other threads see."""
    variable = site.scope.one(root)
    return variable is None or not (variable.dims and not variable.parameter)


def _known(name: str) -> bool:
    return name.startswith(("atomic", "__syncthreads", "__syncwarp", "__shfl", "__ballot", "__activemask"))
