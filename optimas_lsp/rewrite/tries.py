"""The tries of a rewrite as rows for a person: what each changes and gained, how long it took, what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optimas_lsp.rewrite.outcome import Attempt, Gain, Proof, Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.proposal import Proposal

WAITING = "waiting"
"""What a proof's ``cost`` calls the time until others were done with the GPU."""

SAME = "changes no machine code"
"""What became of a try that the compiler makes nothing else of, in short."""

STEPS = {
    "build": "build",
    "copies": "witness build",
    "runs": "runs",
    "sanitize": "sanitizers",
    "time": "timing",
    "reprofile": "profiling",
}
"""Stages of a proof that take time, in their order, each with its name for a person."""


@dataclass(frozen=True)
class Step:
    """One stage of a proof: seconds of its own, and seconds in which other proofs had the GPU."""

    name: str
    took_s: float
    waited_s: float


@dataclass(frozen=True)
class Try:
    """One answer. ``label`` says what it changes; ``gain`` is what was timed last, by a short proof if ``short``.

    ``said``: what became of it. ``steps`` are those of all its proofs together.
    """

    number: int
    label: str
    said: str
    gain: Gain | None
    short: bool
    steps: tuple[Step, ...]

    @property
    def took_s(self) -> float:
        """Seconds that its proofs took, without waiting."""
        return sum(each.took_s for each in self.steps)

    @property
    def waited_s(self) -> float:
        """Seconds in which its proofs waited for others on the same GPU."""
        return sum(each.waited_s for each in self.steps)


def tries_of(rewriting: Rewriting) -> tuple[Try, ...]:
    """Every answer; that the catalogue has no further one, after others, is no try."""
    return tuple(_try(rewriting, each) for each in rewriting.attempts if each.number == 1 or not _no_more(each))


def _no_more(attempt: Attempt) -> bool:
    outcome = attempt.reply.outcome
    return attempt.reply.model == "catalogue" and isinstance(outcome, NoProposal) and outcome.kind == "empty"


def _try(rewriting: Rewriting, attempt: Attempt) -> Try:
    stands = attempt is rewriting.standing or (rewriting.chosen is None and not attempt.problem)
    judged = attempt.judged
    return Try(
        number=attempt.number,
        label=label_of(attempt, rewriting),
        said=SAME if attempt.unchanged else attempt.problem or ("stands" if stands else "kept"),
        gain=None if judged is None else judged.gain,
        short=judged is not None and judged == attempt.screened,
        steps=_together(*map(steps_of, _proofs(attempt))),
    )


def _proofs(attempt: Attempt) -> list[Proof]:
    found = [each for each in (attempt.screened, attempt.proof) if each is not None]
    return found[:1] if len(found) == 2 and found[0] == found[1] else found


def label_of(attempt: Attempt, rewriting: Rewriting) -> str:
    """The transformations, with their variants where the catalogue made them; empty for what is no proposal."""
    outcome = attempt.reply.outcome
    if not isinstance(outcome, Proposal):
        return ""
    name = rewriting.analysis.base_name if rewriting.analysis is not None else ""
    whole = attempt.reply.text
    if rewriting.backend == "catalogue" and whole:
        return whole if "; " in whole else whole.removeprefix(f"{name}: ")
    return " + ".join(dict.fromkeys(each.transformation for each in outcome.changes))


def steps_of(proof: Proof | None) -> tuple[Step, ...]:
    """The stages of a proof that took a tenth of a second and more; empty where it says nothing of them."""
    costs: Mapping[str, Any] = {} if proof is None else proof.details.get("cost") or {}
    found: list[Step] = []
    for stage, name in STEPS.items():
        cost: Mapping[str, Any] = costs.get(stage) or {}
        spent: Mapping[str, Mapping[str, Any]] = cost.get("spent") or {}
        waited = float(spent.get(WAITING, {}).get("seconds") or 0.0)
        took = max(0.0, float(cost.get("wall_s") or 0.0) - waited)
        if took + waited >= 0.1:
            found.append(Step(name, took, waited))
    return tuple(found)


def _together(*proofs: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of several proofs, those of one name as one."""
    total: dict[str, Step] = {}
    for each in (step for steps in proofs for step in steps):
        known = total.get(each.name, Step(each.name, 0.0, 0.0))
        total[each.name] = Step(each.name, known.took_s + each.took_s, known.waited_s + each.waited_s)
    return tuple(total.values())


def time_spent(tries: tuple[Try, ...]) -> str:
    """What the proofs of all tries took, step by step, and apart how long they waited; empty where that is unknown."""
    steps = _together(*(each.steps for each in tries))
    if not steps:
        return ""
    took, waited = sum(each.took_s for each in steps), sum(each.waited_s for each in steps)
    words = f"{took:.0f} s ({', '.join(f'{each.name} {each.took_s:.0f}' for each in steps)})"
    return words + (f", and {waited:.0f} s waiting for other proofs on this GPU" if waited >= 0.5 else "")
