"""workspace/executeCommand: the texts and data that commands answer with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server import wording
from optimas_lsp.server.features.hover import kernel_facts
from optimas_lsp.server.locations import path_of, same_place
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.wording import Markup

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, KernelAnalysis
    from optimas_lsp.server.views import OpenReport

MARKDOWN = Markup(markdown=True)


class CommandError(OptimasError):
    """A command was given something it cannot use."""


def finding_text(snapshot: Snapshot, identifier: str, uri: str | None) -> str:
    """Everything about one finding, in Markdown. ``uri`` says which file's report is meant; None looks in all."""
    for report in _reports(snapshot, uri):
        for kernel in report.loaded.analysis.kernels:
            for evidence in kernel.evidence:
                if evidence.id == identifier:
                    return wording.paragraphs(_finding(report, kernel, evidence))
    raise CommandError(f"there is no finding '{identifier}' in the open reports", remedy="reload the reports")


def kernel_text(snapshot: Snapshot, uri: str | None, mangled: str) -> str:
    """Everything about one kernel, in Markdown."""
    for report in _reports(snapshot, uri):
        for kernel in report.loaded.analysis.kernels:
            if kernel.mangled == mangled:
                return wording.paragraphs(_kernel(report, kernel))
    raise CommandError(f"there is no kernel '{mangled}' in the open reports", remedy="reload the reports")


def report_of(snapshot: Snapshot, uri: str | None) -> OpenReport:
    """The report whose findings a file shows, or the newest one; raises CommandError where none is open."""
    reports = _reports(snapshot, uri)
    if not reports:
        raise CommandError("no report is open", remedy="put a report into the folder and reload the reports")
    return reports[0]


def _reports(snapshot: Snapshot, uri: str | None) -> list[OpenReport]:
    view = None if uri is None else snapshot.views.get(uri)
    rest = sorted(snapshot.reports.values(), key=lambda report: -report.stamp.modified_ns)
    return rest if view is None else [view.index.report, *(each for each in rest if each is not view.index.report)]


def _finding(report: OpenReport, kernel: KernelAnalysis, evidence: Evidence) -> Iterator[str]:
    yield f"# {evidence.id}: {MARKDOWN.escape(evidence.rule)}"
    yield MARKDOWN.escape(evidence.text)
    if evidence.location is not None:
        places = [evidence.location, *evidence.inlined_at]
        yield "\n".join(
            f"- {MARKDOWN.code(f'{each.file}:{each.line}')} {MARKDOWN.escape(each.function or '')}".rstrip()
            for each in places
        )
    if evidence.known_causes:
        yield "## Caused by"
        yield "\n".join(
            f"- {MARKDOWN.code(f'{cause.file}:{cause.line}')} {MARKDOWN.code(cause.opcode)}: "
            f"{wording.percent(cause.share)} of the wait, {cause.confidence}"
            for cause in evidence.known_causes
        )
    if evidence.expects:
        yield (
            "A fix should move "
            + ", ".join(f"{MARKDOWN.escape(each.metric)} {each.direction}" for each in evidence.expects)
            + "."
        )
    if evidence.bound is not None:
        yield f"It buys at most {evidence.bound.speedup:.2f}× for the whole program ({evidence.bound.method})."
    yield "## The kernel"
    yield from kernel_facts(MARKDOWN, kernel)
    yield _origin(report)


def _kernel(report: OpenReport, kernel: KernelAnalysis) -> Iterator[str]:
    yield f"# {MARKDOWN.escape(kernel.base_name)}"
    yield from kernel_facts(MARKDOWN, kernel)
    if kernel.evidence:
        yield "## Findings"
        yield "\n".join(f"- {MARKDOWN.strong(each.id)} {MARKDOWN.escape(each.text)}" for each in kernel.evidence)
    yield _origin(report)


def _origin(report: OpenReport) -> str:
    info = report.loaded.analysis.report
    notes = [f"- {MARKDOWN.escape(note.text)}" for note in report.loaded.analysis.notes]
    tool = MARKDOWN.escape(f"measured on {info.device} with {info.tool} {info.tool_version}")
    origin = f"From {MARKDOWN.code(str(report.path))}, {tool}."
    return "\n".join([origin, *(["", *notes] if notes else [])])


def why_mapped(snapshot: Snapshot, uri: str) -> dict[str, Any]:
    """For each report which rule led to this file, or why nothing did."""
    path = path_of(uri)
    if path is None:
        raise CommandError(f"'{uri}' is no file", remedy="ask about a file that is saved on disk")
    path = same_place(path)
    answers: list[dict[str, Any]] = []
    for report in snapshot.reports.values():
        match = report.match(path)
        if match is not None:
            answers.append({"report": str(report.path), "file": match.file, "rule": match.rule, "why": match.why})
            continue
        alike = [each for each in report.loaded.matches if each.file.replace("\\", "/").endswith("/" + path.name)]
        answers += [
            {"report": str(report.path), "file": each.file, "rule": each.rule, "why": each.why,
             "mappedTo": None if each.path is None else str(each.path)}
            for each in alike
        ] or [{"report": str(report.path), "file": None, "rule": "none",
               "why": f"the report names no file called {path.name}"}]  # fmt: skip
    shown = snapshot.report_for(path)
    return {"path": str(path), "shown": None if shown is None else str(shown.path), "reports": answers}


def choices(snapshot: Snapshot, path: Path | None) -> list[OpenReport]:
    """The reports a user may choose among: those about the file, else all; newest first."""
    found = [] if path is None else snapshot.reports_for(path)
    return found or sorted(snapshot.reports.values(), key=lambda report: -report.stamp.modified_ns)


def debug_information(snapshot: Snapshot, *, text_of: str | None = None) -> dict[str, Any]:
    """What the server knows and how it decided; ``text_of`` adds a document's text as the server has it."""
    information: dict[str, Any] = {
        "client": snapshot.client.described(),
        "diagnostics": "pull" if snapshot.client.pull_diagnostics else "push",
        "settings": None if snapshot.settings is None else snapshot.settings.model_dump(mode="json", by_alias=True),
        "folders": [
            {"uri": folder.uri, "path": str(folder.path), "implied": folder.implied} for folder in snapshot.folders
        ],
        "reports": [_report(report) for report in snapshot.reports.values()],
        "failures": {str(path): sentence for path, sentence in snapshot.failures.items()},
        "documents": {
            uri: {"version": document.version, "language": document.language, "lines": document.text.line_count}
            for uri, document in snapshot.documents.items()
        },
        "views": {
            uri: {
                "report": str(view.index.report.path),
                "rule": view.index.match.rule,
                "why": view.index.match.why,
                "stale": view.stale,
                "lost": view.lost,
                "findings": [[line, finding.line, finding.evidence.id] for line, finding in view.findings()],
                "kernels": [[line, kernel.mangled] for line, kernel in view.kernels],
            }
            for uri, view in snapshot.views.items()
        },
        "jobs": {
            identifier: [view.job.state, None if view.standing is None else view.standing.fit]
            for identifier, view in snapshot.jobs.items()
        },
        "unsaved": sorted(snapshot.unsaved),
        "possible": {
            uri: {mangled: [each.name for each in found.of(mangled)] for mangled in found.kernels}
            for uri, found in snapshot.possible.items()
        },
        "known": sorted(map(list, snapshot.known)),
        "hidden": sorted(snapshot.hidden),
        "allHidden": snapshot.all_hidden,
        "preferred": None if snapshot.preferred is None else str(snapshot.preferred),
    }
    if text_of is not None:
        document = snapshot.documents.get(text_of)
        information["text"] = None if document is None else document.text.text
    return information


def _report(report: OpenReport) -> dict[str, Any]:
    analysis = report.loaded.analysis
    return {
        "path": str(report.path),
        "sha256": analysis.report.sha256,
        "device": analysis.report.device,
        "tool": f"{analysis.report.tool} {analysis.report.tool_version}",
        "launches": report.loaded.launches,
        "kernels": len(analysis.kernels),
        "notes": [note.text for note in analysis.notes],
        "files": [
            {
                "file": each.file,
                "path": None if each.path is None else str(each.path),
                "rule": each.rule,
                "why": each.why,
            }
            for each in report.loaded.matches
        ],
    }
