"""Tables: the kernels at a glance, and one kernel's findings ranked by what acting on them could buy."""

from __future__ import annotations

from collections.abc import Sequence

from optimas_lsp.insight.evidence import Cause, Evidence, KernelAnalysis, Location
from optimas_lsp.insight.knowledge import rules
from optimas_lsp.insight.ranking import Ranked
from optimas_lsp.insight.sentences import duration
from optimas_lsp.report.html.families import family
from optimas_lsp.report.html.markup import Markup, el, join
from optimas_lsp.report.html.source_view import file_name

LEVELS = {"act": "worth changing", "hot": "where time goes", "note": "for the record"}


def kernel_table(kernels: Sequence[tuple[str, KernelAnalysis]], first: Sequence[Ranked | None]) -> Markup:
    """Every kernel: share of GPU time, duration, verdict, what is left, and its best finding."""
    heads = ("kernel", "GPU time", "duration", "launches", "verdict", "at most left", "samples", "first finding")
    body = [
        el(
            "tr",
            el("th", el("a", kernel.base_name, href=f"#{anchor}", title=kernel.name) if anchor else kernel.base_name,
               None if kernel.hot else el("span", "not hot", class_="unit"), scope="row"),
            el("td", _share(kernel.share), class_="number"),
            el("td", duration(kernel.gpu_time_ns), class_="number"),
            el("td", str(kernel.launches), class_="number"),
            el("td", f"{kernel.roofline.verdict}-bound" if kernel.roofline else "unknown"),
            el("td", _ceiling(kernel), class_="number"),
            el("td", f"{kernel.samples.total:,}" if kernel.samples.total else "none", class_="number"),
            el("td", _first(best)),
        )
        for (anchor, kernel), best in zip(kernels, first, strict=True)
    ]  # fmt: skip
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
    table = el("table", el("caption", "Kernels, costliest first"), head, el("tbody", *body), class_="wide sortable")
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Kernel table")


def _share(share: float | None) -> Markup:
    if share is None:
        return join(["unknown"])
    bar = el("span", el("span", style=f"width:{100 * share:.1f}%"), class_="sharebar", aria_hidden="true")
    return join([f"{100 * share:.1f} %", bar])


def _ceiling(kernel: KernelAnalysis) -> str:
    ceiling = kernel.roofline.ceiling if kernel.roofline else None
    return "unknown" if ceiling is None else f"{ceiling.speedup:.2f}×"


def _first(best: Ranked | None) -> Markup | str:
    if best is None:
        return "none"
    evidence = best.evidence
    return join([el("a", evidence.id, href=f"#{evidence.id}"), f" {evidence.rule}{_at(evidence)}"])


def _at(evidence: Evidence) -> str:
    at = evidence.shown or evidence.location
    return f" at {place(at)}" if at is not None else ""


def place(location: Location) -> str:
    """A line as people name it: file and number."""
    return f"{file_name(location.file)}:{location.line}"


def findings(ranked: Sequence[Ranked]) -> Markup:
    """One row a finding, its sentence, causes and expectations unfolding below its title."""
    heads = ("finding", "where", "samples", "at most")
    rows = [_finding(one) for one in ranked]
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
    caption = el("caption", "Findings, ranked by what acting on them could buy")
    return el("div", el("table", caption, head, el("tbody", *rows), class_="wide findings"),
              class_="scroll", tabindex=0, role="region", aria_label="Findings")  # fmt: skip


def _finding(one: Ranked) -> Markup:
    evidence = one.evidence
    rule = rules().get(evidence.rule)
    title = el(
        "summary",
        el("span", evidence.id, class_=f"chip {evidence.level} {family(evidence.rule)}"),
        " ",
        el("code", evidence.rule),
        el("span", LEVELS[evidence.level], class_="unit"),
    )
    details = [el("p", evidence.text)]
    if evidence.known_causes:
        details.append(el("p", "Made to wait by:"))
        details.append(el("ul", *(el("li", _cause(cause)) for cause in evidence.known_causes)))
    if evidence.waits:
        details.append(el("p", f"These lines wait for it: {', '.join(place(each) for each in evidence.waits)}."))
    if evidence.inlined_at:
        details.append(el("p", f"Inlined at: {' ← '.join(place(each) for each in evidence.inlined_at)}."))
    if rule is not None:
        details.append(el("p", rule.means, class_="means"))
        details.append(el("ul", *(el("li", words) for words in rule.helps), class_="means"))
    if evidence.expects:
        words = ", ".join(
            f"{each.metric} {'falls' if each.direction == 'down' else 'rises'}" for each in evidence.expects
        )
        details.append(el("p", f"A change that helps shows as: {words}.", class_="means"))
    if one.merged:
        details.append(el("p", f"Stands for {', '.join(one.merged)} too.", class_="quiet"))
    at = evidence.shown or evidence.location
    share = f"{100 * evidence.share:.1f} ± {100 * evidence.margin:.1f} %" if evidence.share else ""
    return el(
        "tr",
        el("td", el("details", title, *details)),
        el("td", place(at) if at is not None else "whole kernel"),
        el("td", share, class_="number"),
        el("td", f"{one.buys:.2f}×" if one.buys > 1.005 else "", class_="number"),
        id=evidence.id,
    )


def _cause(cause: Cause) -> str:
    inlined = f", inlined at {place(cause.inlined_at[-1])}" if cause.inlined_at else ""
    at = f"{file_name(cause.file)}:{cause.line}"
    return f"{cause.opcode} at {at}{inlined}: {100 * cause.share:.0f} % of this finding's samples ({cause.confidence})"
