"""What a launch needs to know of each kernel in a cubin: its parameters' layout, registers, shared and local memory.

The facts stand in the ``.nv.info`` sections as records of (format, attribute, size or value); the attribute numbers
below were read from cubins of CUDA 13.0 and compared with what ``ptxas -v`` says. Nothing here trusts its input.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from optimas_lsp.sass.cubin import CubinError

_SIZED = 0x04
_PARAMETER = 0x17
_PARAMETER_BYTES = 0x19
_MAXIMUM_THREADS = 0x05
_FRAME = 0x11
_REGISTERS = 0x2F
_SPILLS = 0x55
"""Lists each instruction that spills or fills a register; toolkits before CUDA 13 do not write it."""

_ENTRY = 0x10
_FUNCTION = 2
_RESERVED = 1024
"""Bytes of shared memory that the system takes of a block since sm_90 and that the section's size includes."""

_FIRST_RESERVING = 90


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel. ``parameters`` are (offset, size) in bytes in order; sizes are bytes.

    ``maximum_threads`` of a block is None without launch bounds; ``spills`` counts instructions, None: none, or a
    toolkit that does not record them.
    """

    name: str
    parameters: tuple[tuple[int, int], ...]
    parameter_bytes: int
    registers: int
    shared: int
    local: int
    maximum_threads: int | None = None
    spills: int | None = None
    code: str = ""
    """SHA-256 of its machine code."""


@dataclass(slots=True)
class _Found:
    parameters: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    values: dict[int, int] = field(default_factory=dict[int, int])


def kernels_of(cubin: bytes) -> dict[str, KernelFacts]:
    """The kernels of a cubin by mangled name; raises CubinError for what is no cubin or damaged."""
    try:
        return _kernels(cubin)
    except (ELFError, ConstructError, struct.error, ValueError, KeyError, IndexError, TypeError) as error:
        raise CubinError(f"the compiled code is damaged ({type(error).__name__}: {error})") from error
    except (AttributeError, AssertionError, OverflowError, MemoryError) as error:
        raise CubinError(f"the compiled code is damaged ({type(error).__name__})") from error


def _kernels(data: bytes) -> dict[str, KernelFacts]:
    elf = ELFFile(io.BytesIO(data))
    header = cast("dict[str, Any]", elf.header)
    if header["e_machine"] not in ("EM_CUDA", 190):
        raise CubinError(f"the compiled code is for {header['e_machine']}, not for an NVIDIA GPU")
    flags = int(header["e_flags"])
    architecture = (flags >> 8) & 0xFF if data[7] == 0x41 or data[8] >= 8 else flags & 0xFF
    sections = {str(each.name): each for each in cast("Any", elf).iter_sections()}
    names = _entries(sections)
    found = {name: _Found() for name in names.values()}
    for attribute, payload in _records(_data(sections.get(".nv.info"))):
        if attribute in {_REGISTERS, _FRAME} and len(payload) >= 8:
            symbol, value = struct.unpack_from("<II", payload)
            if symbol in names:
                found[names[symbol]].values[attribute] = value
    facts: dict[str, KernelFacts] = {}
    for name, one in found.items():
        for attribute, payload in _records(_data(sections.get(f".nv.info.{name}"))):
            if attribute == _PARAMETER and len(payload) >= 12:
                _, ordinal, offset, packed = struct.unpack_from("<IHHI", payload)
                one.parameters[ordinal] = (offset, packed >> 18)
            elif attribute == _MAXIMUM_THREADS and len(payload) >= 12:
                x, y, z = struct.unpack_from("<III", payload)
                one.values[attribute] = x * y * z
            elif attribute == _PARAMETER_BYTES:
                one.values[attribute] = int.from_bytes(payload[:2], "little")
            elif attribute == _SPILLS:
                one.values[attribute] = len(payload) // 8
        shared = sections.get(f".nv.shared.{name}")
        size = 0 if shared is None else int(shared["sh_size"])
        facts[name] = KernelFacts(
            name=name,
            parameters=tuple(one.parameters[at] for at in sorted(one.parameters)),
            parameter_bytes=one.values.get(_PARAMETER_BYTES, 0),
            registers=one.values.get(_REGISTERS, 0),
            shared=max(0, size - _RESERVED) if architecture >= _FIRST_RESERVING else size,
            local=one.values.get(_FRAME, 0),
            maximum_threads=one.values.get(_MAXIMUM_THREADS),
            spills=one.values.get(_SPILLS),
            code=hashlib.sha256(_data(sections.get(f".text.{name}"))).hexdigest(),
        )
    return facts


def _data(section: Any) -> bytes:
    return b"" if section is None else bytes(section.data())


def _entries(sections: dict[str, Any]) -> dict[int, str]:
    """Symbol index and name of each function that a launch can start."""
    table, strings = sections.get(".symtab"), _data(sections.get(".strtab"))
    data = _data(table)
    found: dict[int, str] = {}
    for index in range(len(data) // 24):
        name, info, other, _, _, _ = struct.unpack_from("<IBBHQQ", data, index * 24)
        if info & 0xF == _FUNCTION and other & _ENTRY:
            found[index] = strings[name : strings.index(b"\0", name)].decode("utf-8", "replace")
    return found


def _records(info: bytes) -> Iterator[tuple[int, bytes]]:
    """Attribute and payload of each record; of one that holds only a value, the value's two bytes."""
    at = 0
    while at + 4 <= len(info):
        kind, attribute, size = struct.unpack_from("<BBH", info, at)
        if kind == _SIZED:
            if at + 4 + size > len(info):
                raise CubinError("the compiled code is cut off inside its attributes")
            yield attribute, info[at + 4 : at + 4 + size]
            at += size
        else:
            yield attribute, info[at + 2 : at + 4]
        at += 4
