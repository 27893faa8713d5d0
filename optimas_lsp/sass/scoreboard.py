"""Who set the barriers a scoreboard stall waits for, on which paths, and what the waiting instruction wants from it.

A producer of variable latency sets one of six barriers; the consumer's wait mask names those it needs. A barrier
counts: the consumer goes on when *every* producer that set it is done. So the candidates are all setters that reach the
consumer without a wait on the same barrier in between. The write barrier guards the result (read after write), the
read barrier the operands (write after read: the store must have read its register before it is overwritten).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.sass.decode import BARRIERS, Instruction, extra_waits
from optimas_lsp.sass.flow import Block
from optimas_lsp.sass.walk import Walker

NEVER = ("@!PT", "@!UPT")


@dataclass(slots=True)
class Candidate:
    """One setter that may have been waited for.

    ``mass`` is the probability that the path to the consumer came through it, ``distance`` the mass-weighted cycles
    between, ``reads`` whether the consumer needs its result (or, for ``war``, overwrites its operand).
    """

    producer: int
    kind: Literal["raw", "war"]
    mass: float
    distance: float
    reads: bool


class Setters:
    """Which instructions set which barrier, with in-order producers that rely on a later one's barrier filled in."""

    def __init__(self, walker: Walker, cost: Sequence[float]) -> None:
        """``cost`` is the measured time at each instruction, in cycles."""
        self.walker = walker
        self.cost = cost
        self.instructions = instructions = walker.instructions
        self.flow = walker.flow
        self.writes: list[int | None] = [i.control.write for i in instructions]
        self.reads: list[int | None] = [i.control.read for i in instructions]
        self.waits: list[int] = [_waits(i) for i in instructions]
        self._cover()
        self._busy = [self._touched(block) for block in self.flow.blocks]
        self._block_cost = [sum(cost[block.first : block.end]) for block in self.flow.blocks]
        self._overwrites = [_overwritten(instructions[block.first : block.end]) for block in self.flow.blocks]

    def _touched(self, block: Block) -> int:
        """The mask of barriers that something in ``block`` sets or waits on."""
        mask = 0
        for at in range(block.first, block.end):
            mask |= self.waits[at]
            for barrier in (self.writes[at], self.reads[at]):
                if barrier is not None:
                    mask |= 1 << barrier
        return mask

    def _cover(self) -> None:
        """Some producers set no barrier: a unit answers equal requests in order, so a later one's barrier covers them.

        Seen for shared loads, texture reads and conversions.
        """
        for block in self.flow.blocks:
            covering: dict[str, int] = {}
            for at in range(block.end - 1, block.first - 1, -1):
                instruction = self.instructions[at]
                meaning = instruction.semantics
                if (
                    instruction.unit not in ("mio", "l1tex")
                    or not instruction.effects.writes
                    or meaning.space == "global"
                ):
                    continue
                kind = meaning.space if meaning.access == "load" and meaning.space else instruction.base
                barrier = self.writes[at]
                if barrier is not None:
                    covering[kind] = barrier
                elif instruction.effects.writes and instruction.guard not in NEVER:
                    self.writes[at] = covering.get(kind)

    def awaited(self, consumer: int) -> list[tuple[int, int]]:
        """(barrier, how many younger setters may stay outstanding) for each barrier ``consumer`` waits on."""
        instruction = self.instructions[consumer]
        mask = instruction.control.wait | extra_waits(instruction)
        found = [(barrier, 0) for barrier in range(BARRIERS) if mask >> barrier & 1]
        if instruction.partial is not None:
            found.append(instruction.partial)
        return found

    def reaching(self, consumer: int) -> list[Candidate]:
        """Every setter of an awaited barrier that reaches ``consumer``."""
        found: dict[tuple[int, str], Candidate] = {}
        for barrier, younger in self.awaited(consumer):
            if self.instructions[consumer].partial == (barrier, younger):
                self._groups(consumer, barrier, younger, found)
            else:
                self._walk(consumer, barrier, found)
        return list(found.values())

    def _walk(self, consumer: int, barrier: int, found: dict[tuple[int, str], Candidate]) -> None:
        wanted = self.instructions[consumer].effects
        overwritten = wanted.writes

        def visit(at: int, mass: float, distance: float, live: int, left: int) -> tuple[int, int] | None:
            effects = self.instructions[at].effects
            if self.writes[at] == barrier:
                _add(found, at, "raw", mass, distance, reads=bool(effects.writes & (live | overwritten)))
            elif self.reads[at] == barrier:
                _add(found, at, "war", mass, distance, reads=bool(effects.reads & overwritten))
            if self.waits[at] >> barrier & 1:
                return None
            return live & ~effects.writes if self.instructions[at].guard is None else live, left

        def quiet(block: int) -> tuple[float, int] | None:
            if self._busy[block] >> barrier & 1:
                return None
            return self._block_cost[block], self._overwrites[block]

        self.walker.backwards(consumer, visit, cost=self.cost, live=wanted.reads, quiet=quiet)

    def _groups(self, consumer: int, barrier: int, younger: int, found: dict[tuple[int, str], Candidate]) -> None:
        """``DEPBAR.LE SBn, k``: all but the k youngest groups must be done; the youngest of those is waited for.

        An ``LDGDEPBAR`` closes a group of ``LDGSTS`` copies: they are the cause, not the instruction that counts them.
        """
        copies = -1

        def visit(at: int, mass: float, distance: float, live: int, left: int) -> tuple[int, int] | None:
            instruction = self.instructions[at]
            if left == copies:
                if instruction.base == "LDGSTS":
                    _add(found, at, "raw", mass, distance, reads=True)
                return None if instruction.base == "LDGDEPBAR" else (live, copies)
            if self.writes[at] != barrier or instruction.guard in NEVER:
                return (live, left)
            if left > 0:
                return (live, left - 1)
            if instruction.base == "LDGDEPBAR":
                return (live, copies)
            _add(found, at, "raw", mass, distance, reads=True)
            return None

        self.walker.backwards(consumer, visit, cost=self.cost, live=0, left=younger)


def _overwritten(instructions: Sequence[Instruction]) -> int:
    found = 0
    for instruction in instructions:
        if instruction.guard is None:
            found |= instruction.effects.writes
    return found


def _waits(instruction: Instruction) -> int:
    mask = instruction.control.wait | extra_waits(instruction)
    if instruction.partial is not None and instruction.partial[1] == 0:
        mask |= 1 << instruction.partial[0]
    return mask


def _add(
    found: dict[tuple[int, str], Candidate],
    producer: int,
    kind: Literal["raw", "war"],
    mass: float,
    distance: float,
    *,
    reads: bool,
) -> None:
    known = found.get((producer, kind))
    if known is None:
        found[producer, kind] = Candidate(producer, kind, mass, distance, reads)
        return
    total = known.mass + mass
    known.distance = (known.distance * known.mass + distance * mass) / total
    known.mass = total
    known.reads = known.reads or reads
