"""The outside of a report file: its blocks, the tools that wrote it and the machine code it embeds.

A report is ``NVR\\0``, a file header, then blocks; a block is a header (how many sources and results follow, and parts
of the session's description) and its messages, each after its size (32 bits, little endian). The values inside
results are left to the native reader. What this adds to it: whether the file is whole, which tool wrote it, and which
cubin each kernel was loaded from at which address.
"""

from __future__ import annotations

import hashlib
import mmap
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from optimas_lsp.errors import ReportError
from optimas_lsp.profile.readers.wire import DamagedError, first_int, first_text, message

MAGIC = b"NVR\0"
UNKNOWN = "unknown"
KNOWN_VERSION = 7
"""Version in the file header of ncu 2025.3; the native reader refuses smaller ones."""

_ELF = b"\x7fELF"
_TOOL_VERSION = re.compile(r"\d+(?:\.\d+){1,2}")


@dataclass(eq=False)
class Source:
    """One embedded module: its cubin and the absolute address each of its functions was loaded at.

    A report adds to a module as it meets more of its functions; ``reference`` names it within its process.
    """

    reference: tuple[bytes, int]
    elf: memoryview
    functions: dict[str, int]

    @property
    def sha256(self) -> str:
        """Digest of the cubin's bytes."""
        return hashlib.sha256(self.elf).hexdigest()


@dataclass(frozen=True, slots=True)
class Result:
    """One kernel launch as it lies in the file."""

    data: memoryview
    owner: bytes
    """The process that launched it, as the file describes it."""

    @property
    def process(self) -> str:
        """Name of that process."""
        return first_text(memoryview(self.owner), 3)

    @property
    def mangled(self) -> str:
        """Mangled name of the kernel, empty where the message is damaged; reads only its start."""
        try:
            return first_text(self.data, 5)
        except DamagedError:
            return ""

    @property
    def reference(self) -> tuple[bytes, int] | None:
        """Which :class:`Source` the kernel came from, None where the message is damaged; reads all of it."""
        try:
            return next(((self.owner, first_int(found, 1) or 0) for found in message(self.data, 15)), None)
        except DamagedError:
            return None


@dataclass(frozen=True)
class Container:
    """Everything found in one report file; ``damage`` says where its blocks stop fitting together, None if whole."""

    version: int
    tools: dict[str, str]
    results: tuple[Result, ...]
    sources: tuple[Source, ...]
    damage: str | None = None

    @property
    def ncu_version(self) -> str:
        """Version of the profiler that wrote the report, e.g. ``2025.3.1``; ``unknown`` when it does not say."""
        said = next((text for name, text in self.tools.items() if name.startswith("Nsight Compute")), "")
        found = _TOOL_VERSION.search(said)
        return found[0] if found else UNKNOWN

    @cached_property
    def _loaded(self) -> dict[tuple[str, int], list[Source]]:
        places: dict[tuple[str, int], list[Source]] = {}
        for source in self.sources:
            for place in source.functions.items():
                places.setdefault(place, []).append(source)
        return places

    def module_of(self, mangled: str, address: int | None, index: int | None) -> Source | None:
        """The module that launch ``index`` of kernel ``mangled``, loaded at ``address``, ran; None when unknown.

        Name and address settle it unless a module was unloaded and another loaded in its place; then the reference
        in the result does; ``index`` is None where the results do not lie in the file in launch order.
        """
        places = self._loaded.get((mangled, address), []) if address is not None else []
        if len(places) == 1:
            return places[0]
        if index is not None:
            reference = self.results[index].reference
            return next((source for source in places or self.sources if source.reference == reference), None)
        return None


_TRACE = "a trace of Nsight Systems says nothing about lines; profile with Nsight Compute, and name its report"

OTHER_KINDS = {
    ".nsys-rep": _TRACE,
    ".qdrep": _TRACE,
    ".csv": "ncu's CSV holds no lines; name the report it was made from, or a distilled profile",
}
"""What to do with files that are often taken for a report, by their ending."""


def open_container(path: Path, shown: str | None = None) -> Container:
    """Walk the blocks of the report ``path`` without copying it; what follows the first flaw is left out.

    ``shown`` is the name the user knows it by.

    Raises ReportError when it is not a report at all; OSError.
    """
    with path.open("rb") as file:
        head = file.read(4)
        if head != MAGIC:
            raise ReportError(
                f"is no Nsight Compute report (it starts with {head!r}, not {MAGIC!r})",
                where=shown or path,
                remedy=OTHER_KINDS.get(
                    Path(shown or path).suffix, "name a file that ncu -o NAME wrote, or a distilled profile"
                )
                + " (NAME.ncu-rep or NAME.optimas.json)",
            )
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    walk = _Walk(memoryview(mapped))
    damage = None
    try:
        walk.run()
    except DamagedError as error:
        damage = str(error)
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)  # the headers touched pages all over the file; few of them are needed again
    return Container(walk.version, walk.tools, tuple(walk.results), tuple(walk.sources.values()), damage)


class _Walk:
    """Collects what the blocks hold, as far as they are whole."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = len(MAGIC)
        self.version = 0
        self.tools: dict[str, str] = {}
        self.results: list[Result] = []
        self.sources: dict[tuple[bytes, int], Source] = {}

    def run(self) -> None:
        """Walk to the end of the file; raises DamagedError at the first flaw."""
        self.version = first_int(self._next(), 1) or 0
        while self._at < len(self._data):
            block = self._next()
            owner = next((bytes(found) for found in message(block, 6)), b"")
            for details in message(block, 3):
                self.tools.update((first_text(found, 1), first_text(found, 2)) for found in message(details, 8))
            for _ in range(first_int(block, 1) or 0):
                self._add_source(self._next(), owner)
            for _ in range(first_int(block, 2) or 0):
                self.results.append(Result(self._next(), owner))
            for others in (7, 8, 9, 10):  # ranges, command lists, graphs: nothing in them is ours
                for _ in range(first_int(block, others) or 0):
                    self._next()

    def _add_source(self, body: memoryview, owner: bytes) -> None:
        reference = owner, first_int(body, 1) or 0
        source = self.sources.setdefault(reference, Source(reference, body[:0], {}))
        for elf in message(body, 4):
            if bytes(elf[:4]) == _ELF:
                source.elf = elf
        for table in message(body, 9):
            for entry in message(table, 1):
                source.functions[first_text(entry, 1)] = first_int(entry, 2) or 0

    def _next(self) -> memoryview:
        start, length = self._at + 4, len(self._data)
        if start > length:
            raise DamagedError(f"it ends at byte {length}, inside the size of a block")
        end = start + int(struct.unpack_from("<I", self._data, self._at)[0])
        if end > length:
            raise DamagedError(f"it ends at byte {length}, {end - length} bytes before its last block does")
        self._at = end
        return self._data[start:end]
