"""Who failed: whether what happened beside a candidate happens to the unchanged program alone."""

from __future__ import annotations

import shutil

from . import process, tools
from .job import Job
from .record import Record
from .trees import TreeChangedError

BASELINE = "baseline"
"""The ``side`` among the facts of a gate that the unchanged program failed: that says nothing about the candidate.

``steady`` beside it is False where it did not fail again when nothing of the candidate was there any more."""


def runs_alone(job: Job, record: Record, name: str) -> bool:
    """Whether the original runs on an input once more, where nothing that the candidate's runs left fills the disk."""
    record.event("run", f"{BASELINE} on {name} (alone)")
    for left in (job.work / "runs").glob("candidate-*"):
        shutil.rmtree(str(left), ignore_errors=True)
    with tools.gpu_turn(False, job.gpu_uuid):
        return job.run(BASELINE, name, "alone")[0].good


def own_change(job: Job, error: TreeChangedError) -> str:
    """What to say where the original itself changes a file of its folder; '' where it is the candidate that does.

    A folder was looked at after every run, so that one which changed was changed by the run before. Where the candidate
    changed its own, the original may do as much: it is run, in a copy that is still as it was built.
    """
    tree = job.trees.get(BASELINE)
    if not error.side or tree is None:
        return ""
    if error.side == BASELINE:
        return str(error) if job.last == BASELINE else ""
    if job.last == BASELINE:
        return ""
    scratch = job.work / "own"
    try:
        with tools.gpu_turn(False, job.gpu_uuid):
            for name, command in job.inputs.items():
                tree.restore(BASELINE)
                shutil.rmtree(str(scratch), ignore_errors=True)
                scratch.mkdir(parents=True)
                environment, log = job.environment(scratch), job.logs / f"{BASELINE}-{name}"
                process.run(command, job.tree(BASELINE), environment, job.run_limits, log, "own", "run")
                job.last = BASELINE
        tree.restore(BASELINE)
    except TreeChangedError as changed:
        return str(changed) if job.last == BASELINE else ""
    return ""
