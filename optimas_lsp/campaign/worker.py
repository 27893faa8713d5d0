"""What a worker of Parsl does: runs one experiment, keeps its result, and says in a few words how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optimas_lsp.campaign import process
from optimas_lsp.campaign.ending import Fault, fault_of
from optimas_lsp.campaign.experiment import Axes, Experiment, unchanged_now
from optimas_lsp.campaign.faults import Faults
from optimas_lsp.campaign.results import Results
from optimas_lsp.campaign.row import Row, row_of, row_of_error, row_of_fault
from optimas_lsp.course.request import Request
from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.outcome import Rewriting

CHANGED = "the program, its target or its report changed while the campaign ran, so it is not known what this is about"


def task_of(experiment: Experiment, results: Results, limit_s: float, gpus: Sequence[str] = ()) -> dict[str, Any]:
    """An experiment as data that crosses to another machine; ``gpus``: of a node's workers, in the order of ranks."""
    return {
        "key": experiment.key,
        "unchanged": experiment.unchanged,
        "axes": experiment.axes.plain(),
        "request": experiment.request.model_dump(mode="json"),
        "results": str(results.folder.absolute()),
        "limit_s": limit_s,
        "gpus": list(gpus),
    }


def perform(task: dict[str, Any]) -> dict[str, Any]:
    """Run the experiment and keep its result; returns key, ending, seconds and cost.

    One whose program is known to fail unchanged is not run: it ends with what was found. One whose program was changed
    since the plan was made has failed: its key names other content. Raises LostError when its
    process died, NotAcceptedError, and ResultsError when the result cannot be kept here.
    """
    results = Results(Path(task["results"]))
    axes, faults = Axes(**task["axes"]), Faults(results)
    known = faults.of(task["unchanged"], axes)
    if known is not None:
        return skipped(task["key"], axes, known, results)
    request = Request.model_validate(task["request"])
    answer = process.run(request, float(task["limit_s"]), _on(task["gpus"]))
    if answer.message["kind"] == "outcome" and unchanged_now(request, axes.device, results.folder) != task["unchanged"]:
        row = row_of_error(task["key"], axes, "ProgramChangedError", CHANGED, answer.seconds)
        results.keep(row.key, row.model_dump(mode="json", by_alias=True), None)
    elif answer.message["kind"] == "outcome":
        outcome: dict[str, Any] = answer.message["outcome"]
        rewriting = Rewriting.model_validate(outcome)
        row = row_of(task["key"], axes, rewriting, answer.seconds)
        results.keep(row.key, row.model_dump(mode="json", by_alias=True), outcome)
        fault = fault_of(rewriting)
        if fault is not None and fault.steady:
            faults.keep(task["unchanged"], axes, Fault(row.gate, row.sentence))
    else:
        row = row_of_error(task["key"], axes, str(answer.message["type"]), _sentence(answer.message), answer.seconds)
        results.keep(row.key, row.model_dump(mode="json", by_alias=True), None)
    return summary_of(row)


def _on(gpus: Sequence[str]) -> dict[str, str]:
    """The variables by which an experiment sees this worker's GPU and no other.

    Parsl's own choice is not used: it divides by the number of workers a GPU as if they were told by MPS, so that with
    two workers a GPU all of them would see the first (``parsl.executors.high_throughput.process_worker_pool.worker``).
    """
    if not gpus:
        return {}
    gpu = gpus[int(os.environ.get("PARSL_WORKER_RANK", "0")) % len(gpus)]
    return {"CUDA_VISIBLE_DEVICES": gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}  # the order in which nvidia-smi counts


def skipped(key: str, axes: Axes, fault: Fault, results: Results) -> dict[str, Any]:
    """Keep the result of an experiment that need not be run; returns as ``perform`` does."""
    row = row_of_fault(key, axes, fault)
    results.keep(row.key, row.model_dump(mode="json", by_alias=True), None)
    return summary_of(row)


def summary_of(row: Row) -> dict[str, Any]:
    """What the campaign keeps count of."""
    return {"key": row.key, "ending": row.ending, "total_s": row.total_s or 0.0, "cost_usd": row.cost_usd}


def _sentence(message: dict[str, Any]) -> str:
    return OptimasError(
        message["what"], where=message.get("where"), line=message.get("line"), remedy=message.get("remedy") or ""
    ).sentence()
