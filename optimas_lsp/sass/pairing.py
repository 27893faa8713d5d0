"""Which embedded machine code a kernel of the report ran, checked instruction by instruction.

A report names a kernel and prints its instructions; a cubin holds sections by the same name, possibly several cubins
one each (a template instantiated in several translation units). The section whose opcodes and guards equal the printed
ones is the one that ran; where none does, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from optimas_lsp.profile.model import Kernel
from optimas_lsp.sass import disassembler, lines
from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, LAST_ARCHITECTURE, Cubin, CubinError, Section
from optimas_lsp.sass.decode import Instruction, Printed, decode, printed

MATCH = 0.99
"""Share of a kernel's printed instructions whose opcode and guard must equal the decoded ones."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The decoded section a kernel ran. ``first`` is the section's instruction at the report's offset 0.

    ``table`` is the section's line table or None; ``why_no_lines`` says why in words. ``printed_by`` tells whether the
    opcodes come from the disassembler or, where that cannot read the architecture, from the report.
    """

    section: Section
    architecture: int
    instructions: tuple[Instruction, ...]
    first: int
    table: lines.LineTable | None
    why_no_lines: str
    printed_by: str


def pair(kernel: Kernel, cubins: Sequence[Cubin]) -> Machine:
    """The machine code of ``kernel``.

    Raises CubinError with the reason when no cubin has it, none matches the report, or it cannot be decoded.
    """
    if not cubins:
        raise CubinError("the report holds no machine code")
    named = [(cubin, cubin.sections[kernel.mangled]) for cubin in cubins if kernel.mangled in cubin.sections]
    named.sort(key=lambda pair: pair[0].sha256 != kernel.code.module)
    if not named:
        raise CubinError("the machine code in the report has no function of this name")
    complaints: list[str] = []
    for cubin, section in named:
        if cubin.architecture > LAST_ARCHITECTURE:
            complaints.append(f"its architecture sm_{cubin.architecture} is newer than this decoder")
            continue
        try:
            return _match(kernel, cubin, section)
        except CubinError as error:
            complaints.append(error.what)
    raise CubinError("; ".join(dict.fromkeys(complaints)))


def _match(kernel: Kernel, cubin: Cubin, section: Section) -> Machine:
    symbol = next((symbol for symbol in section.symbols if symbol.name == section.name), None)
    first = (symbol.start if symbol is not None else 0) // INSTRUCTION_BYTES
    reported = _reported(kernel, len(section.code) // INSTRUCTION_BYTES - first)
    by = "disassembler"
    try:
        rows = disassembler.print_section(cubin, section)
    except CubinError:
        rows = _from_report(section, reported, first)
        by = "report"
    instructions = _decode(rows, section.code, cubin.architecture)
    agree = sum(
        instructions[first + index].opcode == row.opcode and instructions[first + index].guard == row.guard
        for index, row in reported.items()
    )
    if agree < MATCH * len(reported):
        raise CubinError(
            f"the machine code in the report is not the code that ran: {agree} of {len(reported)} instructions agree"
        )
    table, why = _lines(cubin, section.name)
    return Machine(section, cubin.architecture, instructions, first, table, why, by)


def _reported(kernel: Kernel, count: int) -> dict[int, Printed]:
    """The report's printed instructions that can lie in a section of ``count``, by position behind the kernel's entry.

    A report also lists functions outside the kernel's section that samples fell into; those are not looked at here.
    """
    if any(offset % INSTRUCTION_BYTES for offset in kernel.code.offset):
        raise CubinError("the report's instructions do not lie where this architecture puts them")
    found: dict[int, Printed] = {}
    for offset, text in zip(kernel.code.offset, kernel.code.sass, strict=True):
        if 0 <= offset < count * INSTRUCTION_BYTES and text not in ("", "N/A"):
            found[offset // INSTRUCTION_BYTES] = printed(text)
    if len(found) * 2 < sum(offset >= 0 for offset in kernel.code.offset):
        raise CubinError("the machine code in the report is shorter than the code that ran")
    return found


@lru_cache(maxsize=64)
def _decode(rows: tuple[Printed, ...], code: bytes, architecture: int) -> tuple[Instruction, ...]:
    return decode(rows, code, architecture)


def _from_report(section: Section, reported: dict[int, Printed], first: int) -> tuple[Printed, ...]:
    """The report's own printed instructions as the section's, for architectures the disassembler no longer reads.

    Nothing but the encodings can be checked then: equal opcode bits must come with equal opcodes.
    """
    rows = [Printed(None, "NOP", "")] * (len(section.code) // INSTRUCTION_BYTES)
    opcode_of: dict[int, str] = {}
    clashes = 0
    for index, row in reported.items():
        rows[first + index] = row
        at = (first + index) * INSTRUCTION_BYTES
        bits = int.from_bytes(section.code[at : at + 2], "little") & 0x1FF
        clashes += opcode_of.setdefault(bits, _family(row.opcode)) != _family(row.opcode)
    if clashes > (1 - MATCH) * len(reported):
        raise CubinError("the machine code in the report is not the code that ran")
    return tuple(rows)


def _family(opcode: str) -> str:
    """The base name without the letters that only say which operand form or alias was printed."""
    return opcode.partition(".")[0].rstrip("0123456789")


def _lines(cubin: Cubin, name: str) -> tuple[lines.LineTable | None, str]:
    if cubin.lines is None:
        return None, "the machine code was built without line information"
    try:
        table = _line_tables(cubin).get(name)
    except CubinError as error:
        return None, error.what
    return table, "" if table is not None else "the line table says nothing about this kernel"


_tables: dict[str, dict[str, lines.LineTable]] = {}


def _line_tables(cubin: Cubin) -> dict[str, lines.LineTable]:
    if cubin.lines is None:
        return {}
    if cubin.sha256 not in _tables:
        if len(_tables) >= 8:
            _tables.clear()
        _tables[cubin.sha256] = lines.read(cubin.lines)
    return _tables[cubin.sha256]
