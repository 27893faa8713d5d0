"""The plain alternative to barriers, kept to compare with: who last wrote the registers a waiting instruction reads.

It needs no control words, and is what tools without them do. It finds nothing where a wait guards an operand rather
than a result, where a call or a return waits, and where the register was copied on the way.
"""

from __future__ import annotations

from optimas_lsp.profile.model import Code
from optimas_lsp.sass.blame import rules
from optimas_lsp.sass.listing import Listing, read
from optimas_lsp.sass.walk import Walker


class DefUse:
    """Reaching definitions of one kernel's instructions, from its printed SASS."""

    def __init__(self, code: Code) -> None:
        self._listing: Listing | None = read(code)
        self._walker = Walker(self._listing.flow, self._listing.instructions) if self._listing else None

    def producers(self, column: int, reason: str) -> dict[int, float]:
        """Columns of the producers of the right unit that ``column`` reads, with their share of the paths to it.

        Shares sum to 1; empty when none reaches it.
        """
        rule = rules().get(reason)
        if self._listing is None or self._walker is None or rule is None or rule.unit is None:
            return {}
        consumer = self._listing.place[column]
        if consumer < 0:
            return {}
        instructions = self._listing.instructions
        found: dict[int, float] = {}

        def visit(at: int, mass: float, distance: float, live: int, left: int) -> tuple[int, int] | None:
            instruction = instructions[at]
            written = instruction.effects.writes & live
            if written and instruction.unit in (rule.unit, "fp64"):
                found[at] = found.get(at, 0.0) + mass
            if instruction.guard is None:
                live &= ~written
            return (live, left) if live else None

        reads = instructions[consumer].effects.reads
        if reads:
            self._walker.backwards(consumer, visit, cost=self._walker.issue, live=reads)
        total = sum(found.values())
        return {self._listing.column[at]: mass / total for at, mass in found.items()} if total else {}
