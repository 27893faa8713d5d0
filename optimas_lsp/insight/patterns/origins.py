"""Which kernel parameters an address was computed from, as far as a look back through the code can tell."""

from __future__ import annotations

import re

from optimas_lsp.insight.patterns.view import View
from optimas_lsp.sass.operands import registers

_PARAMETER = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+)\]")
_DEEPEST = 12


def address_registers(view: View, position: int) -> int:
    """The registers in the brackets of a memory instruction, without its descriptor."""
    operand = next((text for text in view.instructions[position].operands if "[" in text), "")
    return registers(operand.rpartition("[")[2], 2)


def parameters(view: View, position: int) -> frozenset[int]:
    """Constant-bank offsets (8-byte aligned) of the parameters that the address at ``position`` comes from."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = [(position, address_registers(view, position), 0)]
    while todo:
        at, wanted, depth = todo.pop()
        for producer in _before(view, at, wanted):
            if producer in seen or depth > _DEEPEST:
                continue
            seen.add(producer)
            instruction = view.instructions[producer]
            for operand in instruction.operands:
                found |= {int(offset, 16) & ~7 for offset in _PARAMETER.findall(operand)}
            if instruction.semantics.access is None or instruction.semantics.space == "constant":
                todo.append((producer, instruction.effects.reads, depth + 1))
    return frozenset(found)


def _before(view: View, position: int, wanted: int) -> list[int]:
    """The nearest earlier writers of ``wanted``, in the order of the code."""
    found: list[int] = []
    for at in range(position - 1, -1, -1):
        written = view.instructions[at].effects.writes & wanted
        if written:
            found.append(at)
            wanted &= ~written
        if not wanted:
            break
    return found
