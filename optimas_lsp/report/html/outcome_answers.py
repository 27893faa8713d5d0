"""What lies behind an outcome: the findings that were given, and every answer with its proposer's own words."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.report.html import tables
from optimas_lsp.report.html.families import family
from optimas_lsp.report.html.markup import Markup, el
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.proposal import Change, Proposal
from optimas_lsp.rewrite.tries import tries_of
from optimas_lsp.score import Scores
from optimas_lsp.score.citations import items
from optimas_lsp.score.ear import recorded
from optimas_lsp.score.words import in_one_line


def findings(rewriting: Rewriting, scores: Scores) -> Iterator[Markup]:
    """The findings of the prompt, in its order, each with whether a change cites it."""
    kernel = rewriting.analysis
    given = [each for each in kernel.evidence if each.id in rewriting.prompt.evidence] if kernel is not None else []
    if not given:
        return
    cited = {name for ids in items(rewriting) if ids[0] in scores.citations.cited for name in ids}
    yield el("h3", "Findings that were given")
    rows: list[Markup] = []
    for each in sorted(given, key=lambda one: rewriting.prompt.evidence.index(one.id)):
        at = each.shown or each.location
        share = f"{100 * each.share:.1f} ± {100 * each.margin:.1f} %" if each.share else ""
        title = el("summary", el("span", each.id, class_=f"chip {each.level} {family(each.rule)}"), " ",
                   el("code", each.rule))  # fmt: skip
        rows.append(
            el(
                "tr",
                el("td", el("details", title, el("p", each.text))),
                el("td", tables.place(at) if at is not None else "whole kernel"),
                el("td", share, class_="number"),
                el("td", "cited" if each.id in cited else "not cited"),
                id=each.id,
            )
        )
    shown = rewriting.shown
    by = "by an applied change" if rewriting.status == "candidate" or shown is None else f"by try {shown.number}"
    heads = ("finding", "where, when profiled", "samples", by)
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
    yield el("div", el("table", head, el("tbody", *rows), class_="wide findings"),
             class_="scroll", tabindex=0, role="region", aria_label="Findings")  # fmt: skip


def rounds(rewriting: Rewriting) -> Iterator[Markup]:
    """Where the search went on from a winner: each round's end, its scores, and why no further one was made."""
    if not rewriting.rounds:
        return
    yield el("h3", "Rounds")
    known = [(each, recorded(each)) for each in rewriting.rounds]
    told = [
        el("li", each.sentence, el("br"), el("span", in_one_line(scores), class_="quiet") if scores else None)
        for each, scores in known
    ]
    yield el("ol", *told, class_="notes")
    if rewriting.ended:
        yield el("p", f"No further round: {rewriting.ended}.", class_="quiet")


def answers(rewriting: Rewriting) -> Iterator[Markup]:
    """Every answer, folded, with what became of it."""
    if not rewriting.attempts:
        return
    yield el("h3", "Answers")
    told = {each.number: each for each in tries_of(rewriting)}
    for attempt in rewriting.attempts:
        if (known := told.get(attempt.number)) is not None:
            said = known.label or known.said
            yield el("details", el("summary", f"Answer {attempt.number}: {said}"), *_reasons(attempt))


def _reasons(attempt: Attempt) -> Iterator[Markup]:
    """What the proposer said, labelled as its words."""
    outcome = attempt.reply.outcome
    if not isinstance(outcome, Proposal):
        yield el("p", outcome.sentence)
        return
    if attempt.problem:
        yield el("p", f"{attempt.problem[:1].upper()}{attempt.problem[1:]}.")
    yield el("p", "Reasons in the proposer's own words, which nothing here vouches for:", class_="quiet")
    items = [_reason(each) for each in outcome.changes]
    yield el("ul", *(el("li", words) for words in items), class_="notes")
    if outcome.not_applied:
        ideas = [f"{each.transformation}: {each.reason}" for each in outcome.not_applied]
        yield el("details", el("summary", f"{len(ideas)} ideas that were not applied"),
                 el("ul", *(el("li", words) for words in ideas), class_="notes"))  # fmt: skip


def _reason(change: Change) -> str:
    return f"{change.transformation} ({', '.join(change.evidence) or 'cites nothing'}): {change.reason}"
