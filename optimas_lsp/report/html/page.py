"""One self-contained HTML page of one or several reports: it loads nothing and runs one small script of ours."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from optimas_lsp import __version__
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.facts import describe
from optimas_lsp.insight.ranking import Ranked, rank
from optimas_lsp.insight.sentences import duration
from optimas_lsp.profile.model import Profile
from optimas_lsp.report.html import bars, tables
from optimas_lsp.report.html.markup import Markup, el, join
from optimas_lsp.report.html.roofline_chart import chart
from optimas_lsp.report.html.source_view import TextOf, file_name, source_views


@dataclass(frozen=True)
class Subject:
    """One report of the page: its profile, what it means, and how to get a file's text as it was profiled."""

    profile: Profile
    analysis: Analysis
    text_of: TextOf


def render(subjects: Sequence[Subject]) -> str:
    """The page as HTML text."""
    names = [file_name(subject.analysis.report.path) for subject in subjects]
    title = f"Optimas: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    return document(title, [part for at, subject in enumerate(subjects) for part in _report(at, subject)])


def document(title: str, parts: Sequence[Markup]) -> str:
    """A whole page around ``parts``: our style, our script, and a policy that lets nothing else run or load."""
    style, script = (_asset(name) for name in ("style.css", "script.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    script_policy = f"script-src 'sha256-{digest}'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; {script_policy}; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        _raw("style", style),
    )
    body = el(
        "body",
        el("a", "Skip to the content", href="#main", class_="skip"),
        el("header", el("h1", "Optimas"), el("button", "Dark or light", type="button", id="theme"), class_="top"),
        el("main", *parts, id="main"),
        el(
            "footer",
            el("p", f"Optimas {__version__}. Shares without a denominator are of PC samples.", class_="quiet"),
        ),
        _raw("script", script),
    )
    return "<!DOCTYPE html>\n" + el("html", head, body, lang="en") + "\n"


def _asset(name: str) -> str:
    return (resources.files("optimas_lsp.report.html") / name).read_text("utf-8")


def _raw(tag: str, text: str) -> Markup:
    """Our own style and script, which contain no end tag."""
    return Markup(f"<{tag}>{text}</{tag}>")


def _report(at: int, subject: Subject) -> Iterator[Markup]:
    analysis = subject.analysis
    report = analysis.report
    ranked = rank(analysis.kernels)
    shown = [kernel for kernel in analysis.kernels if kernel.hot or kernel.evidence]
    anchors = {id(kernel): f"r{at}k{number}" for number, kernel in enumerate(shown)}
    listed = [(anchors.get(id(kernel), ""), kernel) for kernel in analysis.kernels]
    first = [next((one for one in order if one.evidence.source in {"pc", "bl", "pt"}), None) for _, order in ranked]
    yield el(
        "section",
        el("h2", file_name(report.path)),
        el("p", f"{report.device}, {report.tool} {report.tool_version}", class_="quiet", title=report.path),
        el("p", _answer(analysis), class_="answer"),
        tables.kernel_table(listed, first),
        *_roofline(at, [(anchors[id(kernel)], kernel) for kernel in shown]),
        *_notes(analysis),
    )
    by_kernel = {id(kernel): order for kernel, order in ranked}
    for kernel in shown:
        yield _kernel(anchors[id(kernel)], kernel, by_kernel[id(kernel)], subject)


def _answer(analysis: Analysis) -> str:
    """The first sentence a reader sees: which kernel takes the time, what bounds it, what is left."""
    if not analysis.kernels:
        return "The report holds no kernel."
    kernel = analysis.kernels[0]
    share = "" if kernel.share is None else f" takes {100 * kernel.share:.0f} % of the GPU time"
    text = f"{kernel.base_name}{share} ({duration(kernel.gpu_time_ns)})."
    return f"{text} {kernel.roofline.text}" if kernel.roofline is not None else text


def _roofline(at: int, kernels: Sequence[tuple[str, KernelAnalysis]]) -> Iterator[Markup]:
    name = f"r{at}-roofline"
    drawing = chart(kernels, name)
    without = [kernel.base_name for _, kernel in kernels if kernel.roofline and kernel.roofline.precision == "none"]
    yield el("h3", "Roofline")
    if drawing is not None:
        levels = (("dram", "●", "DRAM"), ("l2", "■", "L2"), ("l1", "▲", "L1"))
        yield el("ul", *(_switch(name, level, mark, words) for level, mark, words in levels), class_="legend levels")
        yield el("div", drawing, class_="scroll chart")
        hint = "Point at a mark, or step to it with the Tab key, to read it."
        yield el("p", hint, class_="quiet", aria_live="polite", data_readout=name)
    if without:
        words = ", ".join(dict.fromkeys(without))
        told = f"No floating-point work was counted for {words}: no point stands for it, its bars show what it uses."
        yield el("p", told, class_="quiet")
    elif drawing is None:
        yield el("p", "The report holds no floating-point counts, so there is no roofline to draw.", class_="quiet")


def _switch(chart_name: str, level: str, mark: str, words: str) -> Markup:
    box = el("input", type="checkbox", checked=True, data_level=level, data_chart=chart_name)
    return el("li", el("label", box, el("span", mark, class_=f"mark {level}", aria_hidden="true"), words))


def _notes(analysis: Analysis) -> Iterator[Markup]:
    if analysis.notes:
        yield el("h3", "Notes")
        yield el("ul", *(el("li", note.text) for note in analysis.notes), class_="notes")


def _kernel(anchor: str, kernel: KernelAnalysis, ranked: Sequence[Ranked], subject: Subject) -> Markup:
    parts: list[Markup | None] = [
        el("h2", kernel.base_name),
        el("p", kernel.name, class_="quiet signature") if kernel.name != kernel.base_name else None,
        _facts(kernel),
    ]
    if kernel.roofline is not None:
        parts += [el("p", kernel.roofline.text, class_="answer")]
    for conflict in kernel.conflicts:
        ids = join(part for each in conflict.evidence for part in (el("a", each, href=f"#{each}"), " "))
        parts.append(el("p", el("strong", "Sources disagree. "), ids, conflict.text, class_="conflict"))
    panels = [
        el("div", bars.utilisation(kernel.roofline), class_="panel") if kernel.roofline is not None else None,
        _panel(bars.stalls(kernel, _stall_counts(kernel, subject.profile))),
        el("div", bars.counters(kernel.importance), class_="panel") if kernel.importance is not None else None,
    ]
    parts.append(el("div", *panels, class_="panels"))
    if ranked:
        parts += [el("h3", "Findings"), tables.findings(ranked)]
    views = list(source_views(anchor, kernel, subject.profile, subject.text_of))
    if views:
        parts += [el("h3", "Source"), *views]
    for why in kernel.samples.why_unattributed:
        share = 100 * why.samples / kernel.samples.total if kernel.samples.total else 0.0
        parts.append(el("p", f"{share:.1f} % of the samples have no source line: {why.text}.", class_="quiet"))
    return el("section", *parts, id=anchor, class_="kernel")


def _panel(content: Markup | None) -> Markup | None:
    return el("div", content, class_="panel") if content is not None else None


def _stall_counts(kernel: KernelAnalysis, profile: Profile) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for each in profile.kernels:
        if each.mangled == kernel.mangled:
            for reason, count in zip(each.samples.reason, each.samples.all_, strict=True):
                counts[profile.reasons[reason]] += count
    return counts.most_common()


def _facts(kernel: KernelAnalysis) -> Markup:
    grid, block = ("×".join(map(str, shape)) for shape in (kernel.grid, kernel.block))
    rows = [
        ("GPU time", duration(kernel.gpu_time_ns)),
        ("launches", str(kernel.launches)),
        ("grid", grid),
        ("block", block),
        *describe(kernel.facts),
    ]
    if kernel.issue_active is not None:
        rows.append(("cycles with an issue", f"{100 * kernel.issue_active:.0f} %"))
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in rows), class_="facts")
