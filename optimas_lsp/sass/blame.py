"""Who made an instruction wait: for each stalled instruction and reason, the producers with their share of the blame.

Blame of a scoreboard stall is divided over the reaching setters of the awaited barriers (``scoreboard``). A setter
weighs as much as the path from it to the consumer is executed, times

- ``L / (L + t)`` for the time t since it was issued: what was started long ago is more likely done. L is the measured
  wait, at least ``LATENCY``. Times are measured: samples per execution, in cycles (issue cycles where none fell);
- for a result, the probability that it asks for memory no earlier one of the awaited loads has asked for (``sectors``);
- for an operand, the probability that no awaited access issued later ran: a unit reads operands in order, so the last
  one's are read last, and before any result of it comes back;
- ``UNREAD`` when the consumer does not need what it produces while it does need another's.

The other reasons follow the table in ``reasons.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from optimas_lsp.profile.model import CauseEdge
from optimas_lsp.sass.decode import Instruction
from optimas_lsp.sass.flow import Flow
from optimas_lsp.sass.scoreboard import Candidate, Setters
from optimas_lsp.sass.sectors import first_to_ask
from optimas_lsp.sass.walk import MOST_STATES, Walker

Kind = Literal["raw", "war", "sync", "self", "drain"]
_Test = Callable[[Instruction], bool]

DOMINANT = 0.90
"""From this share on one producer is called dominant."""

UNREAD = 0.05
"""What a setter weighs whose result the consumer does not need, against one whose result it does."""

LATENCY = {"l1tex": 400.0, "mio": 30.0}
"""Time scale, in cycles, on which a producer of each unit is forgotten: some DRAM and shared-memory latencies."""

LEAST_SHARE = 0.005
"""Producers below this share are left out; the others take their part."""

BARRIER_SKID = 4
"""A sample of a synchronisation stall falls at most this many instructions after it (measured: 1 to 4)."""

STATES = 600_000
LEAST_STATES = 40
"""Blocks visited for one function in all, and at least for one stall: what bounds the time a huge kernel takes."""

_NEAREST = 64.0
_FENCES = frozenset({"MEMBAR", "ERRBAR", "FENCE", "CCTL", "CGAERRBAR", "UCGABAR_WAIT"})
_BARRIERS = frozenset({"BAR", "UCGABAR_WAIT", "UCGABAR_ARV", "BARRIER"})
_JUMPS = frozenset({"BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "CALL"})
_STORES = frozenset({"store", "reduce", "atomic"})
_LATE_PATH = 0.75
_LATE_SAMPLES = 0.5


@dataclass(frozen=True, slots=True)
class Rule:
    """How the cause of one stall reason is found; see ``reasons.toml``."""

    rule: str
    unit: str | None = None


@cache
def rules() -> dict[str, Rule]:
    """Rules by the profiler's name of the reason."""
    data = tomllib.loads(files("optimas_lsp.sass").joinpath("reasons.toml").read_text("utf-8"))
    return {name: Rule(entry["rule"], entry.get("unit")) for name, entry in data.items()}


@dataclass(slots=True)
class _Weighed:
    producer: int
    kind: Kind
    weight: float


class Blamer:
    """Finds causes in one function. ``samples[i]`` maps a reason to all samples of instruction i."""

    def __init__(
        self,
        instructions: Sequence[Instruction],
        flow: Flow,
        *,
        executed: Sequence[int] | None,
        thread_executed: Sequence[int] | None,
        samples: dict[int, dict[str, int]],
    ) -> None:
        self.instructions = instructions
        self.flow = flow
        self.executed = executed
        self.thread_executed = thread_executed
        self.samples = samples
        most = min(MOST_STATES, max(LEAST_STATES, STATES // max(len(samples), 1)))
        self._walker = Walker(flow, instructions, most)
        self._issue = self._walker.issue
        self._elapsed = _elapsed(self._issue, executed, samples)
        self.setters = Setters(self._walker, self._elapsed)
        self._reaching: dict[int, list[Candidate]] = {}

    def causes(self, consumer: int, reason: str, number: int) -> tuple[CauseEdge, ...]:
        """The edges of (consumer, reason); ``number`` is the reason's index in the profile. Empty: no known cause."""
        rule = rules().get(reason, Rule("none"))
        weighed = self._weigh(consumer, rule)
        total = sum(item.weight for item in weighed)
        if total <= 0:
            return ()
        kept = [item for item in weighed if item.weight / total >= LEAST_SHARE] or weighed
        total = sum(item.weight for item in kept)
        kept.sort(key=lambda item: (-item.weight, item.producer))
        shares = [item.weight / total for item in kept]
        leading = "certain" if len(weighed) == 1 else "dominant" if shares[0] >= DOMINANT else "shared"
        if rule.rule == "producer" and leading == "certain":
            leading = "dominant"
        return tuple(
            CauseEdge(
                consumer=consumer,
                reason=number,
                producer=item.producer,
                share=round(share, 6),
                kind=item.kind,
                confidence=leading if place == 0 else "shared",
            )
            for place, (item, share) in enumerate(zip(kept, shares, strict=True))
        )

    def _weigh(self, consumer: int, rule: Rule) -> list[_Weighed]:
        match rule.rule:
            case "scoreboard":
                return self._scoreboard(consumer, rule.unit)
            case "producer":
                return self._producer(consumer)
            case "barrier":
                return self._barrier(consumer)
            case "fence":
                return self._preceding(consumer, _FENCES) or [_Weighed(consumer, "self", 1.0)]
            case "drain":
                return self._drain(consumer)
            case "branch":
                return self._branch(consumer)
            case "warpgroup":
                return self._nearest(consumer, lambda i: i.semantics.width == "warpgroup", "sync", 1024.0)
            case "self":
                return [_Weighed(consumer, "self", 1.0)]
            case _:
                return []

    def candidates(self, consumer: int) -> list[Candidate]:
        """Every setter that reaches ``consumer``, whatever its unit; computed once a consumer."""
        if consumer not in self._reaching:
            at = consumer
            if not self.setters.awaited(at) and at > 0 and self.instructions[at - 1].partial is not None:
                at -= 1
            self._reaching[consumer] = self.setters.reaching(at)
        return self._reaching[consumer]

    def _scoreboard(self, consumer: int, unit: str | None) -> list[_Weighed]:
        every = self.candidates(consumer)
        results = {c.producer for c in every if c.kind == "raw"}
        every = [c for c in every if c.kind == "raw" or c.producer not in results]  # read long before it answers
        fitting = [c for c in every if self.instructions[c.producer].unit == unit]
        if not fitting:
            fitting = [c for c in every if self.instructions[c.producer].unit in ("unknown", "async")] or every
        needed = any(c.kind == "raw" for c in fitting) and any(c.reads for c in fitting)
        scale = max(LATENCY.get(unit or "", LATENCY["l1tex"]), self._elapsed[consumer])
        return [
            _Weighed(
                c.producer,
                c.kind,
                min(c.mass, 1.0)
                * self._probability(c.producer)
                * (self._first_to_ask(c, fitting) if c.kind == "raw" else self._last_to_read(c, fitting))
                * (UNREAD if needed and not c.reads else 1.0)
                * scale
                / (scale + c.distance),
            )
            for c in fitting
        ]

    def _last_to_read(self, candidate: Candidate, fitting: list[Candidate]) -> float:
        """Probability that no awaited access between ``candidate`` and the consumer ran; never 0."""
        alone = 1.0
        for other in fitting:
            if other.distance < candidate.distance:
                alone *= 1.0 - min(other.mass, 1.0) * self._probability(other.producer)
        return max(UNREAD, alone)

    def _first_to_ask(self, candidate: Candidate, fitting: list[Candidate]) -> float:
        """See ``sectors``; earlier are the loads of the same block, which all use the same registers while awaited."""
        if len(fitting) == 1:
            return 1.0
        block = self.flow.blocks[self.flow.block_of[candidate.producer]]
        base = self.instructions[candidate.producer].effects.reads
        earlier: list[Instruction] = []
        for at in range(candidate.producer - 1, block.first - 1, -1):
            if self.instructions[at].effects.writes & base:
                break
            if any(c.producer == at and c.kind == "raw" for c in fitting) and self.instructions[at].guard is None:
                earlier.append(self.instructions[at])
        return first_to_ask(self.instructions[candidate.producer], earlier)

    def _probability(self, producer: int) -> float:
        """How likely a guarded instruction really ran where the path passed it; never 0, since it may still stall."""
        if self.instructions[producer].guard is None or self.executed is None or self.thread_executed is None:
            return 1.0
        executed, threads = self.executed[producer], self.thread_executed[producer]
        return max(0.01, min(1.0, threads / executed)) if executed else 0.01

    def _producer(self, consumer: int) -> list[_Weighed]:
        """The nearest producer of a register ``consumer`` reads, on each path; else the instruction issued before."""
        if self._behind_a_taken_branch(consumer):
            return [_Weighed(consumer - 1, "self", 1.0)]
        wanted = self.instructions[consumer].effects
        found: dict[int, float] = {}

        def visit(at: int, mass: float, distance: float, live: int, left: int) -> tuple[int, int] | None:
            written = self.instructions[at].effects.writes & (live | wanted.writes)
            if written and distance <= _NEAREST:
                found[at] = found.get(at, 0.0) + mass
                return None
            return live, left

        self._walker.backwards(consumer, visit, cost=self._issue, live=wanted.reads, farthest=_NEAREST)
        if not found and consumer > self.flow.blocks[self.flow.block_of[consumer]].first:
            found = {consumer - 1: 1.0}
        return [_Weighed(at, "raw", mass) for at, mass in found.items()]

    def _behind_a_taken_branch(self, consumer: int) -> bool:
        """Whether samples here are of the branch before: a warp that jumps is seen at the next address for a while."""
        if consumer == 0 or self.instructions[consumer - 1].base not in _JUMPS:
            return False
        return self.executed is not None and self.executed[consumer] < 0.5 * self.executed[consumer - 1]

    def _preceding(self, consumer: int, bases: frozenset[str]) -> list[_Weighed]:
        for at in range(consumer, max(-1, consumer - BARRIER_SKID - 1), -1):
            if self.instructions[at].base in bases:
                return [_Weighed(at, "sync", 1.0)]
        return []

    def _nearest(self, consumer: int, wanted: _Test, kind: Kind, farthest: float, run: float = 0.0) -> list[_Weighed]:
        """The nearest instruction that fits, on each path, with those within ``run`` cycles before it."""
        found: dict[int, float] = {}

        def visit(at: int, mass: float, distance: float, live: int, left: int) -> tuple[int, int] | None:
            if left and distance > left:
                return None
            if wanted(self.instructions[at]):
                found[at] = found.get(at, 0.0) + mass / max(distance, 1.0)
                if run <= 0:
                    return None
                left = left or int(distance + run)
            return live, left

        self._walker.backwards(consumer, visit, cost=self._issue, live=0, farthest=farthest)
        return [_Weighed(at, kind, weight) for at, weight in found.items()]

    def _drain(self, consumer: int) -> list[_Weighed]:
        """Samples fall on the EXIT or on the address after it; the stores before that EXIT are what is drained."""
        at = consumer
        if self.instructions[at].base not in ("EXIT", "RET") and at > 0:
            at -= 1
        return self._nearest(at, _is_store, "drain", float("inf"), run=64.0)

    def _branch(self, consumer: int) -> list[_Weighed]:
        """The sample falls on a branch's target: the branches that lead there, or the branch itself."""
        block = self.flow.blocks[self.flow.block_of[consumer]]
        if consumer == block.first:
            edges = [edge for edge in self.flow.before[block.index] if edge.weight > 0]
            if edges:
                return [_Weighed(self.flow.blocks[e.source].end - 1, "self", e.weight) for e in edges]
            if consumer > 0:
                return [_Weighed(consumer - 1, "self", 1.0)]
        return [_Weighed(consumer, "self", 1.0)]

    def _entered(self, at: int, barrier: int) -> float:
        """How often warps came to ``at``, repetitions of loops that do not hold ``barrier`` counted once."""
        block, meeting = self.flow.block_of[at], self.flow.block_of[barrier]
        for loop in self.flow.loops:
            if block in loop.body and meeting not in loop.body:
                return sum(edge.weight for edge in self.flow.before[loop.head] if edge.source not in loop.body)
        return self.flow.frequency[block]

    def _barrier(self, consumer: int) -> list[_Weighed]:
        """The barrier itself; where samples show one conditional path to arrive last, that path's slowest instruction.

        A path is late when warps take it less often than they reach the barrier (at most ``_LATE_PATH`` of the
        executions) and it holds at least half of the other stall samples between this barrier and the one before.
        """
        here = self._preceding(consumer, _BARRIERS)
        if not here:
            return self._nearest(consumer, lambda i: i.base in _BARRIERS, "sync", 64.0)
        barrier = here[0].producer
        executed = self.executed
        if not executed or not executed[barrier]:
            return here
        waiting: dict[int, float] = {}

        def visit(at: int, mass: float, distance: float, live: int, left: int) -> tuple[int, int] | None:
            if at != barrier and self.instructions[at].base in _BARRIERS:
                return None
            stalls = self.samples.get(at)
            if stalls:
                waiting[at] = float(
                    sum(n for r, n in stalls.items() if r not in ("barrier", "selected", "not_selected"))
                )
            return live, left

        self._walker.backwards(barrier, visit, cost=self._issue, live=0)
        waiting.pop(barrier, None)
        total = sum(waiting.values())
        late = {at: n for at, n in waiting.items() if self._entered(at, barrier) <= _LATE_PATH * executed[barrier]}
        if not late or sum(late.values()) < _LATE_SAMPLES * total or sum(late.values()) < 10:
            return here
        slowest = max(late, key=lambda at: (late[at], -at))
        part = sum(late.values()) / total
        return [_Weighed(slowest, "sync", part), _Weighed(barrier, "sync", max(1 - part, 1e-9))]


def _elapsed(issue: Sequence[float], executed: Sequence[int] | None, samples: dict[int, dict[str, int]]) -> list[float]:
    """Cycles a warp spends at each instruction: its samples per execution, scaled so that issuing takes one cycle."""
    if executed is None:
        return list(issue)
    issued = sum(stalls.get("selected", 0) for stalls in samples.values())
    total = sum(executed)
    if not issued or not total:
        return list(issue)
    per_cycle = issued / total
    return [
        max(cycles, sum(samples[at].values()) / executed[at] / per_cycle) if at in samples and executed[at] else cycles
        for at, cycles in enumerate(issue)
    ]


def _is_store(instruction: Instruction) -> bool:
    return instruction.semantics.access in _STORES and instruction.semantics.space in (
        "global",
        "generic",
        "local",
        "surface",
    )
