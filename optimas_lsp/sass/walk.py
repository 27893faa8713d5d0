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


@dataclass(slots=True)
class _Pending:
    mass: float
    distance: float
    live: int


def backwards(
    flow: Flow,
    instructions: Sequence[Instruction],
    start: int,
    visit: Visit,
    *,
    cost: Sequence[float],
    live: int,
    left: int = 0,
    farthest: float = float("inf"),
) -> None:
    """Visit what ran before instruction ``start``, nearest first on each path.

    ``cost`` is what each instruction adds to the distance, in cycles: the distance of an instruction is the time from
    its issue to ``start``, at least its own stall count. ``live`` and ``left`` are the visitor's first state; paths
    longer than ``farthest`` are given up. Every block that can be reached is visited once however rarely it was taken;
    again only with more than ``LEAST_MASS``.
    """
    block = flow.blocks[flow.block_of[start]]
    queue: deque[tuple[int, int, tuple[int, ...], int]] = deque()
    pending: dict[tuple[int, int, tuple[int, ...], int], _Pending] = {}
    seen: set[tuple[int, int, tuple[int, ...], int]] = set()
    states = 0
    first = (block.index, start, (), left)
    pending[first] = _Pending(1.0, 0.0, live)
    queue.append(first)
    while queue and states < MOST_STATES:
        key = queue.popleft()
        here = pending.pop(key)
        states += 1
        index, end, calls, left = key
        live, distance = here.live, here.distance
        state: tuple[int, int] | None = (live, left)
        for at in range(end - 1, flow.blocks[index].first - 1, -1):
            state = visit(at, here.mass, distance + max(1, instructions[at].control.stall), *state)
            distance += cost[at]
            if state is None or distance > farthest:
                state = None
                break
        if state is None:
            continue
        for edge, share, stack in _into(flow, index, calls):
            mass = here.mass * share
            source = (edge.source, flow.blocks[edge.source].end, stack, state[1])
            if mass < LEAST_MASS and source in seen:
                continue
            seen.add(source)
            known = pending.get(source)
            if known is None:
                pending[source] = _Pending(mass, distance, state[0])
                queue.append(source)
            else:
                total = known.mass + mass
                known.distance = (known.distance * known.mass + distance * mass) / total
                known.mass = total
                known.live |= state[0]


def issue_cycles(instructions: Sequence[Instruction]) -> list[float]:
    """The least time each instruction takes: its stall count, at least 1 cycle."""
    return [float(max(1, instruction.control.stall)) for instruction in instructions]


def _into(flow: Flow, index: int, calls: tuple[int, ...]) -> list[tuple[Edge, float, tuple[int, ...]]]:
    """The edges into a block that fit the calls this path came out of, with the part of the mass each gets."""
    edges = flow.before[index]
    total = sum(edge.weight for edge in edges)
    if not edges or total <= 0:
        return [(edge, 1 / len(edges), calls) for edge in edges if edge.kind == "flow"]
    called = [edge for edge in edges if edge.kind == "call"]
    through = sum(edge.weight for edge in called)
    found: list[tuple[Edge, float, tuple[int, ...]]] = []
    for edge in edges:
        if edge.kind == "flow":
            found.append((edge, edge.weight / total, calls))
        elif edge.kind == "return":
            found.append((edge, edge.weight / total, (*calls, edge.call)[-_DEEPEST_CALL:]))
        elif not calls:
            found.append((edge, edge.weight / total, ()))
        elif edge.call == calls[-1]:
            found.append((edge, through / total, calls[:-1]))
    return found
