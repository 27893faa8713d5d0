"""Which embedded machine code a kernel of the report ran, checked instruction by instruction.

A report names a kernel and prints its instructions; a cubin holds sections by the same name, possibly several cubins
one each (a template instantiated in several translation units). The section whose encodings fit the printed
instructions is the one that ran; where none does, nothing is concluded. The report's own text serves as disassembly;
only where it leaves out part of the section is the disassembler asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from optimas_lsp.profile.model import Kernel
from optimas_lsp.sass import disassembler, lines
from optimas_lsp.sass.agreement import agreement, is_padding
from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, LAST_ARCHITECTURE, Cubin, CubinError, Section
from optimas_lsp.sass.decode import Instruction, Printed, decode, printed

MATCH = 0.98
"""Share of a kernel's printed instructions that must fit the encodings."""

_NOTHING = Printed(None, "NOP", "")


@dataclass(frozen=True, slots=True)
class Machine:
    """The decoded section a kernel ran. ``first`` is the section's instruction at the report's offset 0.

    ``table`` is the section's line table or None; ``why_no_lines`` says why in words.
    """

    section: Section
    architecture: int
    instructions: tuple[Instruction, ...]
    first: int
    table: lines.LineTable | None
    why_no_lines: str


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
    count = len(section.code) // INSTRUCTION_BYTES
    reported = {first + at: row for at, row in _reported(kernel, count - first).items()}
    fits = agreement(reported, section, cubin.architecture)
    if fits < MATCH:
        raise CubinError(
            f"the machine code in the report is not the code that ran: {100 * fits:.0f} % of {len(reported)} "
            "instructions agree"
        )
    instructions = _decode(_whole(reported, cubin, section), section.code, cubin.architecture)
    table, why = _lines(cubin, section.name)
    return Machine(section, cubin.architecture, instructions, first, table, why)


def _whole(reported: dict[int, Printed], cubin: Cubin, section: Section) -> tuple[Printed, ...]:
    """The whole section in print; what nobody could print does nothing."""
    count = len(section.code) // INSTRUCTION_BYTES
    unknown = (at for at in range(count) if at not in reported)
    if not all(is_padding(section.code[at * INSTRUCTION_BYTES : (at + 1) * INSTRUCTION_BYTES]) for at in unknown):
        with contextlib.suppress(CubinError):
            return disassembler.print_section(cubin, section)
    return tuple(reported.get(at, _NOTHING) for at in range(count))


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
