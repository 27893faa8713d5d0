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

    ``place[offset]`` is (file, line) or None. ``module`` is the digest of the cubin it came from.
    ``sha256`` is of the kernel's own SASS, branch targets made relative, so the same code has the same digest
    wherever it was loaded. Functions it calls outside itself are added as samples show them and leave it unchanged.
    """

    base: int
    sha256: str = ""
    module: str | None = None
    sass: dict[int, str] = field(default_factory=dict)
    place: dict[int, tuple[str, int] | None] = field(default_factory=dict)

    def add_run(self, launch: Disassembly, address: int) -> int:
        """Add instructions from ``address`` up to where the function ends; returns how many bytes were added."""
        texts: list[str] = []
        for step in range(MOST_INSTRUCTIONS):
            text = launch.sass_by_pc(address + step * INSTRUCTION_BYTES)
            if not text or address + step * INSTRUCTION_BYTES - self.base in self.sass:
                break
            texts.append(text)
        end = address + len(texts) * INSTRUCTION_BYTES
        for step, text in enumerate(texts):
            offset = address - self.base + step * INSTRUCTION_BYTES
            found = launch.source_info(self.base + offset)
            self.sass[offset] = _relative(text, self.base, address, end)
            self.place[offset] = None if found is None else (found.file_name(), found.line())
        return end - address

    def add_stray(self, launch: Disassembly, offset: int) -> None:
        """Add the function that holds ``offset``, an address sampled outside the kernel's own code."""
        start = self.base + offset
        for _ in range(MOST_INSTRUCTIONS):
            if start - INSTRUCTION_BYTES - self.base in self.sass or not launch.sass_by_pc(start - INSTRUCTION_BYTES):
                break
            start -= INSTRUCTION_BYTES
        self.add_run(launch, start)
        if offset not in self.sass:
            self.sass[offset], self.place[offset] = "", None


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


def listing(launch: Disassembly, base: int) -> Listing:
    """The whole function that starts at ``base``."""
    made = Listing(base)
    made.add_run(launch, base)
    made.sha256 = hashlib.sha256("\n".join(made.sass.values()).encode()).hexdigest()
    return made


def _relative(text: str, base: int, start: int, end: int) -> str:
    """One instruction in one spacing, absolute branch targets inside its function as offsets from ``base``."""

    def shorten(found: re.Match[str]) -> str:
        address = int(found[0], 16)
        return hex(address - base) if start <= address <= end else found[0]

    return _ADDRESS.sub(shorten, _SPACES.sub(" ", text.strip()))
