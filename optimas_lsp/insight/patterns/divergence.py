"""Branches that split warps, so that both sides run with part of their threads switched off."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View

RULE = "divergent-branches"
DIVERGENT = "smsp__branch_targets_threads_divergent"
THREADS = "thread_inst_executed"

OFTEN = 0.10
"""Share of a branch's executions that must diverge."""

WARP = 32


def find(view: View) -> Iterator[Hit]:
    """Branches that diverge often, with the part of the kernel's work that idle threads cost behind them.

    The loss is, over the instructions the branch leads to before the sides meet again, the share of switched-off
    threads times the instruction's part of all executions.
    """
    if not view.has(DIVERGENT) or view.listing is None:
        return
    everything = sum(view.executed(at) for at in range(len(view.instructions)))
    for at, instruction in enumerate(view.instructions):
        divergent, executed = view.metric(DIVERGENT, at), view.executed(at)
        if instruction.base not in ("BRA", "BRX") or not executed or divergent < OFTEN * executed:
            continue
        sides = _behind(view, at)
        idle = sum(_idle(view, each) * view.executed(each) for each in sides)
        lost = idle / everything if everything else 0.0
        yield Hit(
            text=f"Divergent branch: threads of one warp take different sides in {100 * divergent / executed:.0f} % "
            f"of its executions; {100 * lost:.0f} % of the kernel's instruction slots run for threads switched off",
            helps="data arranged so that neighbouring threads decide alike, short sides as selects",
            instructions=(at,),
            blamed=(at, *sides),
            weight=lost,
            lost=lost,
            at_most=1 / (1 - min(lost, 0.999)),
            expects=((DIVERGENT, "down"), ("smsp__thread_inst_executed_per_inst_executed.ratio", "up")),
        )


def _idle(view: View, position: int) -> float:
    """Share of a warp's threads that are not active at an instruction (0 to 1)."""
    executed = view.executed(position)
    threads = view.metric(THREADS, position) if view.has(THREADS) else view.threads(position)
    return max(0.0, 1.0 - threads / (WARP * executed)) if executed else 0.0


def _behind(view: View, branch: int) -> list[int]:
    """Instructions of the blocks that a branch leads to, as long as threads are missing in them."""
    if view.listing is None:
        return []
    flow = view.listing.flow
    missing = _idle(view, branch)
    todo, seen = list(flow.after[flow.block_of[branch]]), {flow.block_of[branch]}
    found: list[int] = []
    while todo:
        block = todo.pop()
        if block in seen:
            continue
        seen.add(block)
        inside = range(flow.blocks[block].first, flow.blocks[block].end)
        if _idle(view, inside[0]) <= missing + 0.05:
            continue
        found += inside
        todo += flow.after[block]
    return found
