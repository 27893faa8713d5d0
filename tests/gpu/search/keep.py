"""Keep what searches proved as entries of samples/*/outcomes.json: python keep.py OUT.json […].

OUT.json is what ``run.py`` brought from the GPU machine, more than one if all are of one machine. Each whole proof's
job is packed again here, from the same tree as there; only where that gives the very job that was proven, its result is
kept. How long each search took goes to ``samples/searches.json``, from which ``benchmarks/bench_proof_overhead.py``
judges an iteration.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.config import Settings
from optimas_lsp.course.program import Program
from optimas_lsp.prove.executors.outcome import Running
from optimas_lsp.prove.executors.recorded import OUTCOMES, NotRecordedError, keep, outcome_entry
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.target import read_target
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.outcome import Attempt, Rewriting

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
WHOLE = "sanitize"
"""A gate that only whole proofs climb."""


@dataclass(frozen=True)
class Packed:
    """Packs, copies the job and proves nothing."""

    place: Path

    def submit(self, job: Path) -> Running:
        """Always raises NotRecordedError."""
        shutil.copytree(job, self.place, dirs_exist_ok=True)
        raise NotRecordedError("it was only packed", where=job)


def whole(said: Rewriting) -> Iterator[tuple[int, Attempt]]:
    """(how many whole proofs before it and itself, attempt) of every attempt that was proven or refuted as a whole."""
    count = 0
    for attempt in said.attempts:
        gates = () if attempt.proof is None else attempt.proof.details.get("gates") or ()
        if any(gate["name"] == WHOLE and gate["status"] != "skipped" for gate in gates):
            count += 1
            yield count, attempt


def packed(sample: str, said: Rewriting, number: int, attempt: Attempt, place: Path) -> dict[str, Any]:
    """What is said beside the proof; the job is in ``place``."""
    folder = SAMPLES / sample
    source = folder / f"{sample}.cu"
    [report] = folder.glob("profile.ncu-rep*")
    settings = Settings()
    settings = settings.model_copy(update={"prove": settings.prove.model_copy(update={"reprofile": True})})
    subject = Program.of(source).subject(report, "")  # the costliest, as the search chose
    prover = Prover(folder, subject, read_target(folder / "optimas.toml"), Packed(place), settings=settings)
    prover = prover.of_number(number)
    proposal = attempt.reply.outcome
    candidate = Candidate.of(source.read_bytes(), proposal, path=source)
    assert attempt.verdict is not None
    asyncio.run(prover.prove(candidate, attempt.verdict))
    ceiling = subject.kernel.roofline.ceiling if subject.kernel.roofline is not None else None
    return {
        "file": source.name,
        "kernels": [subject.kernel.name],
        "label": attempt.reply.text,
        "work_speedup": None if ceiling is None else ceiling.work_speedup,
        "verified": "packing this candidate again, when this was kept, gives the same bundle hash",
        "diff": candidate.diff(source.name),
        "proposal": proposal.model_dump(mode="json", by_alias=True),
    }


def times(found: dict[str, Any], said: Rewriting) -> dict[str, Any]:
    """Seconds of a search: of all, of waiting for other searches on the same GPU, of its proofs, of the last whole one.

    Neither of the latter two holds waiting.
    """
    proofs = [each for attempt in said.attempts for each in (attempt.screened, attempt.proof) if each is not None]
    costs = {each.details["job"]: each.details["cost"] for each in proofs if each.details.get("cost")}
    waited = {job: _spent(cost, "waiting") for job, cost in costs.items()}
    spent = {job: sum(stage["wall_s"] for stage in cost.values()) - waited[job] for job, cost in costs.items()}
    wholes = [spent[attempt.proof.details["job"]] for _, attempt in whole(said) if attempt.proof is not None]
    return {
        "sample": found["sample"],
        "date": said.started[:10],
        "options": found["options"],
        "at_once": found["at_once"],
        "seconds": found["seconds"],
        "waiting_s": round(sum(waited.values()), 1),
        "proofs_s": round(sum(spent.values()), 1),
        "whole_s": round(wholes[-1], 1) if wholes else None,
        "answers": len(said.attempts),
        "status": said.status,
        "sentence": said.sentence,
    }


def _spent(cost: dict[str, Any], what: str) -> float:
    return sum(stage["spent"].get(what, {}).get("seconds", 0.0) for stage in cost.values())


def machine_of(found: dict[str, Any]) -> dict[str, Any]:
    """What a whole proof of this search says of its machine, if there was one that says it."""
    proofs = (attempt["proof"] or {} for attempt in found["said"]["attempts"])
    return next((known for each in proofs if (known := each.get("details", {}).get("machine") or {}).get("gpu")), {})


def main() -> None:
    """Write entries and times."""
    place = SAMPLES / "searches.json"
    known: list[dict[str, Any]] = json.loads(place.read_text("utf-8"))["searches"] if place.is_file() else []
    searches = {each["sample"]: each for each in known}
    results = [each for place in sys.argv[1:] for each in json.loads(Path(place).read_text("utf-8"))]
    machine = next(filter(None, map(machine_of, results)), {})
    for found in results:
        said, sample = Rewriting.model_validate(found["said"]), found["sample"]
        searches[sample] = times(found, said)
        for number, attempt in whole(said):
            assert attempt.proof is not None
            details = attempt.proof.details
            with tempfile.TemporaryDirectory() as folder:
                job = Path(folder) / "job"
                about = packed(sample, said, number, attempt, job)
                made = json.loads((job / "job.json").read_text("utf-8"))["hash"]
                if made != details["job"]:
                    sys.stdout.write(f"{sample}: attempt {attempt.number} was not kept: packing gives another job\n")
                    continue
                result = {**details, "finished": said.started, "machine": details.get("machine") or machine}
                (job / "result.json").write_text(json.dumps(result), "utf-8")
                keep(outcome_entry(job, about), SAMPLES / sample / OUTCOMES)
                sys.stdout.write(f"{sample}: attempt {attempt.number} {details['verdict']}\n")
    place.write_text(json.dumps({"searches": [searches[name] for name in sorted(searches)]}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
