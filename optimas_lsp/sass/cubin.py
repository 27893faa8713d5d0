"""What a cubin holds: its functions with their code bytes, line table, branch tables and architecture.

A cubin is an ELF file for NVIDIA GPUs. Two layouts occur: ABI version 7 and older (OS/ABI 0x33, architecture in the
low byte of ``e_flags``) and ABI version 8 (OS/ABI 0x41, architecture in the second byte). A kernel has a section of
its own, ``.text.NAME``; device functions that were not inlined are local symbols ``$KERNEL$CALLEE`` in that section.
Nothing here trusts its input: a cubin comes out of a report that anybody may have written.
"""

from __future__ import annotations

import hashlib
import io
import struct
from dataclasses import dataclass
from typing import Any, cast

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from optimas_lsp.errors import OptimasError

EM_CUDA = 190
TEXT = ".text."
INSTRUCTION_BYTES = 16
"""Size of one instruction since Volta; older architectures are not decoded."""

FIRST_ARCHITECTURE = 70
LAST_ARCHITECTURE = 121
"""The newest architecture whose control words are known to lie where this decoder looks."""

_INDIRECT_BRANCH_TARGETS = 0x34
_FORMAT_SIZED = 0x04
_MAXIMUM_BYTES = 1 << 30


class CubinError(OptimasError):
    """Machine code cannot be used: not a cubin, truncated, or of an architecture that is not decoded."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function inside a code section: bytes from the section's start, and whether a launch can start here."""

    name: str
    start: int
    size: int
    is_kernel: bool
    index: int


@dataclass(frozen=True, slots=True)
class Section:
    """The machine code of one kernel with the device functions that were not inlined into it.

    ``branch_targets`` maps the offset of an indirect branch (``BRX``) to the offsets it can reach.
    """

    name: str
    code: bytes
    symbols: tuple[Symbol, ...]
    branch_targets: dict[int, tuple[int, ...]]

    @property
    def sha256(self) -> str:
        """Of the code bytes: equal code shares one analysis."""
        return hashlib.sha256(self.code).hexdigest()

    def callee_at(self, offset: int) -> Symbol | None:
        """The innermost function symbol that covers ``offset``."""
        inside = [symbol for symbol in self.symbols if symbol.start <= offset < symbol.start + max(symbol.size, 1)]
        return min(inside, key=lambda symbol: (symbol.size, -symbol.start), default=None)


@dataclass(frozen=True, slots=True)
class LineProgram:
    """The raw ``.debug_line`` with, for each relocated address in it, the section name and offset it stands for."""

    data: bytes
    strings: bytes
    addresses: dict[int, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Cubin:
    """One parsed cubin. ``architecture`` is e.g. 90 for sm_90."""

    sha256: str
    architecture: int
    sections: dict[str, Section]
    lines: LineProgram | None
    elf: bytes


def architecture(flags: int, os_abi: int, abi_version: int) -> int:
    """The SM version in ``e_flags`` of either layout."""
    return (flags >> 8) & 0xFF if os_abi == 0x41 or abi_version >= 8 else flags & 0xFF


def parse(elf: bytes) -> Cubin:
    """The functions and tables of one cubin.

    Raises CubinError when it is no cubin, damaged, or its code is not in 16-byte instructions.
    """
    if len(elf) > _MAXIMUM_BYTES:
        raise CubinError(f"the embedded machine code has {len(elf)} bytes, more than is read")
    try:
        return _parse(elf)
    except (
        ELFError,
        ConstructError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        OverflowError,
    ) as error:
        raise CubinError(f"the embedded machine code is damaged ({type(error).__name__}: {error})") from error
    except (struct.error, AssertionError, MemoryError, RecursionError) as error:
        raise CubinError(f"the embedded machine code is damaged ({type(error).__name__})") from error


def _parse(data: bytes) -> Cubin:
    elf = ELFFile(io.BytesIO(data))
    header = cast("dict[str, Any]", elf.header)
    machine = header["e_machine"]
    if machine not in ("EM_CUDA", EM_CUDA):
        raise CubinError(f"the embedded machine code is for {machine}, not for an NVIDIA GPU")
    arch = architecture(int(header["e_flags"]), data[7], data[8])
    if arch < FIRST_ARCHITECTURE:
        raise CubinError(f"machine code of sm_{arch} is not decoded: Volta (sm_70) is the oldest that is")
    sections = dict[int, Any](enumerate(_sections(elf)))
    names = {index: str(section.name) for index, section in sections.items()}
    symbols = _symbols(sections)
    tables = {names[index]: section for index, section in sections.items()}
    code: dict[str, Section] = {}
    for index, name in names.items():
        if not name.startswith(TEXT) or sections[index]["sh_type"] == "SHT_NOBITS":
            continue
        function = name[len(TEXT) :]
        info = tables.get(f".nv.info.{function}")
        code[function] = Section(
            name=function,
            code=_bytes(sections[index], data),
            symbols=tuple(sorted(symbols.get(index, []), key=lambda symbol: (symbol.start, -symbol.size))),
            branch_targets=_branch_targets(_bytes(info, data)) if info is not None else {},
        )
    return Cubin(
        sha256=hashlib.sha256(data).hexdigest(),
        architecture=arch,
        sections=code,
        lines=_line_program(sections, names, tables, data),
        elf=data,
    )


def _sections(elf: ELFFile) -> list[Any]:
    return list(cast("Any", elf).iter_sections())


def _bytes(section: Any, data: bytes) -> bytes:
    start, size = int(section["sh_offset"]), int(section["sh_size"])
    if start + size > len(data):
        raise CubinError(f"the embedded machine code is cut off inside section {section.name}")
    return data[start : start + size]


def _symbols(sections: dict[int, Any]) -> dict[int, list[Symbol]]:
    found: dict[int, list[Symbol]] = {}
    for section in sections.values():
        if not isinstance(section, SymbolTableSection):
            continue
        for index, symbol in enumerate(cast("Any", section).iter_symbols()):
            if symbol["st_info"]["type"] != "STT_FUNC" or not isinstance(symbol["st_shndx"], int):
                continue
            found.setdefault(symbol["st_shndx"], []).append(
                Symbol(
                    name=str(symbol.name),
                    start=int(symbol["st_value"]),
                    size=int(symbol["st_size"]),
                    is_kernel=symbol["st_info"]["bind"] == "STB_GLOBAL" or not str(symbol.name).startswith("$"),
                    index=index,
                )
            )
    return found


def _branch_targets(info: bytes) -> dict[int, tuple[int, ...]]:
    """Reads the ``.nv.info`` attribute that lists where each indirect branch can go.

    Records are (format, attribute, size or value); that attribute holds, for each branch, its offset, a zero word, a
    count and the targets, all 32-bit.
    """
    targets: dict[int, tuple[int, ...]] = {}
    at = 0
    while at + 4 <= len(info):
        kind, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind != _FORMAT_SIZED:
            continue
        if attribute == _INDIRECT_BRANCH_TARGETS:
            words = struct.unpack(f"<{min(size, len(info) - at) // 4}I", info[at : at + size // 4 * 4])
            place = 0
            while place + 3 <= len(words):
                branch, _, count = words[place : place + 3]
                targets[branch] = tuple(words[place + 3 : place + 3 + count])
                place += 3 + count
        at += size
    return targets


def _line_program(
    sections: dict[int, Any], names: dict[int, str], tables: dict[str, Any], data: bytes
) -> LineProgram | None:
    table = tables.get(".debug_line")
    if table is None or int(table["sh_size"]) == 0 or table["sh_type"] == "SHT_NOBITS":
        return None
    raw = _bytes(table, data)
    strings = tables.get(".debug_str")
    addresses: dict[int, tuple[str, int]] = {}
    for section in sections.values():
        if not isinstance(section, RelocationSection) or section.name not in (".rel.debug_line", ".rela.debug_line"):
            continue
        symbols = sections[int(section["sh_link"])]
        for relocation in cast("Any", section).iter_relocations():
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            place = int(relocation["r_offset"])
            if symbol is None or not isinstance(symbol["st_shndx"], int) or place + 8 > len(raw):
                continue
            addend = relocation["r_addend"] if relocation.is_RELA() else struct.unpack_from("<Q", raw, place)[0]
            addresses[place] = (names.get(symbol["st_shndx"], ""), int(symbol["st_value"]) + int(addend))
    return LineProgram(raw, _bytes(strings, data) if strings is not None else b"", addresses)
