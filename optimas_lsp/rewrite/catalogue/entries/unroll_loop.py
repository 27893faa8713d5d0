"""Ask the compiler to unroll a hot loop, by several factors."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.loops import counted, loops
from optimas_lsp.rewrite.catalogue.nodes import within
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at, line_start
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

FEW = 8
"""The compiler mostly unrolls a loop of so few iterations itself."""

LARGEST_FULL = 64
"""A loop of at most this many iterations is also offered to be unrolled completely."""


def find(site: Site) -> Found:
    """A variant a factor, for every innermost counted loop."""
    nodes = loops(site.scope)
    if not nodes:
        yield Refusal("the function has no loop")
    every: list[tuple[Node, Edit]] = []
    for node in nodes:
        line = site.line(node)
        loop = counted(site.scope, node)
        if isinstance(loop, str):
            yield Refusal(loop, line)
            continue
        before = site.syntax.text.line(line - 1) if line > 1 else ""
        data = site.syntax.code.data
        start = line_start(data, node.start_byte)
        if "unroll" in before:
            yield Refusal("the loop already says how it is to be unrolled", line)
            continue
        if data[start : node.start_byte].strip():
            yield Refusal("the loop does not start its line, so a pragma has no place before it", line)
            continue
        inner = any(other != node for other in within(loop.body, "for_statement", "while_statement", "do_statement"))
        full = loop.trips is not None and loop.trips <= LARGEST_FULL
        if inner and not full:
            yield Refusal("the loop holds other loops", line)
            continue
        few = loop.trips is not None and loop.trips <= FEW
        factors = [(None, 0.6 if few else 1.0)] if full else []
        if not inner and not few:
            factors += [(4, 0.9), (8, 0.8), (2, 0.5)]
        if factors and not inner and not few:
            every.append((node, Edit(start, start, f"{indent_at(data, node.start_byte)}#pragma unroll 4\n")))
        for factor, preference in factors:
            words = "#pragma unroll" if factor is None else f"#pragma unroll {factor}"
            yield Variant(
                label=("completely" if factor is None else f"{factor} times") + f", line {site.named_line(node)}",
                edits=(Edit(start, start, f"{indent_at(data, node.start_byte)}{words}\n"),),
                lines=site.lines(node),
                reason="unrolled, independent instructions of iterations overlap and the loop itself costs less",
                preference=preference,
            )
    if len(every) > 1:
        yield Variant(
            label="every loop, 4 times",
            edits=tuple(edit for _, edit in every),
            lines=site.lines(*(node for node, _ in every)),
            reason="unrolled, the iterations' independent instructions can overlap and the loops' own work is saved",
            preference=0.95,
        )
