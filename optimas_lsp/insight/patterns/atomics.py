"""Atomic operations of many threads on few addresses."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.bank_conflicts import IDEAL, WAVEFRONTS
from optimas_lsp.insight.patterns.coalescing import SECTORS
from optimas_lsp.insight.patterns.view import Hit, View

RULE = "contended-atomics"
WORDS_PER_SECTOR = 8
CROWDED = 1.5
"""Threads per 4-byte word of the sectors they touch, from which on addresses must coincide."""


def find(view: View) -> Iterator[Hit]:
    """Atomics whose threads outnumber the words they touch (global), or that need many passes (shared)."""
    for at, instruction in enumerate(view.instructions):
        executed, threads = view.executed(at), view.threads(at)
        if instruction.semantics.access not in ("atomic", "reduce") or instruction.base == "SYNCS" or not executed:
            continue
        said = ""
        if instruction.semantics.space in ("global", "generic"):
            sectors = view.metric(SECTORS, at)
            if sectors and threads >= CROWDED * WORDS_PER_SECTOR * sectors:
                said = f"{threads / executed:.0f} threads of a warp update {sectors / executed:.1f} sectors"
        elif view.metric(IDEAL, at) and view.metric(WAVEFRONTS, at) >= 4 * view.metric(IDEAL, at):
            said = f"a warp's update takes {view.metric(WAVEFRONTS, at) / executed:.1f} passes"
        if said:
            yield Hit(
                text=f"Contended atomic: {instruction.opcode}, {said}, so updates of one address wait for each other",
                helps="a reduction in the warp or block first, then one update; or a private copy for each block",
                instructions=(at,),
                blamed=(at, *_neighbours(view, at)),
                weight=float(threads),
                expects=(("lg_throttle", "down"), ("long_scoreboard", "down"), ("time", "down")),
            )


def _neighbours(view: View, atomic: int) -> list[int]:
    """Global accesses of the same loop: they queue behind the atomic, and their throttling is its doing."""
    if view.listing is None:
        return []
    flow = view.listing.flow
    block = flow.block_of[atomic]
    inner = [loop.body for loop in flow.loops if block in loop.body]
    body = min(inner, key=len) if inner else frozenset({block})
    throttled = [
        at
        for at in range(len(view.instructions))
        if flow.block_of[at] in body and view.instructions[at].unit == "l1tex" and at != atomic
    ]
    own = view.metric(SECTORS, atomic)
    return throttled if own and len(throttled) <= 2 else []
