"""Let CUB's block-wide loads and stores exchange within warps, or not at all, instead of across the block."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import within
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_NAME = re.compile(r"(?:cub::)?BLOCK_(LOAD|STORE)_TRANSPOSE")


def find(site: Site) -> Found:
    """Variants for loads, for stores, and for both."""
    scope = site.scope
    found: list[tuple[Node, str]] = []
    for node in within(scope.body, "qualified_identifier", "identifier"):
        match = _NAME.fullmatch(scope.text(node))
        if match is not None and (node.parent is None or node.parent.type != "qualified_identifier"):
            found.append((node, match.group(1)))
    if not found:
        yield Refusal("the function uses no transposing load or store of CUB's")
        return
    threads = {_threads(site, node) for node, _ in found}
    if len(threads) != 1 or (count := next(iter(threads))) is None or count % 32:
        yield Refusal("the block size given to CUB is not known to be whole warps")
        return
    kinds = sorted({kind for _, kind in found})
    groups = [tuple(kinds), *((kind,) for kind in kinds)] if len(kinds) > 1 else [tuple(kinds)]
    for way, preference in (("WARP_TRANSPOSE", 1.0), ("DIRECT", 0.7)):
        for at, group in enumerate(groups):
            words = " and ".join(kind.lower() for kind in group)
            chosen = [(node, kind) for node, kind in found if kind in group]
            yield Variant(
                f"{words}: {way.lower()}",
                tuple(Edit(n.start_byte, n.end_byte, scope.text(n).replace("TRANSPOSE", way)) for n, _ in chosen),
                _lines(site),
                "the same items reach the same threads, but "
                + (
                    "warps exchange among their own threads, without waiting for the block"
                    if way != "DIRECT"
                    else "each thread moves its own, without an exchange in shared memory"
                ),
                preference=preference * (1.0 if at == 0 else 0.8),
            )


def _threads(site: Site, node: Node) -> int | None:
    """The block size among the template arguments around an algorithm's name: the second one."""
    outer = node.parent
    while outer is not None and outer.type != "template_argument_list":
        outer = outer.parent
    if outer is None:
        return None
    given = [child for child in outer.named_children if child.type != "comment"]
    text = site.scope.text(given[1]) if len(given) > 1 else ""
    return int(text) if text.isdigit() else site.constants.get(text)


def _lines(site: Site) -> tuple[int, int]:
    return site.lines(site.scope.body)
