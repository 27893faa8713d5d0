"""How a rewrite ended, in a status and a sentence: what stands, or why none of several candidates does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.outcome import Attempt, Status, nearest
from optimas_lsp.rewrite.parse import NoProposal

NO_MORE = "the catalogue has no further one; optimas prompt prints what a model would be asked"


@dataclass(frozen=True)
class End:
    """How the tries ended; ``candidate`` is the one that stands, from try ``number``.

    ``nearest``: where candidates were alternatives and none stands, the try that came nearest.
    """

    status: Status
    sentence: str
    candidate: Candidate | None = None
    number: int | None = None
    nearest: int | None = None


def passed(name: str, attempt: Attempt) -> str:
    """What is known of a candidate of kernel ``name`` before its proof."""
    done = "passes the guardrails and builds" if attempt.compiled is not None else "passes the guardrails"
    return f"a rewrite of {name} {done}"


def standing(name: str, attempt: Attempt, candidate: Candidate, compared: int) -> End:
    """The end with a candidate; ``compared`` is how many were, by short proofs."""
    proof = attempt.proof
    rank = f"; chosen out of {compared} candidates" if compared > 1 else ""
    if proof is not None and proof.state == "proven":  # so it passed all the rest
        said = f"a rewrite of {name} is {proof.said}"
    else:
        said = passed(name, attempt) + ("" if proof is None else f"; {proof.said}")
    return End("candidate", f"{said}{rank}", candidate, attempt.number)


def none_stood(name: str, attempts: Sequence[Attempt], *, elsewhere: Sequence[str] = (), late: bool = False) -> End:
    """The end of a search among alternatives, of which at least one was judged and none stands.

    ``elsewhere``: other files in which findings lie; ``late``: the budget was used up.
    """
    tried = [each for each in attempts if each.verdict is not None and each.stopped_at != "propose"]
    near = nearest(tried or attempts)
    last = attempts[-1]
    further = [NO_MORE] if isinstance(last.reply.outcome, NoProposal) and last.reply.outcome.kind == "empty" else []
    further += ["the budget was used up before others were tried (--budget)"] if late and not further else []
    if elsewhere:
        further.append(f"findings also lie in {', '.join(elsewhere)}: give that file as SOURCE to change it")
    status, why = _why(name, tried, near)
    return End(status, "; ".join((why, *further)), nearest=None if near is None else near.number)


def _why(name: str, tried: Sequence[Attempt], near: Attempt | None) -> tuple[Status, str]:
    count = len(tried)
    if tried and all(each.unchanged for each in tried):
        if count == 1:
            return "nothing", f"the only candidate for {name} does not change its machine code"
        return "nothing", f"none of the {count} candidates for {name} changes its machine code"
    problem = "" if near is None else near.problem.removeprefix("rejected by time: ")
    if any(each.judged is not None for each in tried):
        slow = all(_slow(each) or each.unchanged for each in tried)
        held = "is clearly faster" if slow else "held"
        if count == 1:
            return "refuted", f"the only candidate for {name} {'is no faster' if slow else 'did not hold'}: {problem}"
        which = "" if near is None else f"; the {'best' if slow else 'nearest'}, try {near.number}: {problem}"
        return "refuted", f"none of the {count} candidates for {name} {held}{which}"
    tries = "the only try failed" if count == 1 else f"all {count} tries failed"
    return "manual-review", f"{tries}; a person has to look at it: {problem}"


def _slow(attempt: Attempt) -> bool:
    """Whether it is right as far as it was run, and only its time speaks against it."""
    gates: list[dict[str, Any]] = [] if attempt.judged is None else attempt.judged.details.get("gates") or []
    return [gate.get("name") for gate in gates if gate.get("status") == "fail"] == ["time"]
