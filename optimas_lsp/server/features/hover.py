"""textDocument/hover: on a sampled line why warps wait there, on a kernel's definition what the kernel ran like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from optimas_lsp.server import wording
from optimas_lsp.server.features.offers import short_claim
from optimas_lsp.server.features.rewritten import rewritten_here, within
from optimas_lsp.server.positions import code_range, line_of
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.views import FileView, Finding, Heat
from optimas_lsp.server.wording import Markup

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Cause, KernelAnalysis

KERNELS_SHOWN = 3
"""A line of a template may belong to many kernels; the hover shows the hottest."""


def hover(snapshot: Snapshot, params: types.HoverParams) -> types.Hover | None:
    """What is known about the line under the pointer; None where nothing was measured."""
    view = snapshot.view(params.text_document.uri)
    line = line_of(params.position)
    if view is None or not 1 <= line <= view.document.text.line_count:
        return None
    markup = Markup(markdown=snapshot.client.markdown_hover)
    text = wording.paragraphs(_contents(view, markup, line))
    if not text:
        return None
    text = wording.paragraphs([*_news(snapshot, view, markup, line), text])
    kind = types.MarkupKind.Markdown if markup.markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, text), code_range(view.document.text, line, snapshot.client.encoding))


def _news(snapshot: Snapshot, view: FileView, markup: Markup, line: int) -> Iterator[str]:
    """What the user did about the line since it was measured."""
    for rewrite in rewritten_here(snapshot, view):
        if within(rewrite, line):
            words = (
                f"Rewritten since ({short_claim(rewrite.job)}), not yet profiled again: what follows was measured on"
            )
            yield markup.note(markup.escape(f"{words} the text before."))
    profiled = view.anchors.profiled(line)
    known = snapshot.known_in(view.index)
    marked = [each.evidence.id for each in view.index.findings_at.get(profiled or 0, ()) if each in known]
    if marked:
        yield markup.note(f"Marked as known: {', '.join(marked)}.")


def _contents(view: FileView, markup: Markup, line: int) -> Iterator[str]:
    defined = [kernel for site, kernel in view.kernels if site == line]
    for kernel in defined[:KERNELS_SHOWN]:
        yield from kernel_facts(markup, kernel)
    profiled = view.anchors.profiled(line)
    heats = [] if profiled is None else view.index.heats_at.get(profiled, [])
    found = [] if profiled is None else view.index.findings_at.get(profiled, [])
    findings = [each for each in found if each.evidence.location is not None]
    for heat in heats[:KERNELS_SHOWN]:
        yield from _line(markup, heat, findings, alone=len(view.index.kernels) == 1)
    if len(heats) > KERNELS_SHOWN:
        yield markup.note(f"and {len(heats) - KERNELS_SHOWN} more kernels sampled on this line")
    if not heats:
        for finding in findings:
            yield from _finding(markup, finding)
    if (heats or findings or defined) and (note := wording.stale_note(view)):
        yield markup.note(f"This file has {note}.")


def _line(markup: Markup, heat: Heat, findings: list[Finding], *, alone: bool) -> Iterator[str]:
    line, kernel = heat.heat, heat.kernel
    share = f"{100 * line.share:.1f} ± {100 * line.margin:.1f} %"
    of = f"of {markup.code(kernel.base_name)}'s {kernel.samples.total:,} samples"
    mine = [each for each in findings if each.kernel.mangled == kernel.mangled]
    # A line that others wait for matters for their samples, which are more than its own: that comes first.
    causing = [each for each in mine if each.evidence.source == "bl" and each.evidence.share > line.share]
    for finding in causing:
        yield from _finding(markup, finding)
    own = "on this line itself: " if causing else ""
    yield f"{own}{markup.strong(share)} {of}" + ("" if alone else f" · {markup.escape(wording.kernel_line(kernel))}")
    yield wording.reason_table(markup, line)
    for finding in mine:
        if finding not in causing:
            yield from _finding(markup, finding)
    if line.location != line.shown and line.shown is not None:
        place = f"{line.location.file}:{line.location.line}"
        yield f"Measured in {markup.code(place)}, inlined from this line."
    meaning = _meaning(line.reasons[0].reason) if line.reasons else ""
    yield markup.escape(meaning)
    yield markup.note(markup.escape(wording.unattributed(kernel.samples))) if kernel.samples.unattributed else ""


def _finding(markup: Markup, finding: Finding) -> Iterator[str]:
    evidence = finding.evidence
    yield f"{markup.strong(evidence.id)} {markup.escape(evidence.text)}"
    if evidence.known_causes:
        rows = [_cause(markup, cause) for cause in evidence.known_causes[:4]]
        yield markup.table(["caused by", "of the wait", ""], rows)
    if evidence.bound is not None:
        yield f"Acting on it buys at most {evidence.bound.speedup:.2f}× ({evidence.bound.method})."


def _cause(markup: Markup, cause: Cause) -> list[str]:
    name = cause.file.replace("\\", "/").rsplit("/", 1)[-1]
    return [
        f"{markup.code(cause.opcode)} {markup.escape(name)}:{cause.line} ({cause.confidence})",
        wording.percent(cause.share),
        wording.bar(cause.share),
    ]


def _meaning(name: str) -> str:
    """What happens in the hardware when a warp waits for that reason, and when it does not matter."""
    from optimas_lsp.insight.stalls import reason

    row = reason(name)
    return row.meaning + (f" Harmless when: {row.ignore_when}" if row.ignore_when else "")


def kernel_facts(markup: Markup, kernel: KernelAnalysis) -> Iterator[str]:
    """What a kernel ran like, and what the report does not say."""
    from optimas_lsp.insight.facts import describe

    yield f"{markup.strong('kernel')} {markup.code(kernel.name)}"
    yield markup.escape(wording.kernel_line(kernel))
    whole = [evidence for evidence in kernel.evidence if evidence.location is None]
    for evidence in whole:
        yield f"{markup.strong(evidence.id)} {markup.escape(evidence.text)}"
    if not whole and kernel.roofline is not None and kernel.roofline.text:
        yield markup.escape(kernel.roofline.text)
    shape = [
        ("grid", " × ".join(str(each) for each in kernel.grid)),
        ("block", " × ".join(str(each) for each in kernel.block)),
        ("issue slots used", wording.percent(kernel.issue_active)),
        *describe(kernel.facts),
    ]
    yield markup.table(["", ""], [[markup.escape(label), markup.escape(value)] for label, value in shape])
    totals = kernel.samples
    if totals.total:
        stalled = wording.percent(totals.stalled / totals.total)
        idle = wording.percent(totals.not_issued / totals.total)
        yield f"{totals.total:,} samples: {stalled} of warps stalled, {idle} in cycles without an issue."
    for conflict in kernel.conflicts:
        yield markup.escape(conflict.text)
    outside = [each for each in kernel.lines if each.shown is None and each.location.path is None][:4]
    if outside:
        places = ", ".join(
            f"{markup.code(f'{each.location.file}:{each.location.line}')} {wording.short_percent(each.share)}"
            for each in outside
        )
        yield f"Outside this workspace: {places}."
    yield markup.note(markup.escape(wording.unattributed(totals)))
