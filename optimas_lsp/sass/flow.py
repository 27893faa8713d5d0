"""The control flow of one code section: basic blocks, edges with how often they were taken, calls, returns and loops.

Blocks and edges cover a kernel together with its local functions. A call has an edge to its callee and the block after
it is entered from the callee's returns, so that a walk backwards passes through the callee as the warp did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.sass import frequency, loops
from optimas_lsp.sass.cubin import Section
from optimas_lsp.sass.decode import Instruction

EdgeKind = Literal["flow", "call", "return"]

_ENDS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "EXIT", "RET", "CALL", "KILL", "RTT"})
_STATIC_TRIPS = 10.0
"""Trips assumed for each loop level where nothing was counted."""

_Jump = tuple[list[int], bool, bool]
"""Where a block's last instruction can go, whether those are all its targets, and whether it can fall through."""


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions ``first`` up to but not including ``end``, in function number ``function``."""

    index: int
    first: int
    end: int
    function: int


@dataclass(frozen=True, slots=True)
class Edge:
    """How control came from block ``source``. ``call`` is the calling block for calls and returns, else -1."""

    source: int
    kind: EdgeKind
    weight: float
    call: int = -1


@dataclass(frozen=True, slots=True)
class Flow:
    """The graph of one section. ``before[b]`` are the edges into block b; ``block_of[i]`` the block of instruction i.

    ``frequency[b]`` is how often warps executed the block (estimated from loop depth when nothing was counted);
    ``depth[b]`` is the number of loops around it within its function. ``callers`` maps a function's number to the
    blocks that call it. ``entries`` holds each function's first instruction. ``complete`` is False where an indirect
    branch or call could not be followed.
    """

    blocks: tuple[Block, ...]
    block_of: tuple[int, ...]
    before: tuple[tuple[Edge, ...], ...]
    after: tuple[tuple[int, ...], ...]
    frequency: tuple[float, ...]
    depth: tuple[int, ...]
    loops: tuple[loops.Loop, ...]
    callers: dict[int, tuple[int, ...]]
    entries: tuple[int, ...]
    complete: bool


def build(instructions: Sequence[Instruction], section: Section, executed: Sequence[int] | None) -> Flow:
    """The control flow of ``section``, whose decoded ``instructions`` these are.

    ``executed`` are warp-level execution counts by instruction, None where they were not collected.
    """
    shape = _Shape(instructions, section)
    after = [list(dict.fromkeys(targets)) for targets in shape.after]
    forward = [list(targets) for targets in after]
    for sites in shape.called.values():
        for site in sites:
            if (following := shape.following(site)) is not None:
                forward[site].append(following)
    found = loops.find(forward, [shape.block_of[entry] for entry in shape.entries])
    depth = [0] * len(shape.blocks)
    for loop in found:
        for member in loop.body:
            depth[member] += 1
    if executed and any(executed):
        counts = [float(max(executed[block.first : block.end])) for block in shape.blocks]
        weights = frequency.counted(after, counts)
    else:
        counts = [_STATIC_TRIPS ** min(level, 8) for level in depth]
        weights = frequency.guessed(after, counts)
    before: list[list[Edge]] = [[] for _ in shape.blocks]
    for (source, target), weight in weights.items():
        before[target].append(Edge(source, "flow", weight))
    _calls(shape, counts, before)
    return Flow(
        blocks=tuple(shape.blocks),
        block_of=tuple(shape.block_of),
        before=tuple(tuple(edges) for edges in before),
        after=tuple(tuple(targets) for targets in after),
        frequency=tuple(counts),
        depth=tuple(depth),
        loops=found,
        callers={function: tuple(sites) for function, sites in shape.called.items()},
        entries=tuple(shape.entries),
        complete=shape.complete,
    )


def _calls(shape: _Shape, counts: Sequence[float], before: list[list[Edge]]) -> None:
    """Edges from each call into its callee, and from the callee's returns to behind the call."""
    for function, sites in shape.called.items():
        entry = shape.block_of[shape.entries[function]]
        ends = shape.returns.get(function, [])
        total = sum(counts[end] for end in ends)
        for site in sites:
            before[entry].append(Edge(site, "call", counts[site], site))
            following = shape.following(site)
            if following is not None:
                before[following] += [
                    Edge(end, "return", counts[site] * (counts[end] / total if total else 1 / len(ends)), site)
                    for end in ends
                ]


class _Shape:
    """Blocks, and who can follow whom, before anything is counted."""

    def __init__(self, instructions: Sequence[Instruction], section: Section) -> None:
        self.count = len(instructions)
        place = {instruction.offset: instruction.index for instruction in instructions}
        names = {symbol.name: symbol.start for symbol in section.symbols}
        calls = {i.index: _callee(i, place, names) for i in instructions if i.base == "CALL"}
        jumps = {i.index: _jumps(i, place, section.branch_targets) for i in instructions if i.base in _ENDS - {"CALL"}}
        self.entries = _entries(place, section, calls)
        leaders = (
            {0, *self.entries} | {end + 1 for end in (*jumps, *calls)} | {t for ts in jumps.values() for t in ts[0]}
        )
        firsts = sorted(leader for leader in leaders if 0 <= leader < self.count)
        self.numbers = _numbers(self.entries, section, instructions)
        ends = [*firsts[1:], self.count]
        self.blocks = [Block(k, f, e, self.numbers[f]) for k, (f, e) in enumerate(zip(firsts, ends, strict=True))]
        self.block_of = [block.index for block in self.blocks for _ in range(block.first, block.end)]
        self.after: list[list[int]] = [[] for _ in self.blocks]
        self.called: dict[int, list[int]] = {}
        self.returns: dict[int, list[int]] = {}
        self.complete = True
        for block in self.blocks:
            self._connect(block, instructions[block.end - 1], calls, jumps)

    def following(self, block: int) -> int | None:
        """The block right behind ``block``; None at the section's end."""
        end = self.blocks[block].end
        return self.block_of[end] if end < self.count else None

    def _connect(self, block: Block, last: Instruction, calls: dict[int, int | None], jumps: dict[int, _Jump]) -> None:
        falls = True
        if last.base == "CALL":
            target = calls[last.index]
            falls = target is None or last.conditional
            if target is None:
                self.complete = False
            else:
                self.called.setdefault(self.numbers[target], []).append(block.index)
        elif last.base in _ENDS:
            targets, known, falls = jumps[last.index]
            self.complete = self.complete and known
            self.after[block.index] += [self.block_of[target] for target in targets]
            if last.base == "RET":
                self.returns.setdefault(block.function, []).append(block.index)
        following = self.following(block.index)
        if falls and following is not None:
            self.after[block.index].append(following)


def _callee(instruction: Instruction, place: dict[int, int], names: dict[str, int]) -> int | None:
    """The instruction a call goes to; None when it is outside the section or computed."""
    if instruction.calls is not None:
        return place.get(names.get(instruction.calls, -1))
    return place.get(instruction.target) if instruction.target is not None else None


def _entries(place: dict[int, int], section: Section, calls: dict[int, int | None]) -> list[int]:
    starts = {0} | {target for target in calls.values() if target is not None}
    starts |= {place[symbol.start] for symbol in section.symbols if symbol.start in place}
    return sorted(starts)


def _numbers(entries: list[int], section: Section, instructions: Sequence[Instruction]) -> list[int]:
    """The function number of each instruction: the symbol that covers it, else the last entry before it."""
    numbers: list[int] = []
    current = -1
    starts = set(entries)
    index = {instructions[entry].offset: number for number, entry in enumerate(entries)}
    covered = [(s.start, s.start + s.size, index[s.start]) for s in section.symbols if s.start in index and s.size]
    covered.sort(key=lambda item: item[1] - item[0])
    for instruction in instructions:
        if instruction.index in starts:
            current += 1
        number = current
        if covered and instruction.index not in starts:
            number = next((n for start, end, n in covered if start <= instruction.offset < end), current)
        numbers.append(number)
    return numbers


def _jumps(instruction: Instruction, place: dict[int, int], tables: dict[int, tuple[int, ...]]) -> _Jump:
    if instruction.base in ("EXIT", "RET", "KILL", "RTT"):
        return [], True, instruction.conditional
    if instruction.target is not None:
        target = place.get(instruction.target)
        return ([target] if target is not None else []), target is not None, instruction.conditional
    listed = [place[offset] for offset in tables.get(instruction.offset, ()) if offset in place]
    return listed, bool(listed), instruction.conditional
