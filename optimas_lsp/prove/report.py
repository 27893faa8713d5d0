"""What ``optimas prove`` says: the outcome of a proof as JSON (optimas.proof/1) and as text."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from optimas_lsp.profile.model import Frozen
from optimas_lsp.prove.executors.outcome import GateOutcome, Outcome


class Proof(Frozen):
    """One finished proof. ``diff`` is the candidate's change; ``executor`` where it ran."""

    schema_: Literal["optimas.proof/1"] = Field(default="optimas.proof/1", alias="schema")
    source: str
    executor: str
    verdict: Literal["proven", "rejected", "not proven", "cancelled"]
    sentence: str
    gates: tuple[GateOutcome, ...]
    not_checked: tuple[str, ...]
    recorded: str | None
    machine: dict[str, Any]
    timing: dict[str, Any] | None
    job: str
    diff: str

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


def conclusion(outcome: Outcome) -> str:
    """The one sentence that a proof comes down to; a recorded one ends with where, when and how it was made."""
    said = _concluded(outcome)
    return f"{said} ({outcome.recorded})" if outcome.recorded else said


def _concluded(outcome: Outcome) -> str:
    if outcome.verdict is None:
        return "cancelled"
    failed = next((gate for gate in outcome.gates if gate.status == "fail"), None)
    if failed is not None:
        return f"rejected by {failed.name}: {failed.sentence}"
    if outcome.verdict == "proven":
        timed = next((gate.sentence for gate in outcome.gates if gate.name == "time"), "")
        return f"proven: {timed}" if timed else "proven"
    reasons: dict[str, list[str]] = {}
    for gate in outcome.gates:
        if gate.status == "skipped" and gate.name != "reprofile":
            reasons.setdefault(gate.sentence, []).append(gate.name)
    why = "; ".join(f"{sentence} ({', '.join(names)} skipped)" for sentence, names in reasons.items())
    return f"not proven: {why or '; '.join(outcome.not_checked) or 'a required gate did not run'}"


def as_text(proof: Proof) -> str:
    """Every gate with its sentence, what was not checked, and the conclusion last."""
    lines = [f"{gate.status:8} {gate.name}: {gate.sentence}" for gate in proof.gates]
    lines += [f"{'open':8} {sentence}" for sentence in proof.not_checked]
    return "\n".join([*lines, proof.sentence]) + "\n"
