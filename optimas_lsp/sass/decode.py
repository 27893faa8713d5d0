"""Instructions: printed form, registers, memory access, branch target and the control word from the encoding.

The control word sits in bits 105 to 125 of each 128-bit instruction since Volta: 4 bits stall cycles, 1 yield, 3 write
barrier (7 = none), 3 read barrier (7 = none), 6 wait mask over barriers 0 to 5, 4 operand reuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, CubinError
from optimas_lsp.sass.operands import Effects, Semantics, Unit, effects, semantics, split

BARRIERS = 6
"""Scoreboard barriers a warp has."""

_CONDITIONAL = re.compile(r"!?U?P[0-6T]$")
_TEXT = re.compile(r"\s*(?:(@!?U?P[0-6T])\s+)?([A-Z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*(.*?)\s*;?\s*$")
_NUMBER = re.compile(r"(-?0x[0-9a-fA-F]+|-?\d+)$")
_RELATIVE = frozenset({"BRA", "CALL", "BSSY", "JMP"})
_BSSY = 0x945
_BARRIER = re.compile(r"SB(\d)$")


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed instruction: guard with its ``@``, the opcode with modifiers, and the operands as one string."""

    guard: str | None
    opcode: str
    operands: str


@dataclass(frozen=True, slots=True)
class Control:
    """The control word. ``write`` and ``read`` are the barriers it sets (None: none), ``wait`` a mask over 0 to 5."""

    stall: int
    yields: bool
    write: int | None
    read: int | None
    wait: int
    reuse: int


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One decoded instruction. ``offset`` is bytes from the section's start, ``index`` its position there.

    ``guard`` is the predicate it executes under (None: always), ``effects`` its register sets. ``target`` is the
    section offset a direct branch goes to; ``calls`` the symbol a call names; ``partial`` for ``DEPBAR.LE SB0, 0x1``
    the pair (barrier, how many may stay outstanding).
    """

    index: int
    offset: int
    guard: str | None
    opcode: str
    base: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    effects: Effects
    semantics: Semantics
    control: Control
    target: int | None = None
    calls: str | None = None
    partial: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The printed form without encoding, e.g. ``@P0 LDG.E R8, desc[UR6][R8.64]``."""
        guard = f"{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}".rstrip()

    @property
    def unit(self) -> Unit:
        """Where its result comes from; a double-precision operation that sets a barrier is an MIO one on this chip."""
        unit = self.semantics.unit
        if unit == "fp64":
            return "mio" if self.control.write is not None else "fixed"
        return unit

    @property
    def conditional(self) -> bool:
        """Whether a branch may fall through: by a guard, or by a predicate operand (``BRA P1, …``, ``BRA.DIV``)."""
        if self.guard not in (None, "@PT", "@UPT"):
            return True
        return "DIV" in self.modifiers or "CONV" in self.modifiers or self._predicate_operand()

    def _predicate_operand(self) -> bool:
        return (
            bool(self.operands) and self.operands[0] not in ("PT", "UPT") and bool(_CONDITIONAL.match(self.operands[0]))
        )


def control(encoding: bytes) -> Control:
    """The control word of one 16-byte instruction."""
    word = (int.from_bytes(encoding[8:16], "little") >> 41) & 0x1FFFFF
    write, read = (word >> 5) & 7, (word >> 8) & 7
    return Control(
        stall=word & 15,
        yields=bool(word >> 4 & 1),
        write=write if write < BARRIERS else None,
        read=read if read < BARRIERS else None,
        wait=(word >> 11) & 0x3F,
        reuse=(word >> 17) & 15,
    )


def printed(text: str) -> Printed:
    """One line of SASS, e.g. ``@!P0 BRA 0x140`` with or without ``;``. Raises CubinError when it is none."""
    match = _TEXT.match(text)
    if match is None:
        raise CubinError(f"not an instruction: {text[:60]!r}")
    return Printed(match[1], match[2], match[3])


def displacement(encoding: bytes, architecture: int) -> int:
    """How many bytes past the next instruction a relative branch goes.

    Up to sm_89 (and for ``BSSY`` everywhere) bits 32 to 63 hold it; from sm_90 on branches and calls keep bits 2 to 9
    of it in bits 16 to 23 and the rest from bit 34 on. Measured against the disassembler on sm_75 to sm_121.
    """
    low = int.from_bytes(encoding[:8], "little")
    if architecture < 90 or low & 0xFFF == _BSSY:
        value, bits = (low >> 32) & ~3, 32
    else:
        value, bits = ((low >> 34) << 8 | (low >> 16) & 0xFF) << 2, 40
    return value - (1 << bits) if value >> (bits - 1) else value


def decode(lines: Sequence[Printed], code: bytes, architecture: int) -> tuple[Instruction, ...]:
    """Instructions of a whole section from their printed forms and their bytes.

    Branch targets come from the printed form where it counts from the section's start, else from the encoding (a report
    prints addresses of the process that ran). Raises CubinError when there are more lines than bytes.
    """
    if len(code) < len(lines) * INSTRUCTION_BYTES:
        raise CubinError(f"{len(lines)} instructions were printed, but the code has {len(code) // INSTRUCTION_BYTES}")
    made: list[Instruction] = []
    cached: dict[Printed, tuple[str, tuple[str, ...], tuple[str, ...], Effects, Semantics]] = {}
    for index, line in enumerate(lines):
        offset = index * INSTRUCTION_BYTES
        encoding = code[offset : offset + INSTRUCTION_BYTES]
        if line not in cached:
            base, *modifiers = line.opcode.split(".")
            operands = split(line.operands)
            cached[line] = (
                base,
                tuple(modifiers),
                operands,
                effects(base, tuple(modifiers), line.guard, operands),
                semantics(base),
            )
        base, modifiers, operands, sets, meaning = cached[line]
        target, calls = _destination(base, operands)
        if target is None and calls is None and base in _RELATIVE and "ABS" not in modifiers:
            target = offset + INSTRUCTION_BYTES + displacement(encoding, architecture)
        if target is not None and not 0 <= target < len(code):
            target = offset + INSTRUCTION_BYTES + displacement(encoding, architecture)
        made.append(
            Instruction(
                index=index,
                offset=offset,
                guard=line.guard,
                opcode=line.opcode,
                base=base,
                modifiers=modifiers,
                operands=operands,
                effects=sets,
                semantics=meaning,
                control=control(encoding),
                target=target,
                calls=calls,
                partial=_partial(base, operands),
            )
        )
    return tuple(made)


def _destination(base: str, operands: tuple[str, ...]) -> tuple[int | None, str | None]:
    """Section offset of a direct branch or call as printed, or the symbol it names."""
    if base not in _RELATIVE or not operands:
        return None, None
    last = operands[-1]
    if _NUMBER.match(last):
        return int(last, 0), None
    return (None, last.strip("`()")) if base == "CALL" and not re.match(r"U?R\d", last) else (None, None)


def _partial(base: str, operands: tuple[str, ...]) -> tuple[int, int] | None:
    if base != "DEPBAR" or len(operands) < 2:
        return None
    barrier, count = _BARRIER.match(operands[0]), _NUMBER.match(operands[1])
    return (int(barrier[1]), int(count[1], 0)) if barrier and count and int(barrier[1]) < BARRIERS else None


def extra_waits(instruction: Instruction) -> int:
    """The mask of barriers a ``DEPBAR`` names in braces, e.g. ``{5,4}``."""
    if instruction.base != "DEPBAR":
        return 0
    mask = 0
    for operand in instruction.operands:
        if operand.startswith("{"):
            for digit in re.findall(r"[0-5]", operand):
                mask |= 1 << int(digit)
    return mask
