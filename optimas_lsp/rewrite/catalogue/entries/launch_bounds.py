"""Tell the compiler the largest block, where the profile and every launch's constants agree on it."""

from __future__ import annotations

import math

from optimas_lsp.rewrite.catalogue.nodes import field
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

REGISTERS, THREADS = 65536, 2048
"""Of one multiprocessor."""


def find(site: Site) -> Found:
    """A variant a number of blocks that should fit a multiprocessor."""
    scope = site.scope
    if site.function.kind != "kernel":
        yield Refusal("only kernels are launched")
        return
    head = site.syntax.code.data[site.function.extent.start : site.function.body.start].decode("utf-8", "replace")
    if "__launch_bounds__" in head:
        yield Refusal("the kernel already has launch bounds")
        return
    if "launch-bounds" not in site.allow:
        yield Refusal("a launch with larger blocks would fail; allow 'launch-bounds' to have this proposed")
        return
    block = math.prod(site.kernel.block)
    registers = site.kernel.facts.get("registers_per_thread")
    if not isinstance(registers, float):
        yield Refusal("the report does not say how many registers the kernel needs")
        return
    name = field(field(site.node, "declarator"), "declarator")
    now = max(1, min(int(REGISTERS // (registers * block)), THREADS // block))
    for blocks, preference in ((None, 0.6), (now + 1, 1.0), (2 * now, 0.8)):
        if blocks is not None and (blocks * block > THREADS or blocks > 32):
            continue
        words = f"{block}" if blocks is None else f"{block}, {blocks}"
        yield Variant(
            f"({words})",
            (Edit(name.start_byte, name.start_byte, f"__launch_bounds__({words}) "),),
            site.lines(scope.body),
            f"every profiled launch had {block} threads a block; knowing that, the compiler may "
            + ("use more registers" if blocks is None else f"keep registers low enough for {blocks} blocks"),
            preference=preference,
        )
