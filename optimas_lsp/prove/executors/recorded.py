"""Results that were recorded for exactly this change of exactly this program, labelled with machine, date and how."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from optimas_lsp.errors import OptimasError
from optimas_lsp.prove.bundle import bundle_hash
from optimas_lsp.prove.executors.credible import deciding, held, made_on, timed_inputs
from optimas_lsp.prove.executors.outcome import Event, ExecutorError, GateOutcome, Outcome, Running, parse_outcome
from optimas_lsp.prove.executors.record_file import AGAIN, read_json
from optimas_lsp.prove.key import How, differences, how_of, key_of, strictness
from optimas_lsp.prove.runner.__main__ import ORDER, REQUIRED

SCHEMA = "optimas.record/2"
OUTCOMES = "outcomes.json"
"""A list of results beside the program they are about, as the samples have it."""

OUTCOME_SCHEMA = "optimas.recorded-outcome/1"


ABSENT = "it is not in the record"
UNSEALED = "the record bears no seal: it is as good as the place that it comes from"


class NotRecordedError(OptimasError):
    """There is no result for exactly this job."""


@dataclass(frozen=True)
class Record:
    """One recorded result and where it stands; ``day`` is its date, ISO 8601."""

    where: Path
    how: How
    result: dict[str, Any]
    day: str


def specification_of(job: Path) -> dict[str, Any]:
    """What job.json says, without its hash; raises ExecutorError when the job is not as it was packed."""
    specification: dict[str, Any] = json.loads((job / "job.json").read_text("utf-8"))
    packed = specification.pop("hash", None)
    if bundle_hash(job, specification) != packed:
        raise ExecutorError("the job was changed after it was packed", where=job, remedy="pack it again")
    return specification


def record(job: Path, records: Path) -> Path:
    """Keep the finished result of ``job`` in the folder ``records``; returns the file. Raises ExecutorError."""
    key, how, result = _finished(job)
    records.mkdir(parents=True, exist_ok=True)
    place = records / f"{key}.json"
    entry = {"schema": SCHEMA, "key": key, "how": how.model_dump(mode="json"), "result": result}
    place.write_text(json.dumps(entry, indent=1, sort_keys=True), "utf-8")
    return place


def outcome_entry(job: Path, about: Mapping[str, object]) -> dict[str, Any]:
    """The finished result of ``job`` as an entry of ``outcomes.json``; ``about`` says which candidate it was.

    Raises ExecutorError.
    """
    key, how, result = _finished(job)
    kept = ("name", "status", "sentence", "seconds")
    return {
        "schema": OUTCOME_SCHEMA,
        "date": str(result["finished"])[:10],
        "machine": result.get("machine"),
        "bundle": result["job"],
        "key": key,
        "how": how.model_dump(mode="json"),
        "verdict": result["verdict"],
        "gates": [{**{name: gate[name] for name in kept}, **_whose(gate)} for gate in result["gates"]],
        **{name: result.get(name) for name in ("timing", "cost", "resources", "not_checked")},
        **about,
    }


def keep(entry: Mapping[str, Any], place: Path) -> None:
    """Add an entry to ``place``, an ``outcomes.json``.

    It takes the place of entries about the same change that a looser version made and of those that it covers: all the
    inputs that they have times of. One of a stricter version stays, and so does every one where the new one shows
    nothing. Raises ExecutorError.
    """
    known = _entries(read_json(place).get("outcomes") or [], place) if place.is_file() else []
    version, inputs = strictness(_how(dict(entry), place).version), timed_inputs(entry.get("timing"))

    def stays(other: dict[str, Any]) -> bool:
        if other.get("key") != entry["key"]:
            return True
        its, known_of = strictness(_how(other, place).version), timed_inputs(other.get("timing"))
        if its > version:
            return True
        if not inputs and not _refuted(entry):
            return bool(known_of) or _refuted(other)
        return (its == version or bool(inputs)) and not known_of <= inputs

    place.write_text(json.dumps({"outcomes": [*filter(stays, known), entry]}, indent=1), "utf-8")


def _whose(gate: Mapping[str, Any]) -> dict[str, Any]:
    """That the unchanged program failed this gate, where it did: without it the candidate would be blamed."""
    side: object = gate.get("facts", {}).get("side")
    return {"facts": {"side": side}} if gate["status"] == "fail" and side else {}


def _finished(job: Path) -> tuple[str, How, dict[str, Any]]:
    specification = specification_of(job)
    result: dict[str, Any] = json.loads((job / "result.json").read_text("utf-8"))
    packed: dict[str, Any] = json.loads((job / "job.json").read_text("utf-8"))
    if result.get("job") != packed["hash"] or not result.get("verdict") or not result.get("finished"):
        raise ExecutorError("there is no finished result of this job", where=job, remedy="prove it first")
    result.pop("seal", None)
    return key_of(job, specification), how_of(job, specification), result


@dataclass(frozen=True)
class Recorded:
    """A folder of recorded results: files that ``record`` wrote, and ``outcomes.json`` there or one folder below."""

    records: Path

    def submit(self, job: Path) -> Running:
        """The recorded run, the latest where there are several; raises NotRecordedError when there is none."""
        if not os.path.isdir(self.records):  # noqa: PTH112  (a folder that may not be looked at is none, and no failure)
            raise ExecutorError("there is no such folder", where=self.records, remedy="say where the records are")
        specification = specification_of(job)
        key, now = key_of(job, specification), how_of(job, specification)
        found = [*self._own(key), *self._outcomes(key)]
        if not found:
            raise NotRecordedError(
                f"no result was recorded for this job ({key[:12]})",
                where=self.records,
                remedy="prove it on a machine with a GPU",
            )
        latest = max(found, key=partial(_worth, wanted=deciding(specification)))
        return RecordedRun(_outcome(latest, specification, differences(latest.how, now)))

    def _own(self, key: str) -> Iterator[Record]:
        place = self.records / f"{key}.json"
        if place.is_file():
            entry = read_json(place)
            result: object = entry.get("result")
            if entry.get("schema") != SCHEMA or entry.get("key") != key or not isinstance(result, dict):
                raise ExecutorError("this is no recorded result of this job", where=place, remedy=AGAIN)
            found = cast("dict[str, Any]", result)
            yield Record(place, _how(entry, place), found, str(found.get("finished")))

    def _outcomes(self, key: str) -> Iterator[Record]:
        for place in sorted([*self.records.glob(OUTCOMES), *self.records.glob(f"*/{OUTCOMES}")]):
            entries: object = read_json(place).get("outcomes") or []
            for entry in _entries(entries, place):
                if entry.get("key") == key and entry.get("schema") == OUTCOME_SCHEMA:
                    result = {**entry, "job": entry.get("bundle")}
                    yield Record(place, _how(entry, place), result, str(entry.get("date")))


def _worth(record: Record, wanted: str) -> tuple[bool, int, str, bool]:
    """By what one record counts before another: says it of this input, how strictly, when, and the worse verdict."""
    timing: object = record.result.get("timing")
    says = wanted in timed_inputs(timing) or (timing is None and _refuted(record.result))
    return says, strictness(record.how.version), record.day, record.result.get("verdict") != "proven"


def _refuted(result: Mapping[str, Any]) -> bool:
    """Whether the candidate failed a gate; a proof that was not made, or whose original failed, says nothing of it."""
    gates: object = result.get("gates")
    every = cast("list[object]", gates) if isinstance(gates, list) else []
    failed = any(isinstance(each, dict) and cast("dict[str, Any]", each).get("status") == "fail" for each in every)
    return failed and result.get("verdict") == "rejected"


def _entries(entries: object, place: Path) -> list[dict[str, Any]]:
    every = cast("list[object]", entries) if isinstance(entries, list) else [None]
    if not all(isinstance(each, dict) for each in every):
        raise ExecutorError("this is no list of recorded results", where=place, remedy=AGAIN)
    return cast("list[dict[str, Any]]", every)


def _how(entry: dict[str, Any], place: Path) -> How:
    try:
        return How.model_validate(entry.get("how"))
    except ValidationError:
        raise ExecutorError(
            "this record does not say how the proof was made", where=place, remedy="prove again"
        ) from None


def _outcome(found: Record, specification: dict[str, Any], other: tuple[str, ...]) -> Outcome:
    """The recorded outcome under today's guardrails: a change that they refuse is rejected whatever was recorded."""
    made = made_on(found.result, found.day, found.where)
    outcome = parse_outcome(found.result, where=found.where, recorded=made)
    static = GateOutcome(name="static", **specification["static"])
    if static.status == "fail":
        label = ", ".join([made, *other])
        return outcome.model_copy(update={"verdict": "rejected", "gates": (static,), "timing": None, "recorded": label})
    # the guardrails' verdict is today's
    then = outcome.gate("static")
    refused = outcome.verdict == "rejected" and then is not None and then.status == "fail"
    own = outcome.model_copy(
        update={
            "gates": tuple(gate for gate in outcome.gates if gate.name != "static"),
            "verdict": "not proven" if refused else outcome.verdict,
        }
    )
    outcome = held(own, specification, found.how.settings, found.where)
    required = set(specification.get("required") or REQUIRED)
    gates = (static, *outcome.gates)
    open_ = required - {gate.name for gate in gates if gate.status == "pass"}
    if not any(gate.status == "fail" for gate in gates):  # where one failed, the later ones were not climbed
        absent = open_ - {gate.name for gate in gates}
        gates += tuple(GateOutcome(name=name, status="skipped", sentence=ABSENT) for name in ORDER if name in absent)
    verdict = "not proven" if outcome.verdict == "proven" and open_ else outcome.verdict
    timed, wanted = (outcome.timing or {}).get("input"), deciding(specification)
    if timed not in {None, wanted}:
        other += (f"timed on input {timed}, not on {wanted}",)
    unchecked = [f"this result was recorded {each}" for each in other]
    untimed = sorted(set(specification.get("time_inputs") or ()) - timed_inputs(outcome.timing) - {wanted})
    unchecked += [f"the record has no times of input {name}" for name in untimed]
    unchecked += [UNSEALED, *specification.get("left_out", ())]
    return outcome.model_copy(
        update={
            "verdict": verdict,
            "gates": gates,
            "not_checked": (*outcome.not_checked, *unchecked),
            "recorded": ", ".join([made, *other]),
        }
    )


@dataclass(frozen=True)
class RecordedRun:
    """A run that is over already."""

    outcome: Outcome

    def events(self) -> Iterator[Event]:
        """One event: that it is recorded, and where and when."""
        yield Event(stage="recorded", text=self.outcome.recorded or "")

    def cancel(self) -> None:
        """Nothing runs."""

    def collect(self) -> Outcome:
        """The recorded outcome, labelled."""
        return self.outcome
