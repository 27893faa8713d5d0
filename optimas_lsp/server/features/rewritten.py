"""Rewrites that stand in the text but not yet in a profile: what was measured there is no longer so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server.features.offers import short_claim
from optimas_lsp.server.positions import encoded_code_range
from optimas_lsp.server.snapshot import JobView, Snapshot
from optimas_lsp.server.wording import one_line

if TYPE_CHECKING:
    from optimas_lsp.server.views import FileView

CODE = "changed"


def rewritten_here(snapshot: Snapshot, view: FileView) -> list[JobView]:
    """The rewrites that the text holds and that are newer than the report which is shown."""
    report = view.index.report.loaded.analysis.report.sha256
    return [
        each
        for each in snapshot.jobs.values()
        if each.standing is not None
        and each.standing.fit == "after"
        and each.job.path == view.document.path
        and each.job.report_sha256 == report
    ]


def within(rewrite: JobView, line: int) -> bool:
    """Whether today's ``line`` was rewritten or stands in a function that was."""
    standing = rewrite.standing
    if standing is None:
        return False
    pairs = zip(rewrite.job.blocks, standing.firsts, strict=True)
    return any(first <= line < first + len(block.after or ()) for block, first in pairs)


def changed_diagnostic(snapshot: Snapshot, view: FileView, rewrite: JobView) -> str:
    """One diagnostic for all that was found in a region before it was rewritten, as JSON."""
    job, index = rewrite.job, view.index
    old = {
        finding.evidence.id
        for finding in index.findings
        if finding.kernel.mangled == job.mangled
        and ((today := view.anchors.today(finding.line)) is None or within(rewrite, today))
    }
    gone = ", ".join(sorted(old, key=lambda each: (each.partition("-")[0], len(each), each)))
    text = f"{job.kernel} was rewritten ({short_claim(job)}): changed, not yet profiled again" + (
        f"; {gone} were measured on the text before" if gone else ""
    )
    fields: dict[str, object] = {
        "message": one_line(text),
        "severity": types.DiagnosticSeverity.Information.value,
        "code": CODE,
        "source": "optimas",
    }
    if snapshot.client.diagnostic_data:
        fields["data"] = {"evidence": sorted(old), "kernel": job.mangled, "job": job.id}
    members = json.dumps(fields, separators=(",", ":"))[1:-1]
    at = encoded_code_range(view.document.text, _line(view, rewrite), snapshot.client.encoding)
    return f'{{"range":{at},{members}}}'


def _line(view: FileView, rewrite: JobView) -> int:
    """Where the kernel is defined, else where the rewritten lines begin."""
    for line, kernel in view.kernels:
        if kernel.mangled == rewrite.job.mangled:
            return line
    return next((first for first in (rewrite.standing.firsts if rewrite.standing else ()) if first), 1)
