"""The tries of a search as a table: what each changes, its gain with the interval, its time, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.report.html.markup import Markup, el
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.tries import Try, time_spent, tries_of

NOTE = "A short proof leaves inputs and gates out: its times only say which candidate gets a whole proof."


def tries(rewriting: Rewriting) -> Iterator[Markup]:
    """A table where there were several, and what all proofs took; nothing where there was none."""
    rows = tries_of(rewriting)
    spent = time_spent(rows)
    if len(rows) < 2 and not spent:
        return
    yield el("h3", "Tries")
    if len(rows) > 1:
        level = next((each.gain.level for each in rows if each.gain is not None), 0.95)
        proven = any(each.gain is not None or each.steps for each in rows)
        figures = ("kernel time", f"{100 * level:g} % interval", "proof", "took", "waited") if proven else ()
        heads = ("try", "what it changes", *figures, "what became of it")
        head = el("thead", el("tr", *(el("th", words, scope="col") for words in heads)))
        shown = None if rewriting.shown is None else rewriting.shown.number
        body = el("tbody", *(_row(each, told=each.number == shown, figures=proven) for each in rows))
        yield el("div", el("table", head, body, class_="wide tries"),
                 class_="scroll", tabindex=0, role="region", aria_label="Tries")  # fmt: skip
        if any(each.short for each in rows):
            yield el("p", NOTE, class_="quiet")
    if spent:
        yield el("p", f"All proofs together took {spent}.", class_="quiet")


def _row(each: Try, *, told: bool, figures: bool) -> Markup:
    """One try; the one that the page is about stands out."""
    gain = each.gain
    said = each.said
    if gain is not None and gain.words in said:  # which the columns hold
        said = said.replace(f": {gain.words}", "")
    proof = ("short" if each.short else "whole") if each.steps or gain is not None else "none"
    cells = (
        el("td", gain.factor if gain is not None else "", class_="number"),
        el("td", gain.interval if gain is not None else "", class_="number"),
        el("td", proof),
        el("td", f"{each.took_s:.0f} s" if each.steps else "", class_="number"),
        el("td", f"{each.waited_s:.0f} s" if each.waited_s >= 0.5 else "", class_="number"),
    )
    end = el("td", el("strong", said) if told else said)
    return el("tr", el("th", each.number, scope="row"), el("td", each.label or "no change"),
              *(cells if figures else ()), end)  # fmt: skip
