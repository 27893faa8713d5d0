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
"""The superfluous sectors of all such instructions must be this share of all the kernel's sectors: an unrolled loop
spreads one access over many instructions."""

NOTICED = 0.002
"""An instruction whose superfluous sectors are less than this share of all is left out."""


def find(view: View) -> Iterator[Hit]:
    """Instructions with at least twice the ideal sectors that together make up a good part of the kernel's traffic."""
    every = [(view.metric(SECTORS, at), view.metric(IDEAL, at)) for at in range(len(view.instructions))]
    total = sum(sectors for sectors, _ in every)
    wasteful = [ideal > 0 and sectors >= WASTEFUL * ideal for sectors, ideal in every]
    lost = sum(sectors - ideal for (sectors, ideal), waste in zip(every, wasteful, strict=True) if waste)
    for at, (sectors, ideal) in enumerate(every):
        if not wasteful[at] or lost < MATTERS * total or sectors - ideal < NOTICED * total:
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
