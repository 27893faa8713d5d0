"""The command optimas.jobs (schema ``optimas.jobs/1``): every job with its state, progress, outcome and offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimas_lsp.server.snapshot import JobView, Snapshot
from optimas_lsp.server.wording import without_links

if TYPE_CHECKING:
    from optimas_lsp.server.job import Job

SCHEMA = "optimas.jobs/1"

ELSEWHERE = "in another editor"


def listing(snapshot: Snapshot) -> dict[str, Any]:
    """Every job, newest first."""
    views = sorted(snapshot.jobs.values(), key=lambda view: view.job.age, reverse=True)
    return {"schema": SCHEMA, "jobs": [described(snapshot, view) for view in views]}


def described(snapshot: Snapshot, view: JobView) -> dict[str, Any]:
    """One job as clients see it."""
    job = view.job
    proven = job.proven
    return {
        "id": job.id,
        "kind": job.kind,
        "title": without_links(job.title),
        "state": state(view),
        "uri": job.uri,
        "kernel": without_links(job.kernel),
        "mangled": job.mangled,
        "finding": job.finding or None,
        "transformation": job.transformation or None,
        "backend": job.backend,
        "stage": job.stage,
        "words": ELSEWHERE if view.elsewhere else without_links(job.words),
        "elsewhere": view.elsewhere,
        "step": job.step,
        "steps": job.steps,
        "queued": snapshot.queue.index(job.id) + 1 if job.id in snapshot.queue else None,
        "created": job.created,
        "started": job.started or None,
        "ended": job.ended or None,
        "sentence": without_links(job.sentence),
        "status": job.status or None,
        "proof": proven.state,
        "recorded": None if proven.recorded is None else without_links(proven.recorded),
        "speedup": None if proven.speedup is None else proven.speedup.model_dump(mode="json"),
        "offer": offer(snapshot, view),
        "line": _line(view),
    }  # fmt: skip


def _line(view: JobView) -> int | None:
    """Today's first line of the region, from 0, as the protocol counts."""
    first = view.standing.firsts[0] if view.standing is not None and view.standing.firsts else 0
    return first - 1 if first else None


def state(view: JobView) -> str:
    """The job's state; ``stale`` for one that is over and does not fit the text any more."""
    edited = view.standing is not None and view.standing.fit == "other"
    return "stale" if edited and view.job.state == "done" and view.job.edits else view.job.state


def offer(snapshot: Snapshot, view: JobView) -> str:
    """Whether the outcome can be applied now: ``ready``, ``applied``, ``stale`` or ``none``."""
    if not offered(snapshot, view.job):
        return "none"
    if view.standing is None:
        return "ready"  # the file is not open; its text is looked at when the outcome is applied
    return {"before": "ready", "after": "applied", "other": "stale"}[view.standing.fit]


def offered(snapshot: Snapshot, job: Job) -> bool:
    """Whether the settings let the outcome be offered at all."""
    settings = snapshot.settings_for(job.path)
    return job.offered("proven" if settings is None else settings.prove.offer)
