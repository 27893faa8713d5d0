"""textDocument/codeLens: above each profiled kernel what it costs, the way to the report, and to a faster version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server import names, wording
from optimas_lsp.server.features.job_actions import jobs_here
from optimas_lsp.server.features.jobs import offer
from optimas_lsp.server.features.offers import short_claim
from optimas_lsp.server.features.rewritten import rewritten_here
from optimas_lsp.server.positions import name_range
from optimas_lsp.server.snapshot import JobView, Snapshot

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import KernelAnalysis
    from optimas_lsp.server.views import FileView


def code_lens(snapshot: Snapshot, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The lenses of each kernel defined in the document, also where its definition changed since profiling."""
    view = snapshot.view(params.text_document.uri)
    settings = None if view is None else snapshot.settings_for(view.document.path)
    if view is None or settings is None or not settings.code_lens.enable:
        return []
    stale = f" · {wording.stale_note(view)}" if view.stale else ""
    bases = [kernel.base_name for _, kernel in view.kernels]
    known = len(snapshot.known_in(view.index))
    lenses: list[types.CodeLens] = []
    for line, kernel in view.kernels:
        name = f"{wording.without_parameters(kernel.name)}: " if bases.count(kernel.base_name) > 1 else ""
        title = f"{wording.one_line(name)}{wording.kernel_line(kernel)}{stale}"
        here = [view.document.uri, kernel.mangled]
        commands = [
            types.Command(title=title, command=names.OPEN_KERNEL, arguments=[*here]),
            types.Command(title="HTML report", command=names.OPEN_REPORT, arguments=[*here]),
            _rewrite(snapshot, view, kernel),
        ]
        at = name_range(view.document.text, line, kernel.base_name, snapshot.client.encoding)
        lenses += [types.CodeLens(range=at, command=each) for each in commands if each is not None]
    if known and lenses:
        hidden = "hidden" if settings.diagnostics.known == "hide" else "shown as hints"
        title = f"{wording.counted(known, 'known finding')} {hidden}: show again"
        command = types.Command(title=title, command=names.UNMARK_KNOWN, arguments=[view.document.uri])
        lenses.append(types.CodeLens(range=lenses[0].range, command=command))
    return lenses


def _rewrite(snapshot: Snapshot, view: FileView, kernel: KernelAnalysis) -> types.Command | None:
    """Ask for a rewrite, or what the newest one waits for; nothing for what cannot be rewritten."""
    if view.document.path is None or view.document.path.suffix == ".py":
        return None
    here = [view.document.uri, kernel.mangled]
    jobs = jobs_here(snapshot, view.document.uri, range(0), [kernel])
    newest = next((each for each in jobs if each.job.kind == "rewrite"), None)
    found = None if newest is None else _of_job(snapshot, view, newest)
    return found or types.Command(title="Optimise", command=names.OPTIMIZE_KERNEL, arguments=[*here])


def _of_job(snapshot: Snapshot, view: FileView, rewrite: JobView) -> types.Command | None:
    job = rewrite.job
    if rewrite.elsewhere:
        here = [view.document.uri, job.mangled]
        return types.Command(title="Optimising in another editor", command=names.OPEN_KERNEL, arguments=[*here])
    if job.live:
        waits = {"queued": "waits for its turn", "waiting-for-consent": "waits for your answer"}
        title = f"Optimising: {waits.get(job.state) or job.words or 'starting'} (cancel)"
        return types.Command(title=title, command=names.CANCEL_JOB, arguments=[job.id])
    match offer(snapshot, rewrite):
        case "ready":
            title = f"Apply the rewrite ({short_claim(job)})"
            return types.Command(title=title, command=names.APPLY_OUTCOME, arguments=[job.id])
        case "applied" if rewrite in rewritten_here(snapshot, view):
            title = f"Rewritten ({short_claim(job)}), not yet profiled again"
            return types.Command(title=title, command=names.OPEN_OUTCOME, arguments=[job.id])
        case _:
            return None
