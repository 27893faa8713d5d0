"""Natural loops of a control-flow graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loop:
    """One natural loop: its first block and all its blocks."""

    head: int
    body: frozenset[int]


def find(forward: Sequence[Sequence[int]], entries: Sequence[int]) -> tuple[Loop, ...]:
    """The loops of the graph ``forward``, outer ones first.

    A back edge is one to a node on the current path of a depth-first search from ``entries``; the loop's body is what
    reaches the edge's source without passing its target.
    """
    backward: list[list[int]] = [[] for _ in forward]
    for source, targets in enumerate(forward):
        for target in targets:
            backward[target].append(source)
    bodies: dict[int, set[int]] = {}
    for head, latch in _back_edges(forward, entries):
        bodies.setdefault(head, {head}).update(_body(head, latch, backward))
    return tuple(Loop(head, frozenset(body)) for head, body in sorted(bodies.items(), key=lambda item: -len(item[1])))


def _back_edges(forward: Sequence[Sequence[int]], entries: Sequence[int]) -> list[tuple[int, int]]:
    unseen, open_, done = 0, 1, 2
    state = [unseen] * len(forward)
    found: list[tuple[int, int]] = []
    for entry in entries:
        if state[entry] != unseen:
            continue
        state[entry] = open_
        stack = [(entry, iter(forward[entry]))]
        while stack:
            node, successors = stack[-1]
            following = next(successors, None)
            if following is None:
                state[node] = done
                stack.pop()
            elif state[following] == open_:
                found.append((following, node))
            elif state[following] == unseen:
                state[following] = open_
                stack.append((following, iter(forward[following])))
    return found


def _body(head: int, latch: int, backward: Sequence[Sequence[int]]) -> set[int]:
    body, todo = {head}, [latch]
    while todo:
        node = todo.pop()
        if node not in body:
            body.add(node)
            todo += backward[node]
    return body
