"""Neighbouring narrow loads of one thread that a wider one could replace."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View
from optimas_lsp.sass.operands import registers
from optimas_lsp.sass.sectors import address

RULE = "narrow-loads"
AT_LEAST = 4
"""Neighbouring loads before it is worth a word: fewer are often there because the address is not aligned."""

WIDEST = 16


def find(view: View) -> Iterator[Hit]:
    """Runs of loads of at most 4 bytes at adjoining addresses over one base register in one block."""
    if view.listing is None:
        return
    for block in view.listing.flow.blocks:
        groups: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for at in range(block.first, block.end):
            instruction = view.instructions[at]
            place = address(instruction)
            size = instruction.effects.bytes_per_thread
            if place is not None and instruction.semantics.space == "global" and 0 < size <= 4 and view.executed(at):
                groups.setdefault((place[0], size), []).append((place[1], at))
            for key in [key for key in groups if registers(key[0], 2) & instruction.effects.writes]:
                yield from _runs(view, groups.pop(key), key[1])
        for key, loads in groups.items():
            yield from _runs(view, loads, key[1])


def _runs(view: View, loads: list[tuple[int, int]], size: int) -> Iterator[Hit]:
    run: list[tuple[int, int]] = []
    for offset, at in [*sorted(loads), (1 << 62, -1)]:
        if run and offset != run[-1][0] + size:
            if len(run) >= AT_LEAST:
                yield _hit(view, [each for _, each in run], size)
            run = []
        run.append((offset, at))


def _hit(view: View, loads: list[int], size: int) -> Hit:
    together = min(WIDEST, size * len(loads))
    return Hit(
        text=f"Narrow loads: {len(loads)} loads of {size} B at adjoining addresses could be "
        f"{-(-size * len(loads) // together)} of {together} B",
        helps="loading a float4, int4 or an aligned struct, with the address aligned to its size",
        instructions=tuple(sorted(loads)),
        blamed=tuple(loads),
        weight=float(len(loads)),
        expects=(("inst_executed", "down"), ("lg_throttle", "down")),
    )
