"""textDocument/publishDiagnostics and textDocument/diagnostic: findings as squiggles.

Worth acting on is a warning, hot is information, the rest are hints, which never reach a problems list. What of a
diagnostic no edit can change is written as JSON once per report, file and client; a keystroke only writes ranges,
because hundreds of diagnostics may be sent at each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from optimas_lsp.server.client import Client
from optimas_lsp.server.features.rewritten import changed_diagnostic, rewritten_here, within
from optimas_lsp.server.locations import uri_of
from optimas_lsp.server.messages import Encoded
from optimas_lsp.server.positions import encoded_code_range, encoded_unseen_range
from optimas_lsp.server.snapshot import RulePages, Snapshot
from optimas_lsp.server.views import FileIndex, FileView, Finding
from optimas_lsp.server.wording import one_line

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, Location

SOURCE = "optimas"

_SEVERITY = {
    "act": types.DiagnosticSeverity.Warning.value,
    "hot": types.DiagnosticSeverity.Information.value,
    "note": types.DiagnosticSeverity.Hint.value,
}


@dataclass(frozen=True, slots=True)
class _Related:
    """A place to look at besides: a profiled line of this file (``here``) or of another; ``message`` is JSON."""

    here: bool
    file: str
    path: str | None
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class _Still:
    """The part of a diagnostic that no edit changes: its members as JSON, without the braces around them."""

    members: str
    related: tuple[_Related, ...]


def published(snapshot: Snapshot, uri: str) -> list[str]:
    """The diagnostics of one open document as JSON, costliest first; at most as many as the settings allow."""
    view = snapshot.view(uri)
    settings = None if view is None else snapshot.settings_for(view.document.path)
    if view is None or settings is None or not settings.diagnostics.enable:
        return []
    index, client, pages = view.index, snapshot.client, snapshot.rule_pages
    still = index.derived((SOURCE, client, pages), lambda: _still(index, client, pages))
    hints, maximum = settings.diagnostics.hints, settings.diagnostics.maximum_per_file
    text, encoding = view.document.text, snapshot.client.encoding
    known, show_known = snapshot.known_in(index), settings.diagnostics.known == "hint"
    rewrites = rewritten_here(snapshot, view)

    def lowered() -> dict[Finding, _Still]:
        return index.derived((SOURCE, client, pages, "known"), lambda: _still(index, client, pages, known=True))

    diagnostics = [changed_diagnostic(snapshot, view, each) for each in rewrites][:maximum]
    for line, finding in view.findings():
        is_known = finding in known
        if (is_known and not show_known) or ((is_known or finding.evidence.level == "note") and not hints):
            continue
        if any(within(each, line) for each in rewrites):
            continue
        if len(diagnostics) >= maximum:
            break
        part = lowered()[finding] if is_known else still[finding]
        related = f',"relatedInformation":[{_placed(snapshot, view, part.related)}]' if part.related else ""
        diagnostics.append(f'{{"range":{encoded_code_range(text, line, encoding)},{part.members}{related}}}')
    return diagnostics


def publish_params(uri: str, version: int | None, diagnostics: list[str]) -> Encoded:
    """The parameters of a push."""
    stamped = "" if version is None else f'"version":{version},'
    return Encoded(f'{{"uri":{json.dumps(uri)},{stamped}"diagnostics":[{",".join(diagnostics)}]}}')


def document_diagnostic(snapshot: Snapshot, params: types.DocumentDiagnosticParams) -> Encoded:
    """The answer to a pull; always whole, because an edit moves every range below it."""
    return Encoded(f'{{"kind":"full","items":[{",".join(published(snapshot, params.text_document.uri))}]}}')


def _still(index: FileIndex, client: Client, pages: RulePages, *, known: bool = False) -> dict[Finding, _Still]:
    """By finding what stays when the text moves; as those read that are ``known``."""
    return {finding: _of_finding(index, finding, client, pages, known=known) for finding in index.findings}


def _of_finding(index: FileIndex, finding: Finding, client: Client, pages: RulePages, *, known: bool) -> _Still:
    evidence = finding.evidence
    fields: dict[str, Any] = {
        "message": message(index, finding) + (" (marked as known)" if known else ""),
        "severity": _SEVERITY["note" if known else evidence.level],
        "code": evidence.rule,
        "source": SOURCE,
    }
    href = pages.by_rule.get(evidence.rule)
    if href and client.code_description:
        fields["codeDescription"] = {"href": href}
    if client.diagnostic_data:
        fields["data"] = {
            "evidence": [evidence.id],
            "kernel": evidence.kernel,
            "report": index.report.loaded.analysis.report.sha256,
            "profiledLine": finding.line,
        }
    members = json.dumps(fields, separators=(",", ":"))[1:-1]
    return _Still(members, tuple(_related(index, evidence)) if client.related_information else ())


def message(index: FileIndex, finding: Finding) -> str:
    """The sentence of a finding; names the kernel where a file has several, and the library the time is spent in."""
    evidence = finding.evidence
    text = evidence.text
    if len(index.kernels) > 1:
        text = f"{finding.kernel.base_name}: {text}"
    if evidence.location is not None and evidence.location.path is None and evidence.location.file not in index.names:
        text += f" (measured in {evidence.location.file}:{evidence.location.line}, called from here)"
    return one_line(text)


def _json(text: str) -> str:
    return json.dumps(one_line(text))


def _related(index: FileIndex, evidence: Evidence) -> list[_Related]:
    """Where else to look: the line itself if shown at its caller, call sites, causes, and the lines that wait."""
    found: list[_Related] = []

    def add(place: Location, text: str) -> None:
        found.append(_Related(place.file in index.names, place.file, place.path, place.line, _json(text)))

    if evidence.location is not None and evidence.shown is not None and evidence.location != evidence.shown:
        add(evidence.location, "the samples were taken here")
    for frame in evidence.inlined_at:
        add(frame, f"inlined into {frame.function} here" if frame.function else "inlined here")
    for cause in evidence.known_causes:
        text = f"{cause.opcode} here causes {100 * cause.share:.0f} % of the wait ({cause.confidence})"
        found.append(_Related(cause.file in index.names, cause.file, cause.path, cause.line, _json(text)))
    for wait in evidence.waits:
        add(wait, "waits for this line")
    return [each for each in found if each.line > 0 and (each.here or each.path is not None)]


def _placed(snapshot: Snapshot, view: FileView, related: tuple[_Related, ...]) -> str:
    """Today's places as JSON; nothing for a line that changed."""
    return ",".join(
        f'{{"location":{{"uri":{json.dumps(where[0])},"range":{where[1]}}},"message":{each.message}}}'
        for each in related
        if (where := _where(snapshot, view, each)) is not None
    )


def _where(snapshot: Snapshot, view: FileView, related: _Related) -> tuple[str, str] | None:
    """URI and range (JSON) of a place to look at besides."""
    if not related.here:
        path = Path(related.path or "")
        other = next((each for each in snapshot.views.values() if related.file in each.index.names), None)
        if other is None or other.document.path != path:
            return uri_of(path), encoded_unseen_range(related.line)
        view = other
    today = view.anchors.today(related.line)
    if today is None:
        return None
    return view.document.uri, encoded_code_range(view.document.text, today, snapshot.client.encoding)
