"""The actions about rewrites that were asked for: cancel, apply, show, profile again; and why none can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server import names
from optimas_lsp.server.features.jobs import ELSEWHERE, offer
from optimas_lsp.server.features.offers import short_claim, workspace_edit
from optimas_lsp.server.features.proposed import Proposed
from optimas_lsp.server.snapshot import JobView, Snapshot

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import KernelAnalysis

QUICKFIX = types.CodeActionKind.QuickFix.value


def rewrite_hindrance(snapshot: Snapshot, uri: str, kernel: KernelAnalysis) -> str:
    """Why no rewrite of ``kernel`` can be asked for now; empty when one can."""
    document = snapshot.documents.get(uri)
    if document is None or document.path is None:
        return "this text is no file"
    settings = snapshot.settings_for(document.path)
    if settings is None:
        return "the settings are not known yet"
    if settings.rewrite.backend == "manual":
        return "the backend is manual: use optimas optimize on a terminal"
    if document.path.suffix == ".py":
        return "rewrites are judged for CUDA sources only"
    if uri in snapshot.unsaved:
        return "save the file first: a rewrite builds what is on disk"
    for view in snapshot.jobs.values():
        job = view.job
        if job.live and job.kind == "rewrite" and job.path == document.path and job.mangled == kernel.mangled:
            return f"{kernel.base_name} is being rewritten already" + (f" {ELSEWHERE}" if view.elsewhere else "")
    return ""


def jobs_here(snapshot: Snapshot, uri: str, lines: range, kernels: Sequence[KernelAnalysis]) -> Iterator[JobView]:
    """The jobs whose lines or kernels are chosen, newest first; of several about the same, the newest."""
    document = snapshot.documents.get(uri)
    if document is None:
        return
    mangled = {each.mangled for each in kernels}
    seen: set[tuple[str, str, str]] = set()
    for view in sorted(snapshot.jobs.values(), key=lambda each: each.job.age, reverse=True):
        job = view.job
        if job.path != document.path or not (job.mangled in mangled or touches(view, lines)):
            continue
        same = (job.mangled, job.finding, job.transformation)
        if same not in seen:
            seen.add(same)
            yield view


def touches(view: JobView, lines: range) -> bool:
    """Whether one of the job's lines, as they stand today, is among ``lines``."""
    if view.standing is None:
        return False
    for block, first in zip(view.job.blocks, view.standing.firsts, strict=True):
        count = len(block.after or ()) if view.standing.fit == "after" else len(block.before)
        if first and first < lines.stop and lines.start < first + max(count, 1):
            return True
    return False


def job_actions(snapshot: Snapshot, uri: str, lines: range, kernels: Sequence[KernelAnalysis]) -> Iterator[Proposed]:
    """What can be done about the jobs on these lines."""
    for view in jobs_here(snapshot, uri, lines, kernels):
        job = view.job
        evidence = (job.finding,) if job.finding else ()
        if job.live:
            stage = f" ({job.words})" if job.words else ""
            cancel = (names.CANCEL_JOB, [job.id])
            hindrance = f"it runs {ELSEWHERE}; cancel it there" if view.elsewhere else ""
            yield Proposed(f"Cancel: {job.title}{stage}", QUICKFIX, cancel, evidence=evidence, hindrance=hindrance)
            continue
        if job.kind != "rewrite":
            continue
        yield from _applied(snapshot, uri, view, evidence)
        if job.state == "done":
            yield Proposed(
                f"Show the outcome: {job.title}", QUICKFIX, (names.OPEN_OUTCOME, [job.id]), evidence=evidence
            )


def _applied(snapshot: Snapshot, uri: str, view: JobView, evidence: tuple[str, ...]) -> Iterator[Proposed]:
    """Apply an outcome, or say why not; once it is applied, profile again."""
    job = view.job
    what = f" ({job.transformation})" if job.transformation else ""
    title = f"Apply the rewrite of {job.kernel}{what}: {short_claim(job)}"
    settings, document = snapshot.settings_for(job.path), snapshot.documents[uri]
    match offer(snapshot, view):
        case "ready" if view.standing is not None:
            literal = settings is not None and settings.jobs.offer == "edit"
            proven = job.proven.state == "proven"
            yield Proposed(
                title,
                names.KIND_APPLY,
                None if literal else (names.APPLY_OUTCOME, [job.id]),
                evidence=evidence,
                edit=workspace_edit(snapshot, view, document, confirm=False) if literal else None,
                preferred=proven,
                by_model=job.by_model,
            )
            refusal = (names.REFUSE_OUTCOME, [job.id])
            yield Proposed(f"Refuse the rewrite of {job.kernel}{what}, say why", QUICKFIX, refusal, evidence=evidence)
        case "stale":
            yield Proposed(
                title,
                names.KIND_APPLY,
                hindrance=f"{job.kernel} was edited since; undo the edit or ask again",
                evidence=evidence,
                by_model=job.by_model,
            )
        case "applied":
            command = (names.PROFILE_KERNEL, [uri, job.mangled])
            yield Proposed(f"Profile {job.kernel} again: it was rewritten", QUICKFIX, command, evidence=evidence)
        case _:
            return
