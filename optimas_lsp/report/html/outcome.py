"""The outcome of one rewrite as one self-contained HTML page: the change, the proof, the reasoning, what is open."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence, Set

from optimas_lsp.insight.changes import KernelComparison
from optimas_lsp.insight.sentences import duration, percent
from optimas_lsp.report.html import bars, compare_page
from optimas_lsp.report.html.markup import Markup, el, join
from optimas_lsp.report.html.outcome_answers import answers, findings, rounds
from optimas_lsp.report.html.outcome_gates import gates, spoken
from optimas_lsp.report.html.outcome_tries import tries
from optimas_lsp.report.html.page import document
from optimas_lsp.report.html.side_by_side import shown_lines, side_by_side
from optimas_lsp.report.html.source_view import file_name
from optimas_lsp.report.html.timing_chart import chart
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.tries import tries_of
from optimas_lsp.score import Scores, explain, score
from optimas_lsp.score.answer import original_of, shown
from optimas_lsp.score.direction import comparison_of, kernel_of
from optimas_lsp.score.ear import recorded
from optimas_lsp.score.effect import Measured, Ratio, effect, measured
from optimas_lsp.score.explain import EFFECT, LABELS
from optimas_lsp.score.measure import Measure
from optimas_lsp.score.words import MEASURES, measure

CONTEXT = 8
"""Lines shown around a change."""

_STATUS = {
    "candidate": "a candidate stands",
    "refuted": "refuted by the proof",
    "nothing": "nothing worth changing",
    "no-proposal": "no proposal",
    "manual-review": "a person has to look",
    "dry-run": "dry run, nothing was asked",
}
_PROOF = {"proven": "proven", "refuted": "refuted", "not-proven": "not proven"}
_AUTHORS = {"catalogue": "the catalogue", "manual": "brought by hand, perhaps from a model"}
_TITLE = re.compile(r"\d+\. |Round \d+$")
_ID = re.compile(r"\b([A-Z]{2}-\d{1,6})\b")
_PARTS = re.compile(
    r" (?=[A-Z]{2}-\d{1,6}(?:: | waits )|(?:Smaller|Also|As told above|Cited, but not in the profile): "
    r"|By the line that is waited for: |(?<=\. )[a-z_-]+: [A-Z]|Condition: |It answers )"
)
"""Where an explanation's sentences go on with another matter: each gets a paragraph."""


def outcome_page(rewriting: Rewriting) -> str:
    """The page as HTML text; every text in it that others wrote is escaped."""
    attempt = shown(rewriting)
    scores = recorded(rewriting) or score(rewriting)
    details = measured(rewriting.proof)
    parts: list[Markup | None] = [
        el("h2", f"Rewrite of {rewriting.analysis.base_name if rewriting.analysis else rewriting.kernel}"),
        el("p", rewriting.kernel, class_="quiet signature"),
        el("p", _answer(rewriting, details), class_="answer"),
        _recorded(details),
        _facts(rewriting, attempt),
        *_change(rewriting, attempt, scores),
        *([] if rewriting.status == "nothing" else _why(rewriting)),
        *gates(attempt, details),
        *_timing(rewriting, details),
        *tries(rewriting),
        *_stalls(rewriting),
        *([] if rewriting.status == "nothing" else _ear(scores)),
        *findings(rewriting, scores),
        *_open(rewriting, attempt, details),
        *rounds(rewriting),
        *answers(rewriting),
    ]
    title = f"Optimas: {_title(rewriting)} in {file_name(rewriting.source)}"
    return document(title, [part for part in parts if part is not None])


def _answer(rewriting: Rewriting, details: Measured) -> str:
    """The outcome's sentence without what stands above and below it: the kernel's name, that it was recorded."""
    name = f"a rewrite of {_title(rewriting)}"
    words = rewriting.sentence.removeprefix(f"{name}: ").removeprefix(f"{name} is ")
    words = words.removesuffix(f" ({details.recorded})") if details.recorded else words
    return f"{words[:1].upper()}{words[1:]}"


def _title(rewriting: Rewriting) -> str:
    return rewriting.analysis.base_name if rewriting.analysis is not None else rewriting.prompt.kernel


def _recorded(details: Measured) -> Markup | None:
    if not details.recorded:
        return None
    words = f"These results were {details.recorded}. They were looked up: the program was not run now."
    return el("p", el("strong", "Recorded. "), words, class_="conflict")


def _facts(rewriting: Rewriting, attempt: Attempt | None) -> Markup:
    where = rewriting.destination
    model = (attempt.reply.model if attempt is not None else "") or (where.model if where is not None else "")
    model = "no model" if rewriting.backend == "catalogue" else model
    author = _AUTHORS.get(rewriting.backend, f"a model ({rewriting.backend})")
    rows = [
        ("status", _STATUS.get(rewriting.status, rewriting.status)),
        ("proof", _PROOF[rewriting.proof.state] if rewriting.proof is not None else "none was reached"),
        ("file", file_name(rewriting.source)),
        ("change by", f"{author}{f', {model}' if model else ''}"),
        ("tries", str(len(tries_of(rewriting)))),
    ]
    rows += [("profiled GPU", rewriting.device.name)] if rewriting.device is not None else []
    rows += [("profiler", f"{rewriting.tool.name} {rewriting.tool.version}")] if rewriting.tool is not None else []
    rows += [("started", _minute(rewriting.started))] if rewriting.started else []
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in rows), class_="facts")


def _minute(started: str) -> str:
    """A moment in UTC to the minute, as people write it; what is no moment stays as it is."""
    day, _, clock = started.partition("T")
    return f"{day} {clock[:5]} UTC" if clock.endswith(("+00:00", "Z")) else started


def diff_of(rewriting: Rewriting, attempt: Attempt | None) -> str:
    """The change with room around it: from the texts where they are at hand, else as it was kept."""
    original = original_of(rewriting) if rewriting.edited is not None else None
    if original is None or rewriting.edited is None:
        return rewriting.diff or (attempt.diff if attempt is not None else "")
    before, after = (text.splitlines(keepends=True) for text in (original, rewriting.edited))
    lines = difflib.unified_diff(before, after, n=CONTEXT)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _change(rewriting: Rewriting, attempt: Attempt | None, scores: Scores) -> Iterator[Markup]:
    stands = rewriting.status in {"candidate", "dry-run"} or attempt is None
    yield el(
        "h3", "The change" if stands or attempt is None else f"The change of try {attempt.number}, which does not stand"
    )
    diff = diff_of(rewriting, attempt)
    if not diff.strip():
        yield el("p", "There is no change that could be put into the file.", class_="quiet")
        return
    marks: dict[int, list[str]] = {}
    for each in scores.localisation.standing:
        for line in each.lines:
            marks.setdefault(line, []).append(each.id)
    yield side_by_side(diff, rewriting.source, marks)
    there = shown_lines(diff)
    away = [each.id for each in scores.localisation.standing if there.isdisjoint(each.lines)]
    if away:
        yield el("p", "Findings on lines of this file that are not shown: ", _links(away), ".", class_="quiet")
    if scores.localisation.lines_from == "assumed":
        yield el("p", "Lines are taken to be as they were profiled.", class_="quiet")


def _links(ids: Sequence[str]) -> Markup:
    return join(part for at, name in enumerate(ids) for part in (", " if at else None, el("a", name, href=f"#{name}")))


def _why(rewriting: Rewriting) -> Iterator[Markup]:
    """The explanation's lines: a title a change, then a label and sentences each, the effect of all last."""
    lines = rewriting.explanation or explain(rewriting)
    kernel = rewriting.analysis
    known = {each.id for each in kernel.evidence} & {*rewriting.prompt.evidence} if kernel is not None else set[str]()
    yield from (el("h3", "Why, and what came of it"),) if lines else ()
    rows: list[Markup] = []
    for line in lines:
        label, _, text = line.partition(": ")
        if rows and (_TITLE.match(line) or label == EFFECT):
            yield el("dl", *rows, class_="chain")
            rows = []
        if _TITLE.match(line):
            yield el("h4", line)
        elif label == EFFECT:
            yield el("p", el("strong", f"{EFFECT}. "), text, class_="effect")
        else:
            named = label in LABELS.values()
            parts = _PARTS.split(text if named else line)
            told = el("dd", *(el("p", _linked(each, known)) for each in parts))
            rows.append(el("div", el("dt", label if named else ""), told))
    if rows:
        yield el("dl", *rows, class_="chain")


def _linked(text: str, known: Set[str]) -> Markup:
    """Text in which the ids of findings lead to them."""
    return join(el("a", each, href=f"#{each}") if each in known else each for each in _ID.split(text))


def _timing(rewriting: Rewriting, details: Measured) -> Iterator[Markup]:
    yield el("h3", "Time")
    timing = details.timing
    ratios = [] if timing is None else [("kernel", timing.kernel_ns, 1.0), ("whole program", timing.program_s, 1e9)]
    for name, other in ({} if timing is None else timing.others).items():
        ratios += [(f"kernel, input {name}", other.kernel_ns, 1.0), (f"program, input {name}", other.program_s, 1e9)]
    rows = [_ratio(what, each, unit) for what, each, unit in ratios if each is not None]
    if timing is None or not rows:
        yield el("p", effect(rewriting, again=_again(rewriting)))
        return
    heads = ("", "before", "after", "times shorter", f"{100 * timing.level:g} % interval")
    head = el("thead", el("tr", *(el("th", words, scope="col", class_="number" if words else None) for words in heads)))
    told = f"Medians of {timing.pairs} pairs of runs on input {timing.input or 'unknown'}"
    yield el("div", el("table", el("caption", told), head, el("tbody", *rows), class_="wide times"),
             class_="scroll", tabindex=0, role="region", aria_label="Times")  # fmt: skip
    if timing.warnings:
        yield el("ul", *(el("li", words) for words in timing.warnings), class_="notes")
    if timing.kernel_ns is not None:
        runs = timing.runs
        drawn = chart(runs.baseline.kernel_ns, runs.candidate.kernel_ns, timing.kernel_ns, "Kernel time")
        yield el("h4", "Kernel time of every run")
        yield drawn if drawn is not None else el("p", "The single runs were not kept.", class_="quiet")


def _ratio(what: str, each: Ratio, unit: float) -> Markup:
    cells = (
        duration(each.baseline * unit),
        duration(each.candidate * unit),
        f"{each.speedup:.3f}",
        f"{each.low:.3f} to {each.high:.3f}" + (" (no difference)" if each.low <= 1 <= each.high else ""),
    )
    return el("tr", el("th", what, scope="row"), *(el("td", words, class_="number") for words in cells))


def _again(rewriting: Rewriting) -> KernelComparison | None:
    found = comparison_of(rewriting)
    return None if found is None else kernel_of(found, rewriting.prompt.kernel)


def _stalls(rewriting: Rewriting) -> Iterator[Markup]:
    yield el("h3", "Stalls before and after")
    kernel = _again(rewriting)
    if kernel is None:
        yield el("p", "Not profiled again: what warps wait for after the change was not measured.", class_="quiet")
        return
    yield el("div", *compare_page.panels(kernel), class_="panels")
    if kernel.evidence:
        yield compare_page.findings(kernel.evidence)


def _ear(scores: Scores) -> Iterator[Markup]:
    yield el("h3", "EAR: did the reasoning follow the evidence?")
    found = [measure(scores, group, field) for group, field, *_ in MEASURES]
    if all(each.value is None for each in found) and len({each.why_not for each in found}) == 1:
        yield el("p", f"Not measurable: {found[0].why_not}.", class_="quiet")
        return
    rows = [_measure(name, what, means, each) for (_, _, name, what, means), each in zip(MEASURES, found, strict=True)]
    heads = ("measure", "share and 95 % interval", "counted", "means")
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
    caption = el("caption", "Evidence-Aligned Reasoning; intervals are Wilson's, at 95 %")
    yield el("div", el("table", caption, head, el("tbody", *rows), class_="wide ear"),
             class_="scroll", tabindex=0, role="region", aria_label="EAR scores")  # fmt: skip
    if scores.citations.invented:
        names = ", ".join(scores.citations.invented)
        yield el("p", el("strong", "Invented citations: "), names, class_="conflict")


def _measure(name: str, what: str, means: str, each: Measure) -> Markup:
    title = el("th", name, scope="row")
    if each.value is None or each.low is None or each.high is None or each.hits is None:
        return el("tr", title, el("td", "not measurable"), el("td", each.why_not), el("td", means, class_="means"))
    words = f"{percent(each.value)} ({percent(each.low)} to {percent(each.high)})"
    share = el("td", bars.interval(each.value, each.low, each.high, f"{name}: {words}"), words)
    counted = el("td", f"{round(each.hits):,} of {each.of:,} {what}")
    return el("tr", title, share, counted, el("td", means, class_="means"))


def _open(rewriting: Rewriting, attempt: Attempt | None, details: Measured) -> Iterator[Markup]:
    yield el("h3", "What was not checked")
    items = list(details.not_checked)
    items += [f"{gate.name}: {spoken(gate, attempt)}" for gate in details.gates if gate.status == "skipped"]
    if rewriting.proof is None or not details.gates:
        why = "no candidate came as far as a proof" if rewriting.proof is None else rewriting.proof.sentence
        items.append(f"whether it is right and faster: {why}")
    if comparison_of(rewriting) is None:
        items.append("whether stalls and counters moved as the findings imply: it was not profiled again")
    yield el("ul", *(el("li", words) for words in dict.fromkeys(items)), class_="notes")
