"""Tell the compiler which pointers never overlap, where every launch proves it."""

from __future__ import annotations

from optimas_lsp.rewrite.catalogue.nodes import field, within
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant for all pointers together."""
    if site.function.kind != "kernel":
        yield Refusal("only a kernel's launches can be looked through")
        return
    scope = site.scope
    edits: list[Edit] = []
    for parameter in within(field(site.node, "declarator"), "parameter_declaration"):
        stars = list(within(parameter, "pointer_declarator"))
        if len(stars) != 1 or "restrict" in scope.text(parameter):
            continue
        name = field(stars[0], "declarator")
        edits.append(Edit(name.start_byte, name.start_byte, "__restrict__ "))
    if not edits:
        yield Refusal("the kernel has no plain pointer without __restrict__")
        return
    if not any(access.write and site.is_global(access.root) for access in scope.accesses(scope.body)):
        yield Refusal("the kernel writes through no pointer of its own, so nothing could overlap")
        return
    moved = [
        v.name for group in scope.variables.values() for v in group if v.parameter and v.pointer and not scope.steady(v)
    ]
    if moved:
        yield Refusal(f"'{moved[0]}' is made to point elsewhere")
        return
    if not site.apart.proven:
        yield Refusal(site.apart.why)
        return
    yield Variant(
        label="all pointers",
        edits=tuple(edits),
        lines=site.lines(site.scope.body),
        reason="every launch passes different allocations: loads may move across stores, and read-only ones be cached",
    )
