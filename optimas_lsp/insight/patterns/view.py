"""What a pattern rule looks at: one kernel's instructions with counts, metrics, and what each one costs in samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from optimas_lsp.insight.facts import Counters
from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.model import Kernel, Launch, Profile
from optimas_lsp.sass.decode import Instruction
from optimas_lsp.sass.listing import Listing, read


@dataclass(frozen=True)
class Hit:
    """One occurrence of a pattern.

    ``instructions`` are listing positions, the first one decides the line; none: the hit is about the whole kernel.
    ``blamed`` are those whose stall samples it costs. ``weight`` ranks hits on one line, ``text`` is a sentence without
    its full stop. ``lost`` is the share of the kernel's time it costs where samples cannot tell (0 to 1).
    ``at_most`` is the kernel's speed-up where the rule itself knows a bound. ``uncertain``: the code may be meant that
    way, so it is never a warning.
    """

    text: str
    helps: str
    instructions: tuple[int, ...] = ()
    blamed: tuple[int, ...] = ()
    weight: float = 0.0
    lost: float | None = None
    at_most: float | None = None
    uncertain: bool = False
    expects: tuple[tuple[str, Literal["down", "up"]], ...] = ()


class View:
    """One kernel for the rules. Positions are those of the listing (the kernel's own code, in order)."""

    def __init__(self, profile: Profile, kernel: Kernel, launches: Sequence[Launch]) -> None:
        self.profile = profile
        self.kernel = kernel
        self.launches = launches
        self.counters = Counters(profile, launches)
        self.samples = sum(kernel.samples.all_)
        self._listing: Listing | None = read(kernel.code)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Decoded from the printed SASS; empty when that is not understood."""
        return self._listing.instructions if self._listing else ()

    @property
    def listing(self) -> Listing | None:
        """With control flow, if the SASS is understood."""
        return self._listing

    def column(self, position: int) -> int:
        """The column of ``Code`` that holds the instruction at ``position``."""
        return self._listing.column[position] if self._listing else -1

    def executed(self, position: int) -> int:
        """Warp-level executions of one instruction, over all launches."""
        return self._of(self.kernel.code.executed, position)

    def threads(self, position: int) -> int:
        """Thread-level executions (guard true) of one instruction."""
        return self._of(self.kernel.code.thread_executed, position)

    def metric(self, name: str, position: int) -> int:
        """A per-instruction counter; 0 where it was not collected or never counted."""
        return self._of(self.kernel.code.metrics.get(name), position)

    def has(self, metric: str) -> bool:
        """Whether the report has that per-instruction counter."""
        return metric in self.kernel.code.metrics

    def _of(self, column: Sequence[int] | None, position: int) -> int:
        at = self.column(position)
        return column[at] if column is not None and at >= 0 else 0

    @cached_property
    def most_executed(self) -> int:
        """Executions of the hottest instruction."""
        return max((self.executed(position) for position in range(len(self.instructions))), default=0)

    def hot(self, position: int) -> bool:
        """In a loop, and executed at least a tenth as often as the hottest instruction."""
        if self._listing is None:
            return False
        flow = self._listing.flow
        return flow.depth[flow.block_of[position]] > 0 and self.executed(position) * 10 >= self.most_executed

    @cached_property
    def _costs(self) -> dict[int, tuple[float, float]]:
        """(samples, not-issued samples) by column: stalls go to their causes, or stay where no cause is known."""
        costs: dict[int, tuple[float, float]] = {}
        edges: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for edge in self.kernel.code.causes or ():
            edges.setdefault((edge.consumer, edge.reason), []).append((edge.producer, edge.share))
        columns = self.kernel.samples
        for at, reason, count, idle in zip(
            columns.instruction, columns.reason, columns.all_, columns.not_issued, strict=True
        ):
            if not is_stall(self.profile.reasons[reason]):
                continue
            shares = edges.get((at, reason), [])
            rest = 1.0 - sum(share for _, share in shares)
            for where, share in [*shares, (at, rest)] if rest > 1e-6 else shares:
                known = costs.get(where, (0.0, 0.0))
                costs[where] = (known[0] + count * share, known[1] + idle * share)
        return costs

    def cost(self, positions: Iterable[int]) -> tuple[float, float]:
        """Stall samples, all and not-issued, that the instructions at ``positions`` cause (or suffer themselves)."""
        total = idle = 0.0
        for position in set(positions):
            samples = self._costs.get(self.column(position), (0.0, 0.0))
            total, idle = total + samples[0], idle + samples[1]
        return total, idle

    def share(self, positions: Iterable[int]) -> float:
        """Their cost as a share of the kernel's samples (0 to 1)."""
        return self.cost(positions)[0] / self.samples if self.samples else 0.0

    def producers(self, position: int, registers: int) -> list[int]:
        """The nearest earlier instructions of the same block that write any of ``registers``."""
        if self._listing is None:
            return []
        block = self._listing.flow.blocks[self._listing.flow.block_of[position]]
        found: list[int] = []
        for at in range(position - 1, block.first - 1, -1):
            written = self.instructions[at].effects.writes & registers
            if written:
                found.append(at)
                registers &= ~written
            if not registers:
                break
        return found
