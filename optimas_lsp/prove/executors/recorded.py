"""Results that were recorded for exactly this job, labelled with their machine and date; otherwise nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.prove.bundle import bundle_hash
from optimas_lsp.prove.executors.outcome import Event, ExecutorError, Outcome, Running, parse_outcome

SCHEMA = "optimas.record/1"


class NotRecordedError(OptimasError):
    """There is no result for exactly this job."""


def hash_of(job: Path) -> str:
    """The job's hash, computed from its content; raises ExecutorError when it is not the one it was packed with."""
    specification: dict[str, Any] = json.loads((job / "job.json").read_text("utf-8"))
    packed = specification.pop("hash", None)
    found = bundle_hash(job, specification)
    if found != packed:
        raise ExecutorError("the job was changed after it was packed", where=job, remedy="pack it again")
    return found


def record(job: Path, records: Path) -> Path:
    """Keep the finished result of ``job`` in the folder ``records``; returns the file. Raises ExecutorError."""
    digest = hash_of(job)
    result: dict[str, Any] = json.loads((job / "result.json").read_text("utf-8"))
    if result.get("job") != digest or not result.get("verdict") or not result.get("finished"):
        raise ExecutorError("there is no finished result of this job", where=job, remedy="prove it first")
    result.pop("seal", None)
    records.mkdir(parents=True, exist_ok=True)
    place = records / f"{digest}.json"
    place.write_text(
        json.dumps({"schema": SCHEMA, "hash": digest, "result": result}, indent=1, sort_keys=True), "utf-8"
    )
    return place


@dataclass(frozen=True)
class Recorded:
    """A folder of recorded results."""

    records: Path

    def submit(self, job: Path) -> Running:
        """The recorded run; raises NotRecordedError when there is none for this very job."""
        digest = hash_of(job)
        place = self.records / f"{digest}.json"
        try:
            entry: dict[str, Any] = json.loads(place.read_text("utf-8"))
        except FileNotFoundError:
            raise NotRecordedError(
                f"no result was recorded for this job ({digest[:12]})",
                where=self.records,
                remedy="prove it on a machine with a GPU",
            ) from None
        except ValueError:
            raise ExecutorError("this is no recorded result", where=place) from None
        result: dict[str, Any] = entry.get("result") or {}
        if entry.get("schema") != SCHEMA or entry.get("hash") != digest or result.get("job") != digest:
            raise ExecutorError("this is no recorded result of this job", where=place)
        machine: dict[str, Any] = result.get("machine") or {}
        gpu: dict[str, Any] = machine.get("gpu") or {}
        label = f"recorded on {gpu.get('name', 'a machine without a GPU')}, {str(result.get('finished'))[:10]}"
        return RecordedRun(parse_outcome(result, where=place, recorded=label))


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
