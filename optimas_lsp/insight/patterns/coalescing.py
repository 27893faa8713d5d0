"""Global accesses that move more 32-byte sectors than the data they want needs."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View

RULE = "uncoalesced-global"
SECTORS = "memory_l2_theoretical_sectors_global"
IDEAL = "memory_l2_theoretical_sectors_global_ideal"

WASTEFUL = 2.0
"""From this many times the ideal sectors on."""

MATTERS = 0.05
"""An instruction's superfluous sectors must be this share of all the kernel's sectors."""


def find(view: View) -> Iterator[Hit]:
    """Instructions with at least twice the ideal sectors that make up a good part of the kernel's traffic."""
    every = [view.metric(SECTORS, at) for at in range(len(view.instructions))]
    total = sum(every)
    for at, sectors in enumerate(every):
        ideal = view.metric(IDEAL, at)
        if not ideal or sectors < WASTEFUL * ideal or sectors - ideal < MATTERS * total:
            continue
        instruction = view.instructions[at]
        per_warp = sectors / max(view.executed(at), 1)
        yield Hit(
            text=f"Uncoalesced access: {instruction.opcode} touches {per_warp:.1f} sectors of 32 B per warp where "
            f"{ideal / max(view.executed(at), 1):.1f} would do ({sectors / ideal:.1f} times as many)",
            helps="consecutive threads on consecutive elements, a structure of arrays, or shared memory in between",
            instructions=(at,),
            blamed=(at,),
            weight=float(sectors - ideal),
            expects=((SECTORS, "down"), ("long_scoreboard", "down")),
        )
