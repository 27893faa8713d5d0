"""The edit that applies an outcome to the text as it stands, and the words it is offered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server.features.jobs import offer
from optimas_lsp.server.positions import whole_lines_range
from optimas_lsp.server.regions import todays_edits
from optimas_lsp.server.snapshot import JobView, Snapshot
from optimas_lsp.server.wording import one_line

if TYPE_CHECKING:
    from optimas_lsp.server.documents import Document
    from optimas_lsp.server.job import Job

ANNOTATION = "optimas"


def workspace_edit(
    snapshot: Snapshot, view: JobView, document: Document, *, confirm: bool
) -> types.WorkspaceEdit | None:
    """The edit for the text as it is in ``document``; None when that is not what the rewrite was made for.

    It names the version of the text where the client understands that, and is annotated where it can show that.
    """
    if offer(snapshot, view) != "ready" or view.standing is None:
        return None
    client, text = snapshot.client, document.text
    annotated = client.change_annotations and client.document_changes
    edits: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
    plain: list[types.TextEdit] = []
    for each in todays_edits(view.job.blocks, view.standing.firsts, view.job.edits):
        span = whole_lines_range(text, each.first, len(each.before), client.encoding)
        new = "".join(each.after)
        plain.append(types.TextEdit(span, new))
        edits.append(types.AnnotatedTextEdit(ANNOTATION, span, new) if annotated else types.TextEdit(span, new))
    if not client.document_changes:
        return types.WorkspaceEdit(changes={document.uri: plain})
    versioned = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    annotation = types.ChangeAnnotation(
        label=f"Rewrite of {view.job.kernel}", needs_confirmation=confirm, description=claim(view.job)
    )
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(versioned, edits)],
        change_annotations={ANNOTATION: annotation} if annotated else None,
    )


def claim(job: Job) -> str:
    """What is known about the rewrite, in one line; nothing that was not proven is called so."""
    proven = job.proven
    if proven.state != "proven":
        return one_line(f"NOT PROVEN: {proven.sentence or 'it was neither run nor timed'}")
    gain = proven.speedup
    words = "proven"
    if gain is not None:
        interval = f"95 % interval {gain.low:.2f} to {gain.high:.2f}"
        words += f": the {gain.what} takes {gain.value:.2f} times less time ({interval})"
    return one_line(words + (f"; {_origin(proven.recorded)}, not measured now" if proven.recorded else ""))


def _origin(recorded: str) -> str:
    """Where and when a proof was recorded; how it was made otherwise than today stands in the outcome at length."""
    where, _, rest = recorded.partition(", ")
    day, _, _ = rest.partition(", ")
    return f"{where}, {day}" if day else where


def short_claim(job: Job) -> str:
    """The same for a title."""
    proven = job.proven
    if proven.state != "proven":
        return "not proven"
    gain = "" if proven.speedup is None else f" {proven.speedup.value:.2f}×"
    return f"proven{gain}" + (", recorded elsewhere" if proven.recorded else "")
