"""Instructions and control flow from printed SASS alone, as a distilled profile keeps it: registers, no control words.

Enough for everything that asks what an instruction does rather than what it waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

from optimas_lsp.profile.model import Code
from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, CubinError, Section
from optimas_lsp.sass.decode import Instruction, Printed, decode, printed
from optimas_lsp.sass.flow import Flow, build

_NO_BARRIERS = ((0x3F << 5) << 41).to_bytes(8, "little")
"""The upper half of an encoding that sets and awaits nothing."""

_ENCODING = bytes(8) + _NO_BARRIERS
_NOTHING = Printed(None, "NOP", "")


@dataclass(frozen=True, slots=True)
class Listing:
    """Printed instructions with their control flow. ``column[i]`` is the ``Code`` column of instruction i, -1: none."""

    instructions: tuple[Instruction, ...]
    flow: Flow
    column: tuple[int, ...]
    place: tuple[int, ...]
    """``place[k]`` is the instruction of ``Code`` column k, -1 where it lies outside the kernel's own code."""


def read(code: Code) -> Listing | None:
    """The kernel's own code; None when its text is no SASS that is understood."""
    inside = [(offset, at) for at, offset in enumerate(code.offset) if offset >= 0 and offset % INSTRUCTION_BYTES == 0]
    if not inside:
        return None
    end = 0
    for offset, _ in inside:  # a gap means another function that samples fell into
        if offset == end:
            end += INSTRUCTION_BYTES
    count = end // INSTRUCTION_BYTES
    if not count:  # the kernel's first instruction is not in the report
        return None
    rows, column = [_NOTHING] * count, [-1] * count
    try:
        for offset, at in inside:
            if offset < end:
                rows[offset // INSTRUCTION_BYTES] = printed(code.sass[at]) if code.sass[at] else _NOTHING
                column[offset // INSTRUCTION_BYTES] = at
        instructions = decode(rows, _ENCODING * count, 0)
    except CubinError:
        return None
    place = [-1] * len(code.offset)
    for index, at in enumerate(column):
        if at >= 0:
            place[at] = index
    executed = [code.executed[at] if code.executed is not None and at >= 0 else 0 for at in column]
    section = Section(name="", code=_ENCODING * count, symbols=(), branch_targets={})
    return Listing(instructions, build(instructions, section, executed), tuple(column), tuple(place))
