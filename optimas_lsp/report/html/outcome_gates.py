"""The checks that one answer went through, each with its own words, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.report.html.markup import Markup, el
from optimas_lsp.rewrite.outcome import Attempt
from optimas_lsp.score.effect import Gate, Measured

_GATE = {"pass": ("✓", "passed"), "fail": ("✗", "failed"), "skipped": ("–", "skipped")}


def gates(attempt: Attempt | None, details: Measured) -> Iterator[Markup]:
    yield el("h3", "Gates")
    rows = [_gate(name, status, sentence) for name, status, sentence in _rungs(attempt, details)]
    if not rows:
        yield el("p", "No gate was reached.", class_="quiet")
        return
    head = el("thead", el("tr", *(el("th", words, scope="col") for words in ("gate", "result", "what was found"))))
    caption = el("caption", "Each check with its own words, in the order in which they run")
    yield el("div", el("table", caption, head, el("tbody", *rows), class_="wide gates"),
             class_="scroll", tabindex=0, role="region", aria_label="Gates")  # fmt: skip


def _rungs(attempt: Attempt | None, details: Measured) -> Iterator[tuple[str, str, str]]:
    verdict = attempt.verdict if attempt is not None else None
    if verdict is not None:
        for rule in verdict.rules:
            if rule.status in {"fail", "flag"}:
                yield f"guardrail {rule.id}", rule.status, rule.message
        failed = len(verdict.failures())
        checked = sum(rule.status != "skipped" for rule in verdict.rules)
        refusing = "1 refuses" if failed == 1 else f"{failed} refuse"
        words = f"{checked} of {len(verdict.rules)} rules checked, {refusing}, {len(verdict.flags)} flagged"
        yield "guardrails", "pass" if verdict.accepted else "fail", words
    if attempt is not None and attempt.compiled is not None:
        yield "compile", "pass" if attempt.compiled.good else "fail", attempt.compiled.sentence
    for gate in details.gates:
        yield gate.name, gate.status, spoken(gate, attempt)


def spoken(gate: Gate, attempt: Attempt | None) -> str:
    """A gate's sentence; what a short proof leaves out was not switched off by anybody."""
    proof = None if attempt is None else attempt.judged
    if proof is None or attempt is None:
        return gate.sentence
    short = gate.status == "skipped" and proof == attempt.screened and "switched off" in gate.sentence
    return "left out: a short proof only compares candidates" if short else proof.spoken(gate.sentence)


def _gate(name: str, status: str, sentence: str) -> Markup:
    sign, words = _GATE.get(status, ("!", "flagged" if status == "flag" else status))
    result = el("td", el("span", sign, aria_hidden="true"), f" {words}", class_=f"gate {status}")
    return el("tr", el("th", name, scope="row"), result, el("td", sentence))
