"""How far an experiment came, and which check of what ended it: the candidate, the service, or the program itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from optimas_lsp.prove.runner.blame import BASELINE
from optimas_lsp.rewrite.compile import CANNOT_BUILD
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.parse import NoProposal

Ending = Literal[
    "proven",
    "refuted",
    "not-proven",
    "not-built",
    "refused",
    "unusable",
    "nothing",
    "no-evidence",
    "program-failed",
    "failed",
]
"""``proven``: right and faster. ``refuted``: wrong or not faster. ``not-proven``: it stands, but nobody ran it.
``not-built``, ``refused`` (by a guardrail), ``unusable`` (no proposal): how the last try ended. ``nothing``: no change
was proposed. ``no-evidence``: the report has none of the kind. ``program-failed``: the unchanged program does not
build, fails, gives other results each time or has errors of its own, so that no candidate of it can be judged.
``failed``: the experiment itself broke, its model's service gave no answer, or nothing could be built where it ran."""

WITHOUT_OUTCOME: frozenset[Ending] = frozenset({"no-evidence", "program-failed", "failed"})
"""Endings that say nothing of any candidate, and whose seconds say nothing of other experiments."""

OPEN: tuple[Ending, ...] = ("not-proven", "program-failed", "failed")
"""Endings that another machine or day may change; ``optimas campaign run --again`` takes their names."""

ENDED_BEFORE: dict[str | None, Ending] = {
    "propose": "unusable",
    "guard": "refused",
    "compile": "not-built",
    "prove": "refuted",
}

UNANSWERED = ("api-error", "rate-limit", "time-out", "cancelled")
"""Kinds of no proposal that are the service's and say nothing about the model: asked again, it may answer."""


@dataclass(frozen=True)
class Fault:
    """The check that the unchanged program failed, and how, in words; ``steady``: not only once, beside a candidate."""

    gate: str
    sentence: str
    steady: bool = True


def fault_of(rewriting: Rewriting) -> Fault | None:
    """What was wrong with the unchanged program, where that is what ended the experiment.

    A check by which a whole proof judged another of its candidates is none that the program itself fails.
    """
    if rewriting.proof is not None and rewriting.proof.state == "proven":
        return None
    judged = {name for each in rewriting.attempts for name in _judged_by(each)}
    found = (_fault_in(each) for each in reversed(rewriting.attempts))
    return next((each for each in found if each is not None and each.gate not in judged), None)


def _judged_by(attempt: Attempt) -> set[str]:
    """The gates of a whole proof that came to a verdict on this candidate; a short one leaves inputs out."""
    if attempt.proof is None or attempt.proof == attempt.screened:
        return set()
    gates = gates_in(attempt.proof.details)
    return {str(each["name"]) for each in gates if each["status"] in {"pass", "fail"} and not _is_fault(each)}


def _is_fault(gate: Mapping[str, Any]) -> bool:
    facts = cast("dict[str, Any]", gate.get("facts") or {})
    return gate["status"] == "fail" and facts.get("side") == BASELINE


def _fault_in(attempt: Attempt) -> Fault | None:
    """What a build or the last proof of one answer says of the unchanged program."""
    if attempt.compiled is not None and attempt.compiled.status == "program-fails":
        return Fault("build", attempt.compiled.sentence)
    gates = [] if attempt.judged is None else gates_in(attempt.judged.details)
    for each in filter(_is_fault, gates):
        steady = cast("dict[str, Any]", each["facts"]).get("steady") is not False
        return Fault(str(each["name"]), f"the unchanged program failed {each['name']}: {each['sentence']}", steady)
    return None


def ending_of(rewriting: Rewriting) -> Ending:
    """How far the experiment of this outcome came."""
    if fault_of(rewriting) is not None:
        return "program-failed"
    if rewriting.status == "candidate":
        return "proven" if rewriting.proof is not None and rewriting.proof.state == "proven" else "not-proven"
    last = rewriting.last
    if last is not None and _broke(last):
        return "failed"
    empty = rewriting.no_proposal is not None and rewriting.no_proposal.kind == "empty"
    if rewriting.status == "nothing" or empty:
        tried = [each for each in rewriting.attempts if each.stopped_at not in {None, "propose"}]
        ending = ENDED_BEFORE[_stage(tried[-1])] if tried else "nothing"
    else:
        before = ENDED_BEFORE.get(None if last is None else _stage(last), "unusable")
        ending = "refuted" if rewriting.status == "refuted" else before
    states = {each.judged.state for each in rewriting.attempts if each.judged is not None}
    return "not-proven" if ending == "refuted" and states == {"not-proven"} else ending


def _broke(attempt: Attempt) -> bool:
    """Whether it ended by what the answer is not to blame for: the service, or a machine without a compiler."""
    outcome, built = attempt.reply.outcome, attempt.compiled
    unanswered = isinstance(outcome, NoProposal) and outcome.kind in UNANSWERED
    return unanswered or (attempt.stopped_at == "compile" and built is not None and built.status in CANNOT_BUILD)


def gate_of(rewriting: Rewriting, ending: Ending) -> str:
    """What ended it: the gate of the proof, the guardrail, the kind of no answer."""
    fault = fault_of(rewriting)
    if fault is not None:
        return fault.gate
    tried = [each for each in rewriting.attempts if each.stopped_at is not None and ":" in label_of(each)]
    if ending in {"proven", "not-proven", "nothing"} or not tried:
        return ""
    judged = tried if ending in {"unusable", "failed"} else [each for each in tried if each.stopped_at != "propose"]
    judged = [each for each in judged if _fault_in(each) is None] or judged
    return _stop(judged[-1] if judged else tried[-1]).partition(":")[2]


def _stage(attempt: Attempt) -> str | None:
    """Where it stopped; a guardrail that reads the machine code of what was built is a guardrail."""
    if attempt.stopped_at == "compile" and attempt.compiled is not None and attempt.compiled.good:
        return "guard"
    return attempt.stopped_at


def _stop(attempt: Attempt) -> str:
    """Stage and check, such as ``guard:scope`` or ``prove:time``; ``program:build`` where the program is to blame."""
    fault = _fault_in(attempt)
    if fault is not None:
        return f"program:{fault.gate}"
    if attempt.stopped_at == "prove" and attempt.judged is not None:
        failed = [str(each["name"]) for each in gates_in(attempt.judged.details) if each["status"] == "fail"]
        return f"prove:{failed[0] if failed else 'unknown'}"
    if attempt.verdict is not None and not attempt.verdict.accepted:
        return f"{_stage(attempt)}:{attempt.verdict.failures()[0].id}"
    if isinstance(attempt.reply.outcome, NoProposal):
        return f"propose:{attempt.reply.outcome.kind}"
    if attempt.stopped_at == "compile" and attempt.compiled is not None:
        return f"compile:{attempt.compiled.status}"
    return f"{attempt.stopped_at}:{'nothing' if attempt.stopped_at == 'propose' else 'unknown'}"


def label_of(attempt: Attempt) -> str:
    """How one answer ended, in a word for ``tries``: ``proven``, ``guard:scope``, ``program:build`` …"""
    proof = attempt.judged
    if _fault_in(attempt) is not None:
        return _stop(attempt)
    if proof is not None and proof.state == "not-proven" and (attempt.screened is not None or attempt.stopped_at):
        return "compared" if proof.details.get("timing") else "not-proven"
    if proof is None and attempt.stopped_at == "prove":  # its turn never came
        return "not-proven"
    if attempt.stopped_at is not None:
        return _stop(attempt)
    return "stands" if proof is None else proof.state


def gates_in(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The gates in the details of a proof."""
    return cast("list[dict[str, Any]]", details.get("gates") or [])
