"""Which source line each instruction comes from, with every call site it was inlined through.

NVIDIA's compilers write a DWARF 2 line program with two extra extended opcodes: 0x90 says the rows that follow were
inlined (operands: the row of the call site, counted from 1 within the sequence, 0 for "not inlined", and the offset of
the inlined function's name in ``.debug_str``), 0x91 names the function a sequence is about. Reading the program itself
gives what the disassembler's printout leaves out: changes of the call site alone.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from optimas_lsp.sass.cubin import TEXT, CubinError, LineProgram

_INLINED_CALL = 0x90
_FUNCTION_NAME = 0x91
_DEEPEST = 256
_MOST_ROWS = 5_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """One step of a chain: file path as the compiler wrote it, 1-based line, and the function it lies in if known."""

    file: str
    line: int
    function: str | None


Chain = tuple[Place, ...]
"""Innermost place first, the kernel's own last; its ``function`` is None where the table does not name it."""


@dataclass(frozen=True, slots=True)
class LineTable:
    """Rows of one code section: ``starts`` ascending byte offsets, ``chains[k]`` valid from ``starts[k]`` on."""

    starts: tuple[int, ...]
    chains: tuple[Chain, ...]

    def at(self, offset: int) -> Chain:
        """The chain of the instruction at ``offset``; empty where the table says nothing."""
        index = bisect.bisect_right(self.starts, offset) - 1
        return self.chains[index] if index >= 0 else ()


@dataclass(slots=True)
class _Row:
    address: int
    file: int
    line: int
    context: int
    function: int


@dataclass(slots=True)
class _Sequence:
    section: str = ""
    rows: list[_Row] = field(default_factory=list["_Row"])
    end: int = 0


class _Bytes:
    """A cursor over the line program; running off the end raises CubinError."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, min(end, len(data))

    def take(self, size: int) -> int:
        if self.at + size > self.end:
            raise CubinError("the line table is cut off")
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 70:
                return value

    def sleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 70:
                return value - (1 << shift) if byte & 0x40 else value

    def text(self) -> str:
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise CubinError("the line table is cut off")
        raw, self.at = self.data[self.at : stop], stop + 1
        return raw.decode("utf-8", "replace")


def read(program: LineProgram) -> dict[str, LineTable]:
    """Line tables by function (section name without ``.text.``).

    Raises CubinError when the program is damaged or of a DWARF version these compilers do not write.
    """
    tables: dict[str, list[tuple[int, Chain]]] = {}
    at = 0
    while at + 4 < len(program.data):
        start = at
        length = int.from_bytes(program.data[at : at + 4], "little")
        if length >= 0xFFFFFFF0:
            raise CubinError("the line table uses 64-bit DWARF, which is not read")
        end = at + 4 + length
        if end > len(program.data):
            raise CubinError("the line table is cut off")
        files, sequences = _unit(program, start, end)
        for sequence in sequences:
            tables.setdefault(sequence.section, []).extend(_chains(sequence, files, program.strings))
        at = end
    return {name: _table(rows) for name, rows in tables.items()}


def _table(rows: list[tuple[int, Chain]]) -> LineTable:
    """Of several rows at one address the last counts: the others cover no instruction and only serve as call sites."""
    rows.sort(key=lambda row: row[0])
    starts: list[int] = []
    chains: list[Chain] = []
    for address, chain in rows:
        if starts and starts[-1] == address:
            chains[-1] = chain
        else:
            starts.append(address)
            chains.append(chain)
    return LineTable(tuple(starts), tuple(chains))


@dataclass(frozen=True, slots=True)
class _Header:
    minimum: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: tuple[int, ...]


def _unit(program: LineProgram, start: int, end: int) -> tuple[list[str], list[_Sequence]]:
    cursor = _Bytes(program.data, start + 4, end)
    version = cursor.take(2)
    if version not in (2, 3, 4):
        raise CubinError(f"the line table is DWARF {version}, which is not read")
    header_length = cursor.take(4)
    body = cursor.at + header_length
    minimum = cursor.take(1)
    if version >= 4:
        cursor.take(1)
    cursor.take(1)
    line_base = cursor.take(1)
    line_base -= 256 if line_base > 127 else 0
    line_range = cursor.take(1)
    if line_range == 0:
        raise CubinError("the line table is damaged (its line range is 0)")
    opcode_base = cursor.take(1)
    lengths = tuple(cursor.take(1) for _ in range(opcode_base - 1))
    folders = [""]
    while folder := cursor.text():
        folders.append(folder)
    files = [""]
    while name := cursor.text():
        index = cursor.uleb()
        cursor.uleb()
        cursor.uleb()
        folder = folders[index] if index < len(folders) else ""
        files.append(str(PurePosixPath(folder) / name) if folder and not _is_absolute(name) else name)
    cursor.at = body
    return files, _run(program, cursor, _Header(minimum, line_base, line_range, opcode_base, lengths))


def _is_absolute(name: str) -> bool:
    return name.startswith(("/", "\\")) or name[1:3] in (":\\", ":/")


def _run(  # noqa: C901, PLR0912 (one branch an opcode: the line program's own shape)
    program: LineProgram, cursor: _Bytes, header: _Header
) -> list[_Sequence]:
    done: list[_Sequence] = []
    sequence = _Sequence()
    address, file, line, context, function = 0, 1, 1, 0, 0
    rows = 0
    while cursor.at < cursor.end:
        opcode = cursor.take(1)
        emit = False
        if opcode >= header.opcode_base:
            step = opcode - header.opcode_base
            address += step // header.line_range * header.minimum
            line += header.line_base + step % header.line_range
            emit = True
        elif opcode == 0:
            size = cursor.uleb()
            stop = cursor.at + size
            kind = cursor.take(1) if size else 0
            if kind == 1:
                sequence.end = address
                done.append(sequence)
                sequence = _Sequence()
                address, file, line, context, function = 0, 1, 1, 0, 0
            elif kind == 2:
                place = cursor.at
                address = cursor.take(size - 1)
                section, address = program.addresses.get(place, ("", address))
                sequence.section = section.removeprefix(TEXT)
            elif kind == _INLINED_CALL:
                context, function = cursor.uleb(), cursor.uleb()
            cursor.at = stop
        elif opcode == 1:
            emit = True
        elif opcode == 2:
            address += cursor.uleb() * header.minimum
        elif opcode == 3:
            line += cursor.sleb()
        elif opcode == 4:
            file = cursor.uleb()
        elif opcode == 8:
            address += (255 - header.opcode_base) // header.line_range * header.minimum
        elif opcode == 9:
            address += cursor.take(2)
        else:
            for _ in range(header.lengths[opcode - 1]):
                cursor.uleb()
        if emit:
            rows += 1
            if rows > _MOST_ROWS:
                raise CubinError("the line table has more rows than are read")
            sequence.rows.append(_Row(address, file, line, context, function))
    return done


def _chains(sequence: _Sequence, files: list[str], strings: bytes) -> list[tuple[int, Chain]]:
    names: dict[int, str | None] = {}
    known: dict[tuple[int, int, int, int], Chain] = {}
    rows = sequence.rows

    def name(offset: int) -> str | None:
        if offset not in names:
            stop = strings.find(b"\0", offset)
            raw = strings[offset : stop if stop >= 0 else len(strings)] if 0 <= offset < len(strings) else b""
            names[offset] = raw.decode("utf-8", "replace") or None
        return names[offset]

    def chain(row: _Row) -> Chain:
        key = (row.file, row.line, row.context, row.function)
        if key in known:
            return known[key]
        places: list[Place] = []
        step: _Row | None = row
        while step is not None and len(places) < _DEEPEST:
            path = files[step.file] if 0 < step.file < len(files) else ""
            inlined = 0 < step.context <= len(rows)
            places.append(Place(path, step.line, name(step.function) if inlined else None))
            step = rows[step.context - 1] if inlined else None
        known[key] = tuple(places)
        return known[key]

    return [(row.address, chain(row)) for row in rows]
