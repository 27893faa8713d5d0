"""Walking backwards from a waiting instruction over every path warps may have taken, weighted by how often they did.

A walk starts with mass 1 in front of the waiting instruction. At a block's start the mass divides over the edges into
it by how often each was taken, so what reaches an instruction is the probability that the warp came through it. The
visitor decides at each instruction whether this path goes on. Calls are followed into the callee and out at the call
they came from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optimas_lsp.sass.decode import Instruction
from optimas_lsp.sass.flow import Edge, Flow

MOST_STATES = 600
"""Blocks looked at in one walk, counting repeats; the mass left then is too thin to matter."""

LEAST_MASS = 1e-3
"""Below this probability a block is not visited again."""

_DEEPEST_CALL = 6

Visit = Callable[[int, float, float, int, int], tuple[int, int] | None]
"""``visit(instruction, mass, distance, live, left)``: the registers still of interest and a counter of the visitor's
own on this path; the answer is the two for the instructions before, or None where the path ends."""

Quiet = Callable[[int], tuple[float, int] | None]
"""``quiet(block)``: (its cost in cycles, the registers it surely overwrites) if nothing in it needs a visit."""

_Calls = tuple[int, ...]
_State = tuple[int, int, _Calls, int]


@dataclass(slots=True)
class _Pending:
    mass: float
    distance: float
    live: int


class Walker:
    """Walks one function. ``cost`` is what each instruction adds to the distance, in cycles."""

    def __init__(self, flow: Flow, instructions: Sequence[Instruction], most_states: int = MOST_STATES) -> None:
        self.flow = flow
        self.instructions = instructions
        self.issue = issue_cycles(instructions)
        self._most_states = most_states
        self._into: dict[tuple[int, int], list[tuple[Edge, float]]] = {}

    def backwards(
        self,
        start: int,
        visit: Visit,
        *,
        cost: Sequence[float],
        live: int,
        left: int = 0,
        farthest: float = float("inf"),
        quiet: Quiet | None = None,
    ) -> None:
        """Visit what ran before instruction ``start``, nearest first on each path.

        The distance of an instruction is the time from its issue to ``start``, at least its own stall count. ``live``
        and ``left`` are the visitor's first state; paths longer than ``farthest`` are given up. Every block that can be
        reached is visited once however rarely it was taken; again only with more than ``LEAST_MASS``.
        """
        blocks = self.flow.blocks
        first: _State = (self.flow.block_of[start], start, (), left)
        pending: dict[_State, _Pending] = {first: _Pending(1.0, 0.0, live)}
        queue: deque[_State] = deque((first,))
        seen: set[_State] = set()
        states = 0
        while queue and states < self._most_states:
            key = queue.popleft()
            here = pending.pop(key)
            states += 1
            index, end, calls, left = key
            skipped = quiet(index) if quiet is not None and end == blocks[index].end else None
            if skipped is not None:
                distance, live = here.distance + skipped[0], here.live & ~skipped[1]
                if distance > farthest:
                    continue
            else:
                found = self._scan(key, here, visit, cost, farthest)
                if found is None:
                    continue
                distance, live, left = found
            for edge, share, stack in self._before(index, calls):
                mass = here.mass * share
                source = (edge.source, blocks[edge.source].end, stack, left)
                if mass < LEAST_MASS and source in seen:
                    continue
                seen.add(source)
                known = pending.get(source)
                if known is None:
                    pending[source] = _Pending(mass, distance, live)
                    queue.append(source)
                else:
                    total = known.mass + mass
                    known.distance = (known.distance * known.mass + distance * mass) / total
                    known.mass = total
                    known.live |= live

    def _scan(
        self, key: _State, here: _Pending, visit: Visit, cost: Sequence[float], farthest: float
    ) -> tuple[float, int, int] | None:
        """Visit one block from its end; (distance, live, left) at its start, or None where the path ends in it."""
        index, end, _, left = key
        distance, live, mass = here.distance, here.live, here.mass
        for at in range(end - 1, self.flow.blocks[index].first - 1, -1):
            state = visit(at, mass, distance + self.issue[at], live, left)
            distance += cost[at]
            if state is None or distance > farthest:
                return None
            live, left = state
        return distance, live, left

    def _before(self, index: int, calls: _Calls) -> list[tuple[Edge, float, _Calls]]:
        """The edges into a block that fit the calls this path came out of, with the part of the mass each gets."""
        found: list[tuple[Edge, float, _Calls]] = []
        for edge, share in self._shares(index, calls[-1] if calls else -1):
            if edge.kind == "return":
                found.append((edge, share, (*calls, edge.call)[-_DEEPEST_CALL:]))
            elif edge.kind == "call":
                found.append((edge, share, calls[:-1]))
            else:
                found.append((edge, share, calls))
        return found

    def _shares(self, index: int, call: int) -> list[tuple[Edge, float]]:
        """Edges into a block by their part of the mass; of those from callers only ``call``'s, if it is not -1."""
        known = self._into.get((index, call))
        if known is None:
            known = self._into[index, call] = _divide(self.flow.before[index], call)
        return known


def _divide(edges: Sequence[Edge], call: int) -> list[tuple[Edge, float]]:
    total = sum(edge.weight for edge in edges)
    if not edges or total <= 0:
        return [(edge, 1 / len(edges)) for edge in edges if edge.kind == "flow"]
    through = sum(edge.weight for edge in edges if edge.kind == "call")
    found: list[tuple[Edge, float]] = []
    for edge in edges:
        if edge.kind != "call" or call < 0:
            found.append((edge, edge.weight / total))
        elif edge.call == call:
            found.append((edge, through / total))
    return found


def issue_cycles(instructions: Sequence[Instruction]) -> list[float]:
    """The least time each instruction takes: its stall count, at least 1 cycle."""
    return [float(max(1, instruction.control.stall)) for instruction in instructions]
