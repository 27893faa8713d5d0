"""Several candidates against each other: short proofs choose, a fresh whole proof of the winner decides.

A short proof is no proof: it leaves gates out, and the best of several noisy times is too good on average (the winner's
curse). So its times only say who is proven whole, on runs of its own; those are the ones that are reported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.outcome import Attempt, Proof
from optimas_lsp.rewrite.task import Notify, Prove

Screen = Callable[[Candidate, Verdict, float | None], Awaitable[Proof]]
"""A short proof; the number is how many times shorter the best so far is at the least (None: there is none)."""

NOT_PROVEN = "not proven: it was neither run nor timed; a proof needs an NVIDIA GPU"


@dataclass(frozen=True)
class Rules:
    """How much is tried: ``candidates`` in one heat, ``finals`` whole proofs for one heat at most.

    ``budget_s`` seconds after the start no further candidate is begun; what leads then still gets its whole proof.
    None: there is no limit. ``until_proven``: one that is not refuted but not proven either ends nothing, others are
    tried before it stands; so it is where looking up is cheap, because results are recorded.
    """

    candidates: int = 1
    finals: int = 3
    budget_s: float | None = None
    until_proven: bool = False


@dataclass(frozen=True)
class Entrant:
    """A candidate that passed the cheap gates, and the try that it came from."""

    attempt: Attempt
    candidate: Candidate


@dataclass(frozen=True)
class Heat:
    """The candidates of one heat, in the order of their tries. ``late`` says whether the budget is used up."""

    entrants: Sequence[Entrant]
    prove: Prove | None
    screen: Screen | None
    rules: Rules
    late: Callable[[], bool]
    notify: Notify

    async def hold(self) -> tuple[tuple[Attempt, ...], int | None]:
        """The attempts with their proofs, and the index of the one that stands: proven or, else, not refuted."""
        attempts = [each.attempt for each in self.entrants]
        order = list(range(len(attempts)))
        screened = self.screen is not None and self.prove is not None and len(order) > 1
        if screened:
            order = (await self._screened(attempts))[: self.rules.finals]
        standing: int | None = None
        for at in order:
            attempts[at] = await self._proved(attempts[at], self.entrants[at].candidate)
            proof = attempts[at].proof
            if proof is None or proof.state == "refuted":
                continue
            standing = at if standing is None or proof.state == "proven" else standing
            if proof.state == "proven" or not screened:
                break
        for at, each in enumerate(attempts):
            if at != standing and not each.problem:
                attempts[at] = _out(each, _why_not(each, None if standing is None else attempts[standing]))
        return tuple(attempts), standing

    async def _screened(self, attempts: list[Attempt]) -> list[int]:
        """Short proofs in turn; returns who goes to the finals, the fastest first."""
        ranked: list[tuple[float, int]] = []
        best: float | None = None
        leader = 0
        for at, entrant in enumerate(self.entrants):
            attempt = entrant.attempt
            if at and self.late():
                attempts[at] = _out(attempt, "not proven: the budget was used up before its turn")
                continue
            self.notify("prove", f"short proof of try {attempt.number}, {at + 1} of {len(self.entrants)}")
            proof = await self._short(entrant, best)
            attempts[at] = attempt.model_copy(update={"screened": proof})
            gain = proof.gain
            if proof.state == "refuted":
                attempts[at] = _out(attempts[at], proof.said)
            elif gain is None:
                if not ranked:  # what keeps one from being timed keeps the others, too: let the whole proof say it
                    return [at]
                attempts[at] = _out(attempts[at], proof.sentence)
            elif gain.stopped_early:
                attempts[at] = _out(
                    attempts[at], f"not chosen: clearly slower than {_try(leader)}, so it was ended early"
                )
            else:
                ranked.append((gain.speedup, at))
                if best is None or gain.low > best:
                    best, leader = gain.low, attempt.number
        return [at for _, at in sorted(ranked, key=lambda pair: (-pair[0], pair[1]))]

    async def _short(self, entrant: Entrant, best: float | None) -> Proof:
        if self.screen is None or entrant.attempt.verdict is None:
            return Proof(state="not-proven", sentence=NOT_PROVEN)
        return await self.screen(entrant.candidate, entrant.attempt.verdict, best)

    async def _proved(self, attempt: Attempt, candidate: Candidate) -> Attempt:
        """The attempt with its whole proof, or with the reason why there is none."""
        if self.prove is None or attempt.verdict is None:
            return attempt.model_copy(update={"proof": Proof(state="not-proven", sentence=NOT_PROVEN)})
        self.notify("prove", f"running the original and the candidate of try {attempt.number}")
        proof = await self.prove(candidate, attempt.verdict)
        attempt = attempt.model_copy(update={"proof": proof})
        return _out(attempt, proof.said) if proof.state == "refuted" else attempt


def _why_not(attempt: Attempt, winner: Attempt | None) -> str:
    if winner is None:
        return "not proven: better ones of its heat were refuted, and no more whole proofs were made"
    mine, best = (None if each.screened is None else each.screened.gain for each in (attempt, winner))
    if mine is None or best is None:
        return f"not chosen: try {winner.number} stands"
    close = mine.high >= best.low and best.high >= mine.low
    return f"not chosen: {'no clear difference to' if close else 'slower than'} try {winner.number}"


def _try(number: int) -> str:
    return f"try {number}" if number else "the original"


def _out(attempt: Attempt, problem: str) -> Attempt:
    changed: dict[str, Any] = {"problem": problem, "stopped_at": "prove"}
    return attempt.model_copy(update=changed)
