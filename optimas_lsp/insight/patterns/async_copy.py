"""Values that only pass through a register on their way from global to shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View
from optimas_lsp.sass.operands import registers

RULE = "async-copy"
FIRST_CAPABILITY = (8, 0)
"""Compute capability from which on global memory can be copied to shared memory without a register."""


def find(view: View) -> Iterator[Hit]:
    """Shared stores in a loop whose operand is an unchanged loaded value, on hardware that can copy directly."""
    if view.profile.device.compute_capability < FIRST_CAPABILITY:
        return
    for at, instruction in enumerate(view.instructions):
        if instruction.base != "STS" or not view.hot(at) or "[" in instruction.operands[-1]:
            continue
        data = registers(instruction.operands[-1], max(1, instruction.effects.bytes_per_thread // 4))
        loads = view.producers(at, data)
        if loads and all(view.instructions[load].base == "LDG" for load in loads):
            yield Hit(
                text=f"{instruction.opcode} stores to shared memory what {view.instructions[loads[0]].opcode} has just "
                "loaded, unchanged; the warp waits for the value only to pass it on",
                helps="cuda::memcpy_async or __pipeline_memcpy_async with two or more stages",
                instructions=(at, *loads),
                blamed=(at, *loads),
                weight=float(view.executed(at)),
                expects=(("long_scoreboard", "down"),),
            )
