"""Whether printed instructions are those of given code bytes, checked against what the encoding shows without decoding.

Since Volta the low 64 bits hold the opcode in bits 0 to 8 (with its operand form in 9 to 11), the guard predicate in
12 to 14 (7: none) with its negation in 15, and the destination register in 16 to 23; relative branches hold their
distance. Code of another build disagrees on much of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, Section
from optimas_lsp.sass.decode import Printed, displacement
from optimas_lsp.sass.operands import semantics, split

_GUARD = re.compile(r"@(!?)U?P([0-6T])$")
_DESTINATION = re.compile(r"R(\d{1,3}|Z)$")
_TARGET = re.compile(r"0x[0-9a-f]+$")
_BRANCHES = frozenset({"BRA", "BSSY", "CALL"})
_NO_REGISTER = 255
_NOP = 0x918


def agreement(rows: Mapping[int, Printed], section: Section, architecture: int) -> float:
    """Share of ``rows`` (by position in the section) that fit the section's encodings (0 to 1)."""
    if not rows:
        return 0.0
    families: dict[int, Counter[str]] = {}
    fits = dict.fromkeys(rows, True)
    for at, row in rows.items():
        encoding = section.code[at * INSTRUCTION_BYTES : (at + 1) * INSTRUCTION_BYTES]
        low = int.from_bytes(encoding[:8], "little")
        families.setdefault(low & 0x1FF, Counter())[_family(row.opcode)] += 1
        fits[at] = (
            _guard_fits(row, low) and _destination_fits(row, low) and _target_fits(at, row, encoding, architecture)
        )
    usual = {bits: counted.most_common(1)[0][0] for bits, counted in families.items()}
    for at, row in rows.items():
        bits = int.from_bytes(section.code[at * INSTRUCTION_BYTES : at * INSTRUCTION_BYTES + 2], "little") & 0x1FF
        fits[at] = fits[at] and usual[bits] == _family(row.opcode)
    return sum(fits.values()) / len(rows)


def is_padding(encoding: bytes) -> bool:
    """Whether an instruction is the NOP that fills a section up."""
    return int.from_bytes(encoding[:2], "little") & 0xFFF == _NOP


def _family(opcode: str) -> str:
    """The base name without what only tells an alias or a wider form."""
    return opcode.partition(".")[0].rstrip("0123456789").removeprefix("CGA")


def _guard_fits(row: Printed, low: int) -> bool:
    negated, number = bool(low >> 15 & 1), low >> 12 & 7
    match = _GUARD.match(row.guard) if row.guard else None
    if match is None:
        return number == 7 and not negated
    return (7 if match[2] == "T" else int(match[2])) == number and bool(match[1]) == negated


def _destination_fits(row: Printed, low: int) -> bool:
    operands = split(row.operands)
    match = _DESTINATION.match(operands[0]) if operands else None
    if match is None or semantics(row.opcode.partition(".")[0]).dests not in ("1", "leading"):
        return True
    return (low >> 16 & 0xFF) == (_NO_REGISTER if match[1] == "Z" else int(match[1]))


def _target_fits(at: int, row: Printed, encoding: bytes, architecture: int) -> bool:
    base = row.opcode.partition(".")[0]
    operands = split(row.operands)
    if base not in _BRANCHES or "ABS" in row.opcode or not operands or not _TARGET.match(operands[-1]):
        return True
    target, behind = int(operands[-1], 16), (at + 1) * INSTRUCTION_BYTES
    if target >= 1 << 32:  # an address of the process that ran
        return True
    return behind + displacement(encoding, architecture) == target
