"""textDocument/publishDiagnostics and textDocument/diagnostic: findings as squiggles.

Worth acting on is a warning, hot is information, the rest are hints, which never reach a problems list.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server.locations import uri_of
from optimas_lsp.server.positions import code_range, unseen_range
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.views import FileView, Finding

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, Location

SOURCE = "optimas"

_SEVERITY = {
    "act": types.DiagnosticSeverity.Warning,
    "hot": types.DiagnosticSeverity.Information,
    "note": types.DiagnosticSeverity.Hint,
}


def published(snapshot: Snapshot, uri: str) -> list[types.Diagnostic]:
    """The diagnostics of one open document, costliest first; at most as many as the settings allow."""
    view = snapshot.view(uri)
    settings = None if view is None else snapshot.settings_for(view.document.path)
    if view is None or settings is None or not settings.diagnostics.enable:
        return []
    diagnostics: list[types.Diagnostic] = []
    for line, finding in view.findings():
        if finding.evidence.level == "note" and not settings.diagnostics.hints:
            continue
        if len(diagnostics) >= settings.diagnostics.maximum_per_file:
            break
        diagnostics.append(_diagnostic(snapshot, view, finding, line))
    return diagnostics


def document_diagnostic(
    snapshot: Snapshot, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport:
    """The answer to a pull; always whole, because an edit moves every range below it."""
    return types.RelatedFullDocumentDiagnosticReport(items=published(snapshot, params.text_document.uri))


def _diagnostic(snapshot: Snapshot, view: FileView, finding: Finding, line: int) -> types.Diagnostic:
    evidence = finding.evidence
    client = snapshot.client
    href = snapshot.rule_pages.get(evidence.rule)
    return types.Diagnostic(
        range=code_range(view.document.text, line, client.encoding),
        message=message(view, finding),
        severity=_SEVERITY[evidence.level],
        code=evidence.rule,
        code_description=types.CodeDescription(href) if href and client.code_description else None,
        source=SOURCE,
        related_information=(_related(snapshot, view, evidence) or None) if client.related_information else None,
        data={
            "evidence": [evidence.id],
            "kernel": evidence.kernel,
            "report": view.index.report.loaded.analysis.report.sha256,
            "profiledLine": finding.line,
        }
        if client.diagnostic_data
        else None,
    )


def message(view: FileView, finding: Finding) -> str:
    """The sentence of a finding; names the kernel where a file has several, and the library the time is spent in."""
    evidence = finding.evidence
    text = evidence.text
    if len(view.index.kernels) > 1:
        text = f"{finding.kernel.base_name}: {text}"
    if evidence.location is not None and evidence.location != evidence.shown and evidence.location.path is None:
        text += f" (measured in {evidence.location.file}:{evidence.location.line}, called from here)"
    return text


def _related(snapshot: Snapshot, view: FileView, evidence: Evidence) -> list[types.DiagnosticRelatedInformation]:
    """Where else to look: the line itself if shown at its caller, call sites, causes, and the lines that wait."""
    found: list[tuple[Location | None, str]] = []
    if evidence.location is not None and evidence.location != evidence.shown:
        found.append((evidence.location, "the samples were taken here"))
    for frame in evidence.inlined_at:
        inside = f" into {frame.function}" if frame.function else ""
        found.append((frame, f"inlined{inside} here"))
    related = [item for place, text in found if (item := _information(snapshot, view, place, text)) is not None]
    for cause in evidence.causes or ():
        text = f"{cause.opcode} here causes {100 * cause.share:.0f} % of the wait ({cause.confidence})"
        where = _uri_and_range(snapshot, view, cause.file, cause.path, cause.line)
        if where is not None:
            related.append(types.DiagnosticRelatedInformation(where, text))
    for wait in evidence.waits:
        item = _information(snapshot, view, wait, "waits for this line")
        if item is not None:
            related.append(item)
    return related


def _information(
    snapshot: Snapshot, view: FileView, place: Location | None, text: str
) -> types.DiagnosticRelatedInformation | None:
    if place is None:
        return None
    where = _uri_and_range(snapshot, view, place.file, place.path, place.line)
    return None if where is None else types.DiagnosticRelatedInformation(where, text)


def _uri_and_range(snapshot: Snapshot, view: FileView, file: str, path: str | None, line: int) -> types.Location | None:
    """Today's place of a profiled line; nothing for a file outside the workspace and for a line that changed."""
    if file in view.index.names:
        today = view.anchors.today(line)
        if today is None:
            return None
        return types.Location(view.document.uri, code_range(view.document.text, today, snapshot.client.encoding))
    if path is None or line < 1:
        return None
    for other in snapshot.views.values():
        if other.document.path == Path(path) and file in other.index.names:
            return _uri_and_range(snapshot, other, file, path, line)
    return types.Location(uri_of(Path(path)), unseen_range(line))
