"""What a record must bear out before it counts: it bears no seal, so it is held against itself and today's thresholds.

That finds what was changed by hand or half forged. A forger who invents every single time is not found: a record is as
good as the place that it comes from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal, cast

from optimas_lsp.prove.executors.outcome import ExecutorError, GateOutcome, Outcome
from optimas_lsp.prove.runner.__main__ import ORDER
from optimas_lsp.prove.runner.job import SIDES, TIMING
from optimas_lsp.prove.runner.measure import credible
from optimas_lsp.prove.runner.timed import judge, result_of, summarise

FEWEST, MOST = 3, 1000
"""Pairs of runs, as the settings allow them."""

WITNESSED = ("time",)
KEYS = ("kernel_ns", "gpu_ns", "program_s")
NUMBERS = ("baseline", "candidate", "speedup", "low", "high")


def made_on(result: Mapping[str, Any], day: str, where: Path) -> str:
    """'recorded on MACHINE, DATE'; raises ExecutorError where that is not said."""
    machine: object = result.get("machine") or {}
    gpu: object = cast("dict[str, Any]", machine).get("gpu") or {} if isinstance(machine, dict) else None
    name: object = cast("dict[str, Any]", gpu).get("name", "a machine without a GPU") if isinstance(gpu, dict) else None
    try:
        made = date.fromisoformat(day[:10])
    except ValueError:
        made = None
    if not isinstance(name, str) or made is None:
        raise ExecutorError(
            "this record does not say on what machine and when it was made", where=where, remedy="prove again"
        )
    return f"recorded on {''.join(each if each.isprintable() else ' ' for each in name)}, {made.isoformat()}"


def held(outcome: Outcome, specification: Mapping[str, Any], recorded: Mapping[str, Any], where: Path) -> Outcome:
    """The outcome, no better than its own gates and times are by today's thresholds.

    ``recorded`` are the settings that the proof was made with. Raises ExecutorError where it contradicts itself.
    """
    names = [gate.name for gate in outcome.gates]
    if len(set(names)) != len(names) or not set(names) <= set(ORDER):
        raise _contradiction("its gates are not those of a proof", where)
    if outcome.verdict is None:
        raise _contradiction("it has no verdict", where)
    _cites(outcome, where)
    if outcome.timing is not None:
        ends = _agrees(outcome, outcome.timing, recorded, where)
        outcome = _with_ends(decided(outcome, specification, recorded, where), specification, ends)
    if any(gate.status == "fail" for gate in outcome.gates):
        return outcome.model_copy(update={"verdict": "rejected" if outcome.fault is None else "not proven"})
    if outcome.verdict == "rejected":
        raise _contradiction("it is rejected, and no gate failed", where)
    if outcome.verdict != "proven":
        return outcome
    wrong = _wrong(outcome, specification, recorded, where)
    if wrong is None:
        return outcome
    gates = tuple(wrong if gate.name == wrong.name else gate for gate in outcome.gates)
    return outcome.model_copy(update={"verdict": "rejected", "gates": gates})


def timed_inputs(timing: object) -> frozenset[str]:
    """The inputs whose times a record holds."""
    if not isinstance(timing, dict):
        return frozenset()
    known = cast("dict[str, Any]", timing)
    others: object = known.get("inputs") or {}
    return frozenset({str(known.get("input")), *(cast("dict[str, Any]", others) if isinstance(others, dict) else ())})


def deciding(specification: Mapping[str, Any]) -> str:
    """The input whose time decides."""
    target: dict[str, Any] = specification["target"]
    return target.get("time_input") or next(iter(target["inputs"]))


def decided(outcome: Outcome, specification: Mapping[str, Any], recorded: Mapping[str, Any], where: Path) -> Outcome:
    """The outcome by the times of the input that decides today, where the record was decided by another's.

    ``specification`` has the job's ``target`` and, perhaps, its ``ceiling_speedup``; ``recorded`` are the settings that
    the proof was made with. Raises ExecutorError where single times are missing.

    Without times of that input, one that was too slow elsewhere was not shown to be so here; one that was proven stays
    it, and its label says on what input it was timed. What failed otherwise than by its times has failed on any input,
    and times alone prove nothing where another gate is open.
    """
    wanted, gate, timing = deciding(specification), outcome.gate("time"), outcome.timing or {}
    if not timing or timing.get("input") == wanted or gate is None or gate.status == "skipped":
        return outcome
    before = tuple(each for each in outcome.gates if ORDER.index(each.name) < ORDER.index("time"))
    after = tuple(each for each in outcome.gates if ORDER.index(each.name) > ORDER.index("plausible"))
    if any(each.status == "fail" for each in before):
        return outcome
    inputs: dict[str, Any] = timing.get("inputs") or {}
    plan = {**TIMING, **_thresholds(recorded, where)}
    if wanted not in inputs:
        late = next((each for each in outcome.gates if each.status == "fail"), None)
        if late is None or late.name not in {"time", "plausible"}:
            return outcome
        if late.name == "time" and not late.sentence.startswith(_judged(_runs(timing, where), plan)[2]):
            return outcome
        sentence = f"the record has times of input {timing.get('input')} only, not of {wanted}: {late.sentence}"
        unknown = GateOutcome(name="time", status="skipped", sentence=sentence)
        return outcome.model_copy(update={"gates": (*before, unknown), "verdict": "not proven", "timing": None})
    summary, status, sentence = _judged(_runs(inputs[wanted], where), plan)
    gates = [GateOutcome(name="time", status=status, sentence=sentence, seconds=gate.seconds)]
    if status == "pass":
        status, sentence, facts = credible(summary, cast("float | None", specification.get("ceiling_speedup")), False)
        gates.append(GateOutcome(name="plausible", status=_status(status), sentence=sentence, facts=facts))
    failed = status != "pass"
    whole = "kernel_ns" in summary and all(each.status == "pass" for each in before)
    kept = {"source": timing.get("source"), "level": timing.get("level"), "inputs": inputs}
    update = {
        "gates": (*before, *gates, *(() if failed else after)),
        "verdict": "rejected" if failed else "proven" if whole else "not proven",
        "timing": {**inputs[wanted], **kept},
    }
    return outcome.model_copy(update=update)


def _judged(
    series: dict[str, dict[str, list[float]]], plan: Mapping[str, Any]
) -> tuple[dict[str, Any], Literal["pass", "fail", "skipped"], str]:
    """(summary, status, sentence) of single times by their kernels, or by the program where no kernel was timed."""
    summary = summarise(series, WITNESSED, dict(plan))
    status, sentence = judge(summary, series, dict(plan), _modes(summary))
    return summary, _status(status), sentence


def _modes(summary: Mapping[str, Any]) -> tuple[str, ...]:
    return WITNESSED if "kernel_ns" in summary else ()


def _status(said: str) -> Literal["pass", "fail", "skipped"]:
    return "pass" if said == "pass" else "fail" if said == "fail" else "skipped"


def _cites(outcome: Outcome, where: Path) -> None:
    """Raise ExecutorError unless what a gate says of cited findings is sentences."""
    if not all(_sentences(gate.facts.get("cited")) for gate in outcome.gates):
        raise _contradiction("what it says of cited findings is no list of sentences", where)


def _sentences(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Any]", value))
    )


def _agrees(outcome: Outcome, timing: dict[str, Any], settings: Mapping[str, Any], where: Path) -> dict[str, str]:
    """Which inputs are won, tied, lost; raises ExecutorError unless every number about times follows from the runs."""
    found: object = timing.get("inputs") or {}
    first: object = timing.get("input")
    if not isinstance(found, dict):
        raise _contradiction("its inputs are no table", where)
    inputs = cast("dict[str, Any]", found)
    if not isinstance(first, str):
        raise _contradiction("it does not say on which input it was timed", where)
    plan = {**TIMING, **_thresholds(settings, where)}
    if timing.get("level") not in (None, plan["level"]):
        raise _contradiction("the level of its intervals is another than its settings say", where)
    _numbers_agree(timing, plan, where)
    ends: dict[str, str] = {}
    for name, each in inputs.items():
        summary = _numbers_agree(each, plan, where)
        if each.get("input") != name:
            raise _contradiction(f"the times of input {name} are those of another", where)
        ends[name] = result_of(summary, plan, _modes(summary))
    if inputs and (first not in inputs or inputs[first]["runs"] != timing["runs"]):
        raise _contradiction(f"it has two kinds of times of input {first}", where)
    gate = outcome.gate("time")
    if gate is not None and (gate.facts.get("inputs") or ends) != ends:
        raise _contradiction("which inputs it wins and loses does not follow from its runs", where)
    return ends


def _with_ends(outcome: Outcome, specification: Mapping[str, Any], ends: Mapping[str, str]) -> Outcome:
    """The outcome whose gate *time* says how every input ended that is to be timed today."""
    wanted = {name: ends[name] for name in specification.get("time_inputs") or () if name in ends}
    gates = tuple(
        gate.model_copy(update={"facts": {**gate.facts, "inputs": wanted}}) if wanted and gate.name == "time" else gate
        for gate in outcome.gates
    )
    return outcome.model_copy(update={"gates": gates})


def _numbers_agree(timing: object, plan: Mapping[str, Any], where: Path) -> dict[str, Any]:
    """The summary of the single runs of one input; raises ExecutorError where the record has other numbers."""
    summary = summarise(_runs(timing, where), WITNESSED, dict(plan))
    said_of = cast("dict[str, Any]", timing)
    for key in KEYS:
        said: object = said_of.get(key)
        found: dict[str, Any] | None = summary.get(key)
        if (said is None) != (found is None):
            raise _contradiction(f"its times and its runs do not have the same {key}", where)
        if found is None:
            continue
        for name in NUMBERS:
            value: float = found[name]
            if not _same(said, name, value):
                raise _contradiction(f"{key} says {name} {_of(said, name)}, its runs give {value:.6g}", where)
    if said_of.get("pairs") != summary["pairs"]:
        raise _contradiction(f"it says {said_of.get('pairs')} pairs and holds {summary['pairs']}", where)
    if not _sentences(said_of.get("warnings")):
        raise _contradiction("its warnings are no sentences", where)
    return summary


def _thresholds(settings: Mapping[str, Any], where: Path) -> dict[str, float]:
    """The level of the intervals and the least effect that the proof was made with; raises ExecutorError."""
    found: dict[str, float] = {}
    for name, least, most in (("level", 0.5, 1.0), ("min_effect", 0.0, 1.0)):
        value: object = settings.get(f"timing.{name}", TIMING[name])
        if not isinstance(value, int | float) or not least <= value <= most:
            raise _contradiction(f"timing.{name} is none", where)
        found[name] = float(value)
    return found


def _runs(timing: object, where: Path) -> dict[str, dict[str, list[float]]]:
    """The single times, once they are what a measurement can give; raises ExecutorError."""
    try:
        runs = cast("dict[str, Any]", timing)["runs"]
        series = {side: {key: [float(t) for t in runs[side].get(key, [])] for key in KEYS} for side in SIDES}
    except (TypeError, KeyError, AttributeError, ValueError):
        raise _contradiction("its single times are missing", where) from None
    pairs = len(series["baseline"]["program_s"])
    lists = [series[side][key] for side in SIDES for key in KEYS]
    if not FEWEST <= pairs <= MOST or any(len(each) not in {0, pairs} for each in lists):
        raise _contradiction("both versions were not run equally often", where)
    if any(not math.isfinite(time) or time <= 0 for each in lists for time in each):
        raise _contradiction("a time is not a positive number", where)
    return series


def _wrong(
    outcome: Outcome, specification: Mapping[str, Any], recorded: Mapping[str, Any], where: Path
) -> GateOutcome | None:
    """The gate that a recorded success does not pass by its own times and today's thresholds, if there is one."""
    timing, gate = outcome.timing, outcome.gate("time")
    if gate is None or gate.status != "pass":
        return None
    series = None if timing is None else _runs(timing, where)
    if series is None or not all(series[side]["kernel_ns"] for side in SIDES):
        return GateOutcome(name="time", status="fail", sentence="the record holds no time of the kernel")
    plan = {**TIMING, **specification.get("timing", {})}
    summary = summarise(series, WITNESSED, plan)
    status, sentence = judge(summary, series, plan, WITNESSED)
    if status != "pass":
        return GateOutcome(name="time", status="fail", sentence=sentence)
    slower = _slower(timing or {}, specification, plan, where)
    if slower is not None:
        return slower
    then = {**plan, **_thresholds(recorded, where)}
    said = judge(summarise(series, WITNESSED, then), series, then, WITNESSED)[1]
    if not gate.sentence.startswith(said):
        raise _contradiction("what it says about times does not follow from its runs", where)
    ceiling = cast("float | None", specification.get("ceiling_speedup"))
    status, sentence, facts = credible(summary, ceiling, False)
    if status == "fail":
        return GateOutcome(name="plausible", status="fail", sentence=f"as recorded: {sentence}", facts=facts)
    return None


def _slower(
    timing: Mapping[str, Any], specification: Mapping[str, Any], plan: Mapping[str, Any], where: Path
) -> GateOutcome | None:
    """The gate *time* where today every input is timed, none may be slower, and one is by its recorded times."""
    if plan.get("any_slower") != "reject":
        return None
    inputs: dict[str, Any] = timing.get("inputs") or {}
    for name in specification.get("time_inputs") or ():
        if name in inputs:
            summary, _, sentence = _judged(_runs(inputs[name], where), plan)
            if result_of(summary, dict(plan), _modes(summary)) == "loses":
                return GateOutcome(name="time", status="fail", sentence=f"input {name}: {sentence}")
    return None


def _same(said: object, name: str, found: float) -> bool:
    value = _of(said, name)
    return isinstance(value, int | float) and math.isclose(value, found, rel_tol=1e-9)


def _of(said: object, name: str) -> object:
    return cast("dict[str, Any]", said).get(name) if isinstance(said, dict) else None


def _contradiction(why: str, where: Path) -> ExecutorError:
    return ExecutorError(f"this record contradicts itself: {why}", where=where, remedy="prove again")
