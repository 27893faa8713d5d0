"""The instructions of one kernel as the native reader shows them: SASS text and the line table's first row."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

INSTRUCTION_BYTES = 16
"""Volta and later; older chips are not profiled by the tools whose reports we read."""

MOST_INSTRUCTIONS = 1_000_000
"""Where walking a function stops: far beyond what a compiler emits."""

_ADDRESS = re.compile(r"0x[0-9a-f]{5,}")
_SPACES = re.compile(r"\s+")


class Line(Protocol):
    """What the native reader answers for an address: a file and a 1-based line."""

    def file_name(self) -> str:
        """Path as the line table gives it."""
        ...

    def line(self) -> int:
        """Line in that file, 0 when the table says "none"."""
        ...


class Disassembly(Protocol):
    """The part of a launch that answers for addresses."""

    def sass_by_pc(self, address: int, /) -> str | None:
        """SASS at ``address``; empty or None outside any function, ``N/A`` inside an instruction."""
        ...

    def source_info(self, address: int, /) -> Line | None:
        """File and line of ``address``, None without line information."""
        ...


@dataclass
class Listing:
    """One kernel's instructions by offset from its first one.

    ``sass[offset]`` is its text and ``place[offset]`` its (file, line); empty and None where not asked for or unknown.
    ``module`` is the digest of the cubin it came from. ``sha256`` is of the machine code, or of the SASS with branch
    targets made relative where there is no cubin, so the same code has the same digest wherever it was loaded.
    Functions it calls outside itself are added as samples show them and leave the digest unchanged.
    """

    base: int
    sha256: str = ""
    module: str | None = None
    sass: dict[int, str] = field(default_factory=dict)
    place: dict[int, tuple[str, int] | None] = field(default_factory=dict)

    def add_stray(self, launch: Disassembly, offset: int) -> None:
        """Add the function that holds ``offset``, an address outside the kernel's own code."""
        start = self.base + offset
        for _ in range(MOST_INSTRUCTIONS):
            before = start - INSTRUCTION_BYTES
            if before - self.base in self.sass or not launch.sass_by_pc(before):
                break
            start = before
        self.add(launch, start, _walk(launch, start))
        if offset not in self.sass:
            self.sass[offset], self.place[offset] = "", None

    def add(self, launch: Disassembly, start: int, texts: list[str]) -> None:
        """Add instructions ``texts`` from address ``start`` on, with their lines."""
        end = start + len(texts) * INSTRUCTION_BYTES
        for step, text in enumerate(texts):
            address = start + step * INSTRUCTION_BYTES
            found = launch.source_info(address)
            self.sass[address - self.base] = _relative(text, self.base, start, end)
            self.place[address - self.base] = None if found is None else (found.file_name(), found.line())


def from_cubin(launch: Disassembly, base: int, code: memoryview, *, resolve: bool) -> Listing:
    """The function whose machine code is ``code``, loaded at ``base``; text and lines only if ``resolve``."""
    made = Listing(base, hashlib.sha256(code).hexdigest())
    offsets = range(0, len(code) // INSTRUCTION_BYTES * INSTRUCTION_BYTES, INSTRUCTION_BYTES)
    if resolve:
        made.add(launch, base, [launch.sass_by_pc(base + offset) or "" for offset in offsets])
    else:
        made.sass, made.place = dict.fromkeys(offsets, ""), dict.fromkeys(offsets)
    return made


def from_listing(launch: Disassembly, base: int) -> Listing:
    """The function that starts at ``base``, as far as the native reader shows it."""
    made = Listing(base)
    made.add(launch, base, _walk(launch, base))
    made.sha256 = hashlib.sha256("\n".join(made.sass.values()).encode()).hexdigest()
    return made


def _walk(launch: Disassembly, start: int) -> list[str]:
    """Text of each instruction from ``start`` to where the function ends."""
    texts: list[str] = []
    while len(texts) < MOST_INSTRUCTIONS:
        text = launch.sass_by_pc(start + len(texts) * INSTRUCTION_BYTES)
        if not text:
            break
        texts.append(text)
    return texts


def entry(launch: Disassembly, addresses: Iterable[int]) -> int | None:
    """Address of the kernel's first instruction where the report does not state it.

    It is the lowest of the executed or sampled ``addresses`` in front of which there is no code; None without any.
    """
    known = sorted(addresses)
    for address in known:
        if not launch.sass_by_pc(address - INSTRUCTION_BYTES):
            return address
    if not known:
        return None
    lowest = known[0]  # the first instruction itself was never seen
    while launch.sass_by_pc(lowest - INSTRUCTION_BYTES) not in ("", None, "N/A"):
        lowest -= INSTRUCTION_BYTES
    return lowest


def _relative(text: str, base: int, start: int, end: int) -> str:
    """One instruction in one spacing, absolute branch targets inside its function as offsets from ``base``."""

    def shorten(found: re.Match[str]) -> str:
        address = int(found[0], 16)
        return hex(address - base) if start <= address <= end else found[0]

    return _ADDRESS.sub(shorten, _SPACES.sub(" ", text.strip()))
