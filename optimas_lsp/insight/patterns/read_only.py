"""Loads through a pointer that the kernel never writes through, though the compiler was not told so."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.origins import parameters
from optimas_lsp.insight.patterns.view import Hit, View

RULE = "read-only-path"
_WRITES = frozenset({"store", "reduce", "atomic"})


def find(view: View) -> Iterator[Hit]:
    """Hot plain loads whose address comes from parameters that no store's or atomic's address comes from.

    Only where the kernel writes to global memory inside the same loop: there the missing promise costs something, since
    no load may move across a store.
    """
    if view.listing is None:
        return
    flow = view.listing.flow
    stores = [
        at
        for at, i in enumerate(view.instructions)
        if i.semantics.access in _WRITES and i.semantics.space in ("global", "generic") and view.executed(at)
    ]
    if not stores:
        return
    written = frozenset[int]().union(*(parameters(view, at) for at in stores))
    looping = {flow.block_of[at] for at in stores}
    for at, instruction in enumerate(view.instructions):
        if instruction.base != "LDG" or {"CONSTANT", "STRONG"} & set(instruction.modifiers) or not view.hot(at):
            continue
        loops = [loop for loop in flow.loops if flow.block_of[at] in loop.body]
        if not any(looping & loop.body for loop in loops):
            continue
        read = parameters(view, at)
        if read and not read & written:
            yield Hit(
                text=f"{instruction.opcode} reads through a pointer that this kernel never writes through, but the "
                "compiler must assume that the stores in the loop may change it",
                helps="const and __restrict__ on the pointer parameters, or __ldg() for this access",
                instructions=(at,),
                blamed=(at,),
                weight=float(view.executed(at)),
                uncertain=True,
                expects=(("long_scoreboard", "down"),),
            )
