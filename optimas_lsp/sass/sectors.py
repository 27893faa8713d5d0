"""Which of several awaited loads ask for memory that another of them has already asked for.

Memory comes in sectors of 32 bytes. A load at ``[R2+0x4]`` issued behind one at ``[R2]`` that is still under way gets
its data when the first one's sector arrives: it is not what the warp waits for. Where a sector starts is not known, so
two addresses ``d`` bytes apart share one with probability 1 - d/32.
"""

from __future__ import annotations

import re

from optimas_lsp.sass.decode import Instruction

SECTOR_BYTES = 32
LEAST = 0.02
"""A load is never wholly innocent, whatever came before it."""

_OFFSET = re.compile(r"\+?(-?0x[0-9a-fA-F]+)\s*\]$")
_BYPASSES = frozenset({"STRONG", "MMIO"})


def address(instruction: Instruction) -> tuple[str, int] | None:
    """(base as printed, offset in bytes) of a cached global or local load; None for anything else."""
    meaning = instruction.semantics
    if meaning.access != "load" or meaning.space not in ("global", "generic", "local"):
        return None
    if not _BYPASSES.isdisjoint(instruction.modifiers):
        return None
    operand = next((text for text in instruction.operands if "[" in text), None)
    if operand is None:
        return None
    found = _OFFSET.search(operand)
    return operand[: found.start()] if found else operand.rstrip("]"), int(found[1], 16) if found else 0


def first_to_ask(load: Instruction, earlier: list[Instruction]) -> float:
    """Probability that none of the ``earlier`` loads, all under way with the same registers, asked for its sector."""
    mine = address(load)
    if mine is None:
        return 1.0
    distances = [abs(other[1] - mine[1]) for each in earlier if (other := address(each)) and other[0] == mine[0]]
    nearest = min(distances, default=SECTOR_BYTES)
    return max(LEAST, min(1.0, nearest / SECTOR_BYTES))
