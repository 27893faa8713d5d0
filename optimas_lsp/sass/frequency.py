"""How often each edge of a control-flow graph was taken, from how often its blocks were executed."""

from __future__ import annotations

from collections.abc import Sequence

RARE = 0.01
"""A possible edge counts at least this share of its rarer end: divergent warps take edges that block counts hide."""

Edges = dict[tuple[int, int], float]


def counted(after: Sequence[Sequence[int]], frequency: Sequence[float]) -> Edges:
    """Edge counts from measured block counts: what they force first, what is left in proportion."""
    incoming: list[list[int]] = [[] for _ in after]
    for source, targets in enumerate(after):
        for target in targets:
            incoming[target].append(source)
    weights: Edges = {}
    for source, targets in enumerate(after):
        if len(targets) == 1:
            weights[source, targets[0]] = frequency[source]
    for target, sources in enumerate(incoming):
        if len(sources) == 1:
            weights.setdefault((sources[0], target), min(frequency[target], frequency[sources[0]]))
    while _settle(after, incoming, frequency, weights):
        pass
    for source, targets in enumerate(after):
        for target in targets:
            known = weights.get((source, target), min(frequency[source] / len(targets), frequency[target]))
            weights[source, target] = max(known, RARE * min(frequency[source], frequency[target]))
    return weights


def _settle(
    after: Sequence[Sequence[int]], incoming: Sequence[Sequence[int]], frequency: Sequence[float], weights: Edges
) -> bool:
    """Give a block's only unknown edge, on either side, what the known ones leave of its count."""
    changed = False
    for node in range(len(after)):
        for edges in ([(node, target) for target in after[node]], [(source, node) for source in incoming[node]]):
            unknown = [edge for edge in edges if edge not in weights]
            if len(unknown) == 1:
                weights[unknown[0]] = max(0.0, frequency[node] - sum(weights.get(edge, 0.0) for edge in edges))
                changed = True
    return changed


def guessed(after: Sequence[Sequence[int]], frequency: Sequence[float]) -> Edges:
    """Edge counts where block counts are themselves estimates: as often as the rarer end."""
    return {
        (source, target): min(frequency[source], frequency[target])
        for source, targets in enumerate(after)
        for target in targets
    }
