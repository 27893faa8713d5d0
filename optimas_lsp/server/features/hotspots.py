"""The command optimas.hotspots (schema ``optimas.hotspots/1``): reports, kernels and findings for a tree view.

Lines and characters of places count from 0, as the protocol does.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.server.locations import uri_of
from optimas_lsp.server.positions import code_range, name_range
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.wording import without_links

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, Location
    from optimas_lsp.server.views import FileView, OpenReport

SCHEMA = "optimas.hotspots/1"


def hotspots(snapshot: Snapshot) -> dict[str, Any]:
    """Every open report with its kernels and findings, and the heat of every line of the files that are shown."""
    shown = snapshot.shown_reports()
    reports = sorted(snapshot.reports.values(), key=lambda report: -report.stamp.modified_ns)
    return {
        "schema": SCHEMA,
        "reports": [_report(snapshot, report, shown=report.path in shown) for report in reports],
        "heat": _heat(snapshot),
    }


def _report(snapshot: Snapshot, report: OpenReport, *, shown: bool) -> dict[str, Any]:
    analysis = report.loaded.analysis
    views = [view for view in snapshot.views.values() if view.index.report is report]
    return {
        "path": str(report.path),
        "name": report.path.name,
        "device": analysis.report.device,
        "tool": f"{analysis.report.tool} {analysis.report.tool_version}",
        "shown": shown,
        "stale": any(view.stale for view in views),
        "notes": [note.text for note in analysis.notes],
        "kernels": [_kernel(snapshot, report, views, kernel) for kernel in analysis.kernels],
    }


def _kernel(snapshot: Snapshot, report: OpenReport, views: list[FileView], kernel: KernelAnalysis) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "baseName": without_links(kernel.base_name),
        "mangled": kernel.mangled,
        "launches": kernel.launches,
        "gpuTimeNs": kernel.gpu_time_ns,
        "share": kernel.share,
        "hot": kernel.hot,
        "verdict": "" if kernel.roofline is None else kernel.roofline.text or f"{kernel.roofline.verdict}-bound",
        "unattributed": kernel.samples.unattributed,
        "samples": kernel.samples.total,
        "place": _kernel_place(snapshot, report, views, kernel),
        "findings": [
            _finding(snapshot, report, views, evidence, evidence.shown or evidence.location or kernel.location)
            for evidence in kernel.evidence
        ],
    }


def _finding(
    snapshot: Snapshot, report: OpenReport, views: list[FileView], evidence: Evidence, location: Location | None
) -> dict[str, Any]:
    where = "" if location is None else f"{Path(location.file.replace(chr(92), '/')).name}:{location.line}"
    return {
        "id": evidence.id,
        "rule": evidence.rule,
        "text": evidence.text,
        "level": evidence.level,
        "known": any(found.evidence is evidence for view in views for found in snapshot.known_in(view.index)),
        "share": evidence.share,
        "margin": evidence.margin,
        "samples": evidence.samples,
        "where": where,
        "place": _place(snapshot, report, views, location),
    }


def _kernel_place(
    snapshot: Snapshot, report: OpenReport, views: list[FileView], kernel: KernelAnalysis
) -> dict[str, Any] | None:
    """Where the kernel is defined, else its costliest line that has a place."""
    for view in views:
        for line, each in view.kernels:
            if each is kernel:
                start = name_range(view.document.text, line, kernel.base_name, snapshot.client.encoding).start
                return {"uri": view.document.uri, "line": start.line, "character": start.character}
    places = (kernel.location, *(heat.shown or heat.location for heat in kernel.lines))
    return next((found for each in places if (found := _place(snapshot, report, views, each)) is not None), None)


def _place(
    snapshot: Snapshot, report: OpenReport, views: list[FileView], location: Location | None
) -> dict[str, Any] | None:
    """Today's place in an open document, the profiled place in a file that is not open, else None."""
    if location is None or location.line < 1:
        return None
    for view in views:
        if location.file in view.index.names:
            today = view.anchors.today(location.line)
            if today is None:
                return None
            start = code_range(view.document.text, today, snapshot.client.encoding).start
            return {"uri": view.document.uri, "line": start.line, "character": start.character}
    path = next((each.path for each in report.loaded.matches if each.file == location.file), None)
    if path is None:
        return None
    return {"uri": uri_of(path), "line": location.line - 1, "character": 0}


def _heat(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Share of the report's GPU time on each line (0 to 1), for open documents whose findings are not hidden."""
    heat: list[dict[str, Any]] = []
    for uri in snapshot.views:
        view = snapshot.view(uri)
        if view is None:
            continue
        lines: defaultdict[int, float] = defaultdict(float)
        for line, each in view.heats():
            lines[line - 1] += each.heat.share * (each.kernel.share or 0.0)
        heat.append({"uri": uri, "lines": [[line, share] for line, share in sorted(lines.items()) if share > 0]})
    return heat
