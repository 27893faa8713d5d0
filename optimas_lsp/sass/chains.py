"""The chain of source places of each instruction, from the innermost line out to the kernel.

Three cases need more than the line table: a device function that was not inlined gets, behind its own places, those of
its only caller; code without lines of its own (the compiler's division and square-root routines) takes the chain of
the call that reached it most, if one stands out; and files are named as the report names them where it knows them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from optimas_lsp.profile.model import Frame, SourceFile
from optimas_lsp.sass.cubin import INSTRUCTION_BYTES, Symbol
from optimas_lsp.sass.flow import Flow
from optimas_lsp.sass.lines import Chain, LineTable
from optimas_lsp.sass.names import plain
from optimas_lsp.sass.pairing import Machine

_DEEPEST = 64
_MOSTLY = 0.5
"""Code without lines is given to the call that reached it at least this often, of all its calls."""


class FileNames:
    """The profile's files, with those the line tables add behind them."""

    def __init__(self, known: Sequence[SourceFile]) -> None:
        self.files: list[SourceFile] = list(known)
        self._index: dict[str, int] = {}
        for index, file in enumerate(known):
            self._index.setdefault(file.path, index)
            self._index.setdefault(_normal(file.path), index)

    def index(self, path: str) -> int:
        """The place of ``path`` among the files; -1 for no name."""
        if not path:
            return -1
        found = self._index.get(path, self._index.get(_normal(path)))
        if found is None:
            found = len(self.files)
            self.files.append(SourceFile(path=path))
            self._index[path] = found
        return found


def _normal(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


class Chains:
    """Chains of one function's instructions; ``own`` says which instructions have line rows of their own."""

    def __init__(self, machine: Machine, table: LineTable, flow: Flow, names: FileNames, kernel_name: str) -> None:
        self.machine = machine
        self.table = table
        self.flow = flow
        self.names = names
        self.kernel_name = kernel_name
        self._made: dict[tuple[Chain, int], tuple[Frame, ...]] = {}
        self._callers: dict[str, tuple[int | None, bool]] = {}
        self._with_lines: dict[str, bool] = {}

    def at(self, instruction: int) -> tuple[Frame, ...]:
        """The chain of section instruction ``instruction``; empty where nothing is known."""
        frames: list[Frame] = []
        at: int | None = instruction
        for _ in range(_DEEPEST):
            if at is None:
                break
            offset = at * INSTRUCTION_BYTES
            callee = self._callee(offset)
            if callee is None:
                frames += self._frames(self.table.at(offset), self.kernel_name)
                break
            caller, only = self._caller(callee)
            if self._has_lines(callee) or caller is None:
                frames += self._frames(self.table.at(offset), plain(callee.name))
                if not only:
                    break
            at = caller
        return tuple(frames)

    def _callee(self, offset: int) -> Symbol | None:
        symbol = self.machine.section.callee_at(offset)
        return symbol if symbol is not None and symbol.name != self.machine.section.name else None

    def _has_lines(self, symbol: Symbol) -> bool:
        if symbol.name not in self._with_lines:
            end = symbol.start + symbol.size
            self._with_lines[symbol.name] = any(symbol.start <= start < end for start in self.table.starts)
        return self._with_lines[symbol.name]

    def _caller(self, symbol: Symbol) -> tuple[int | None, bool]:
        """The call instruction that reached ``symbol`` most often, if one stands out, and whether it is the only."""
        if symbol.name not in self._callers:
            block = self.flow.block_of[symbol.start // INSTRUCTION_BYTES]
            sites = self.flow.callers.get(self.flow.blocks[block].function, ())
            total = sum(self.flow.frequency[site] for site in sites)
            best = max(sites, key=lambda site: self.flow.frequency[site], default=None)
            if best is None or (len(sites) > 1 and self.flow.frequency[best] < _MOSTLY * total):
                self._callers[symbol.name] = (None, False)
            else:
                self._callers[symbol.name] = (self.flow.blocks[best].end - 1, len(sites) == 1)
        return self._callers[symbol.name]

    def _frames(self, chain: Chain, outermost: str) -> tuple[Frame, ...]:
        return tuple(
            Frame(
                file=self.names.index(place.file),
                line=place.line,
                function=plain(place.function) if place.function else outermost if k == len(chain) - 1 else None,
            )
            for k, place in enumerate(chain)
        )
