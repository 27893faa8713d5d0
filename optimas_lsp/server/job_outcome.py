"""What of an outcome (optimas.rewrite/1) a job keeps: how it ended, the gain, the edits and the lines they change."""

from __future__ import annotations

from typing import Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server.job import Job, Proven, Speedup
from optimas_lsp.server.regions import Edit, agree, rewritten
from optimas_lsp.source.text import SourceText


class JobError(OptimasError):
    """A job is not what a command needs it to be."""


def taken(job: Job, outcome: dict[str, Any], text: SourceText) -> dict[str, Any]:
    """The fields of ``job`` that its outcome decides. ``text`` is what the job started from.

    Raises JobError when the outcome is about another text: the file was saved while the job began.
    """
    if job.kind != "rewrite":
        return {"sentence": str(outcome.get("sentence", "")), "status": str(outcome.get("status", ""))}
    if job.base and outcome.get("base_sha256") not in ("", job.base):
        raise JobError("the file was saved while the rewrite began, so its result is about another text",
                       where=job.path, remedy="run it again")  # fmt: skip
    edits = tuple(Edit.model_validate(each) for each in outcome.get("edits") or ())
    blocks = rewritten(text, job.blocks, edits) if edits else job.blocks
    if edits and not agree(blocks, edits):
        raise JobError("the result is not about the text that the rewrite began with", where=job.path,
                       remedy="run it again")  # fmt: skip
    return {
        "status": str(outcome.get("status", "")),
        "sentence": str(outcome.get("sentence", "")),
        "edits": edits,
        "blocks": blocks,
        "proven": proven(outcome.get("proof")),
        "backend": str(outcome.get("backend", job.backend)),
        "by_model": outcome.get("backend") not in ("catalogue", "manual", None),
        "report_sha256": str(outcome.get("report_sha256", "")),
    }


def proven(proof: dict[str, Any] | None) -> Proven:
    """What a proof comes down to; nothing where there is none."""
    if not proof:
        return Proven()
    details: dict[str, Any] = proof.get("details") or {}
    recorded = details.get("recorded")
    return Proven(
        state=proof.get("state"),
        sentence=str(proof.get("sentence", "")),
        recorded=str(recorded) if recorded else None,
        speedup=_speedup(details.get("timing")),
        failed=any(gate.get("status") == "fail" for gate in details.get("gates") or ()),
    )


def _speedup(timing: dict[str, Any] | None) -> Speedup | None:
    for key, what in (("kernel_ns", "kernel"), ("program_s", "program")):
        found: dict[str, Any] | None = (timing or {}).get(key)
        if found and all(isinstance(found.get(name), int | float) for name in ("speedup", "low", "high")):
            return Speedup(value=found["speedup"], low=found["low"], high=found["high"], what=what)
    return None
