"""Pack a proof job for every change that the study's experiments wait for: python pack.py JOBS [PROGRAM …].

Each kernel and subset of evidence of ``samples/campaign.toml`` is asked for as the campaign asks, building and proving
nothing. What it would look up in the records and does not find as today's runner makes them, with times on every input,
becomes a job. A job is called RANK-PROGRAM-KEY, so that in the order of names the first choices of all come first;
``index.json`` says what each holds. The arena's ``fight.py`` proves them, ``gains/keep.py`` keeps what they gave.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optimas_lsp.campaign.design import Program, read
from optimas_lsp.campaign.experiment import Experiment
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.course.course import Course
from optimas_lsp.prove.executors.credible import timed_inputs
from optimas_lsp.prove.executors.outcome import Running
from optimas_lsp.prove.executors.recorded import NotRecordedError, Recorded, specification_of
from optimas_lsp.prove.key import key_of
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.prompt import EvidenceMissingError
from optimas_lsp.rewrite.proposal import Proposal

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
HOW = {"minimum_pairs": 5, "maximum_pairs": 9, "timing_seconds": 15.0, "time_inputs": "all"}
"""Enough where runs scatter by half a percent; the interval that comes out says whether it was."""


@dataclass(frozen=True)
class Waiting(Recorded):
    """Records, and a copy of every job that has none which was made as today."""

    jobs: Path

    def submit(self, job: Path) -> Running:
        """What was recorded; a job without goes to ``jobs``, under its key. Raises NotRecordedError for that one."""
        try:
            found = super().submit(job)
            outcome = found.collect()
            as_today = ", " not in (outcome.recorded or "").partition(" on ")[2].partition(", ")[2]
            inputs = set(specification_of(job)["target"]["inputs"])
            if as_today and (outcome.gate("time") is None or inputs <= timed_inputs(outcome.timing)):
                return found
        except NotRecordedError:
            pass
        key = key_of(job, specification_of(job))
        shutil.copytree(job, self.jobs / key, dirs_exist_ok=True)
        raise NotRecordedError("it waits for a GPU", where=self.records)


def asked(experiment: Experiment, jobs: Path) -> tuple[Course, Rewriting]:
    """The experiment's rewrite, as far as it goes without a GPU."""
    settings: dict[str, Any] = dict(experiment.request.settings or {})
    settings["prove"] = {**settings["prove"], **HOW}
    settings["corpus"] = {**settings["corpus"], "enable": False}
    course = Course.of(experiment.request.model_copy(update={"settings": settings, "build": False}))
    assert course.prover is not None
    executor = Waiting(SAMPLES, jobs)
    course = replace(course, prover=replace(course.prover, executor=executor))
    return course, asyncio.run(course.run())


def jobs_of(course: Course, found: Rewriting, jobs: Path) -> Iterator[tuple[Path, Attempt, Candidate]]:
    """The packed jobs, each with the attempt that it is about."""
    name = course.subject.source.name
    packed = {
        hashlib.sha256((each / "patch" / name).read_bytes()).hexdigest(): each
        for each in jobs.iterdir()
        if (each / "patch" / name).is_file()
    }
    for attempt in found.attempts:
        if isinstance(attempt.reply.outcome, Proposal) and attempt.proof is not None:
            candidate = Candidate.of(course.task.data, attempt.reply.outcome, path=course.subject.source.path)
            if candidate.sha256 in packed:
                yield packed[candidate.sha256], attempt, candidate


def about(program: Program, course: Course, attempt: Attempt, candidate: Candidate) -> dict[str, Any]:
    """What a record says of the candidate beside its proof."""
    roofline = course.subject.kernel.roofline
    ceiling = None if roofline is None else roofline.ceiling
    name = course.subject.source.name
    assert isinstance(attempt.reply.outcome, Proposal)
    return {
        "sample": program.folder.name,
        "file": name,
        "kernels": [course.subject.kernel.name],
        "label": attempt.reply.text,
        "work_speedup": None if ceiling is None else ceiling.work_speedup,
        "diff": candidate.diff(name),
        "proposal": attempt.reply.outcome.model_dump(mode="json", by_alias=True),
    }


def main() -> None:
    """Write the jobs and an index of them."""
    destination = Path(sys.argv[1])
    loaded = read(SAMPLES / "campaign.toml")
    programs = {each.entry.name: each for each in loaded.programs}
    ranks: dict[Path, tuple[int, dict[str, Any]]] = {}
    seen: set[tuple[str, str, str]] = set()
    for experiment in Plan.of(loaded).experiments:
        axes = experiment.axes
        if axes.program not in (sys.argv[2:] or programs) or (axes.program, axes.kernel, axes.evidence) in seen:
            continue
        seen.add((axes.program, axes.kernel, axes.evidence))
        jobs = destination / axes.program
        jobs.mkdir(parents=True, exist_ok=True)
        try:
            course, found = asked(experiment, jobs)
        except EvidenceMissingError as error:
            sys.stdout.write(f"{axes.words()}: {error.what}\n")
            continue
        for place, attempt, candidate in jobs_of(course, found, jobs):
            rank, known = ranks.get(place, (attempt.number, about(programs[axes.program], course, attempt, candidate)))
            ranks[place] = (min(rank, attempt.number), known)
        sys.stdout.write(f"{axes.words()}: {len(found.attempts)} candidates, {len(ranks)} jobs\n")
        sys.stdout.flush()
    index: dict[str, Any] = {}
    for place, (rank, known) in sorted(ranks.items(), key=lambda item: (item[1][0], item[0])):
        name = f"{rank:02}-{place.parent.name}-{place.name[:8]}"
        place.rename(destination / name)
        index[name] = known
    for program in programs:
        shutil.rmtree(destination / program, ignore_errors=True)
    (destination / "index.json").write_text(json.dumps(index, indent=1), "utf-8")


if __name__ == "__main__":
    main()
