"""What ``optimas prove`` says: the outcome of a proof as JSON (optimas.proof/1) and as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import ConfigDict, Field

from optimas_lsp.profile.model import Frozen
from optimas_lsp.prove.executors.outcome import GateOutcome, Outcome


class InputResult(Frozen):
    """Whether the candidate wins, ties or loses on one input: times shorter with its interval, over so many pairs."""

    input: str
    result: Literal["wins", "ties", "loses"]
    what: Literal["kernel", "program"]
    speedup: float
    low: float
    high: float
    pairs: int
    warnings: tuple[str, ...] = ()


class Proof(Frozen):
    """One finished proof. ``diff`` is the candidate's change; ``executor`` where it ran.

    ``inputs``: every input that was timed, where there were several. ``compared`` is optimas.compare/1 of the new
    profiles of both versions, where they were profiled again.
    """

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
    inputs: tuple[InputResult, ...] = ()
    compared: dict[str, Any] | None = None
    job: str
    diff: str

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


def over_inputs(outcome: Outcome) -> tuple[InputResult, ...]:
    """What became of each input that was timed; empty where only one was."""
    gate, timing = outcome.gate("time"), outcome.timing or {}
    results: dict[str, str] = {} if gate is None else gate.facts.get("inputs") or {}
    every: dict[str, dict[str, Any]] = timing.get("inputs") or {}
    return tuple(_input_result(name, results[name], times) for name, times in every.items() if name in results)


def _input_result(name: str, result: str, times: dict[str, Any]) -> InputResult:
    kernel: dict[str, Any] | None = times.get("kernel_ns")
    main: dict[str, Any] = kernel or times["program_s"]
    return InputResult.model_validate(
        {
            "input": name,
            "result": result,
            "what": "kernel" if kernel else "program",
            **{key: main[key] for key in ("speedup", "low", "high")},
            "pairs": times["pairs"],
            "warnings": times.get("warnings") or (),
        }
    )


def conclusion(outcome: Outcome) -> str:
    """The one sentence that a proof comes down to; a recorded one ends with where, when and how it was made."""
    said = _concluded(outcome)
    return f"{said} ({outcome.recorded})" if outcome.recorded else said


def _concluded(outcome: Outcome) -> str:
    if outcome.verdict is None:
        return "cancelled"
    if outcome.fault is not None:
        return f"not proven: the unchanged program failed {outcome.fault.name}: {outcome.fault.sentence}"
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
    """Every gate with its sentence, what was not checked, a table of inputs, and the conclusion last."""
    lines: list[str] = []
    for gate in proof.gates:
        lines.append(f"{gate.status:8} {gate.name}: {gate.sentence}")
        lines += [f"{'':8}   {said}" for said in gate.facts.get("cited") or ()]
    lines += [f"{'open':8} {sentence}" for sentence in proof.not_checked]
    lines += list(_table(proof))
    return "\n".join([*lines, proof.sentence]) + "\n"


def _table(proof: Proof) -> Iterator[str]:
    if not proof.inputs:
        return
    width = max(len("input"), *(len(each.input) for each in proof.inputs))
    level = 100 * float((proof.timing or {}).get("level") or 0.95)
    yield f"{'input':{width}}  result  times shorter  {f'{level:g} % interval':16}  pairs"
    for each in proof.inputs:
        result = each.result.upper() if each.result == "loses" else each.result
        interval = f"{each.low:.3f} to {each.high:.3f}"
        numbers = f"{each.speedup:13.3f}  {interval:16}  {each.pairs:5}"
        yield f"{each.input:{width}}  {result:6}  {numbers}  ({each.what} time)"
