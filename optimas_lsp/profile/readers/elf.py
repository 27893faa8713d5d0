"""Finds a kernel's machine code in a cubin: just the section headers of a little-endian 64-bit ELF file."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<40xQ10xHHH")
"""Where the section headers start, the size of one, how many there are, and which holds the names."""

_SECTION = struct.Struct("<II16xQQ24x")
"""Name, kind, where the section starts and how long it is."""

_NO_BITS = 8


def code_of(elf: memoryview, function: str) -> memoryview | None:
    """The bytes of section ``.text.<function>``, None where the file has no such section or is damaged."""
    wanted = b".text." + function.encode() + b"\0"
    try:
        header: tuple[int, int, int, int] = _HEADER.unpack_from(elf)
        table, size, count, names_at = header
        if size < _SECTION.size:
            return None
        sections: list[tuple[int, int, int, int]] = [
            _SECTION.unpack_from(elf, table + size * at) for at in range(count)
        ]
        names = sections[names_at][2]
    except (struct.error, IndexError, OverflowError):  # an offset past what the machine addresses
        return None
    for name, kind, start, length in sections:
        at = names + name
        if kind != _NO_BITS and bytes(elf[at : at + len(wanted)]) == wanted and 0 < start + length <= len(elf):
            return elf[start : start + length]
    return None
