"""Shared-memory accesses that are served in more passes than their width needs."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View

RULE = "bank-conflicts"
WAVEFRONTS = "memory_l1_wavefronts_shared"
IDEAL = "memory_l1_wavefronts_shared_ideal"

WASTEFUL = 1.5
MATTERS = 0.05
"""An instruction's superfluous passes must be this share of all the kernel's."""


def find(view: View) -> Iterator[Hit]:
    """Instructions with at least 1.5 times the ideal passes that make up a good part of the kernel's."""
    every = [view.metric(WAVEFRONTS, at) for at in range(len(view.instructions))]
    total = sum(every)
    for at, passes in enumerate(every):
        ideal = view.metric(IDEAL, at)
        if not ideal or passes < WASTEFUL * ideal or passes - ideal < MATTERS * total:
            continue
        executed = max(view.executed(at), 1)
        yield Hit(
            text=f"Bank conflicts: {view.instructions[at].opcode} takes {passes / executed:.1f} passes through shared "
            f"memory per warp where {ideal / executed:.1f} would do",
            helps="padding rows by one element, or an index permuted with exclusive-or",
            instructions=(at,),
            blamed=(at,),
            weight=float(passes - ideal),
            expects=((WAVEFRONTS, "down"), ("short_scoreboard", "down"), ("mio_throttle", "down")),
        )
