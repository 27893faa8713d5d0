"""Explanations that teach: for each applied change evidence, cause, transformation and measured effect, from the data.

No model words anything here: sentences come from the report's figures, blame's edges, the knowledge base, the
catalogue and the measured times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from optimas_lsp.insight import knowledge
from optimas_lsp.insight.causes import what_is_awaited
from optimas_lsp.insight.changes import Change as Moved
from optimas_lsp.insight.changes import Comparison, EvidenceChange, KernelComparison
from optimas_lsp.insight.evidence import Cause, Evidence, KernelAnalysis, Location
from optimas_lsp.insight.sentences import duration, percent, share_of
from optimas_lsp.insight.stalls import reason
from optimas_lsp.rewrite.catalogue.registry import Entry, entries
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.prompt_data import phrase
from optimas_lsp.rewrite.proposal import Change, Proposal
from optimas_lsp.score.answer import shown
from optimas_lsp.score.direction import comparison_of, deciding, judged, kernel_of, key_of
from optimas_lsp.score.effect import effect
from optimas_lsp.score.places import AS_PROFILED, Places

MOST_FINDINGS = 3
"""Findings spelled out for one change, those with the largest share first; the rest is named."""

LEAST_CAUSE = 0.10
"""Causes with less than this share of their finding's samples are left out."""

Label = Literal["evidence", "cause", "why", "change", "expected", "measured"]

LABELS: dict[Label, str] = {
    "evidence": "Evidence",
    "cause": "Cause",
    "why": "What that means",
    "change": "Change",
    "expected": "A change that helps shows as",
    "measured": "Measured",
}

EFFECT = "Effect"
"""Label of the last line: what was measured of all changes together."""

_EXACT = {
    "exact": "The same operations on the same values in the same order, so results are the same bit for bit.",
    "exact-integers": "Integers are added in another order, which changes no result.",
    "contraction": "The same operations, but the compiler may fuse others than before: last bits may differ.",
    "inexact": "The last bits of results may differ.",
}


@dataclass(frozen=True)
class Chain:
    """One applied change: its title, and what leads to it and follows from it, each a label and sentences."""

    title: str
    steps: tuple[tuple[Label, str], ...]


def explain(
    rewriting: Rewriting, *, places: Places = AS_PROFILED, compared: Comparison | None = None
) -> tuple[str, ...]:
    """The chains of the answer as lines of text, and the measured effect last; empty without an applied change."""
    found = chains(rewriting, places=places, compared=compared)
    lines: list[str] = []
    for number, chain in enumerate(found, 1):
        lines.append(f"{number}. {chain.title}")
        lines += [f"{LABELS[label]}: {text}" for label, text in chain.steps]
    return (*lines, f"{EFFECT}: {effect(rewriting, len(found), _again(rewriting, compared))}") if found else ()


def explain_rounds(whole: Rewriting, winners: Sequence[Rewriting]) -> tuple[str, ...]:
    """The explanations of the rounds that ``whole`` is made of, and its own measured effect last."""
    lines = [line for number, each in enumerate(winners, 1) for line in (f"Round {number}", *each.explanation)]
    return (*lines, f"{EFFECT}: {effect(whole)} That is all {len(winners)} rounds together.")


def chains(
    rewriting: Rewriting, *, places: Places = AS_PROFILED, compared: Comparison | None = None
) -> tuple[Chain, ...]:
    """One chain an applied change of the answer that stands, or of the last."""
    attempt = shown(rewriting)
    proposal = None if attempt is None else attempt.reply.outcome
    if not isinstance(proposal, Proposal) or not proposal.functions or rewriting.analysis is None:
        return ()
    teller = _Teller(rewriting.analysis, places, _again(rewriting, compared), own=compared is None)
    told: set[str] = set()
    return tuple(teller.chain(change, told) for change in proposal.changes)


def _again(rewriting: Rewriting, compared: Comparison | None) -> KernelComparison | None:
    """The kernel in both profiles."""
    found = compared or comparison_of(rewriting)
    return None if found is None else kernel_of(found, rewriting.prompt.kernel)


@dataclass(frozen=True)
class _Teller:
    kernel: KernelAnalysis
    places: Places
    again: KernelComparison | None
    own: bool

    def chain(self, change: Change, told: set[str]) -> Chain:
        """The chain of one change; ``told`` are the rules that were explained before, and grows."""
        known = {each.id: each for each in self.kernel.evidence}
        cited = [known[name] for name in dict.fromkeys(change.evidence) if name in known]
        cited.sort(key=lambda each: -each.share)
        unknown = [name for name in dict.fromkeys(change.evidence) if name not in known]
        entry = next((each for each in entries() if each.name == change.transformation), None)
        steps: list[tuple[Label, str]] = [
            ("evidence", " ".join(self._evidence(cited, unknown))),
            ("cause", " ".join(self._causes(cited))),
            ("why", " ".join(_meaning(cited, told))),
            ("change", " ".join(_change(change, entry, cited))),
            ("expected", _expected(cited)),
            ("measured", " ".join(self._measured(cited))),
        ]
        first, last = change.original_lines
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        title = f"{phrase(change.transformation)} in {phrase(change.function)}, {lines}"
        return Chain(title, tuple((label, text) for label, text in steps if text))

    def _evidence(self, cited: Sequence[Evidence], unknown: Sequence[str]) -> Iterator[str]:
        told = [each for each in cited if each.source != "bl"]
        if not cited and not unknown:
            yield "None was cited."
        for each in told[:MOST_FINDINGS]:
            yield self._finding(each)
        if len(told) > MOST_FINDINGS:
            yield f"Also {', '.join(each.id for each in told[MOST_FINDINGS:])}."
        if unknown:
            names = ", ".join(phrase(name)[:40] for name in unknown)
            yield f"Cited, but not in the profile: {names}."

    def _finding(self, each: Evidence) -> str:
        if each.source != "pc":
            return f"{each.id}: {phrase(each.text).rstrip('.')}."
        share = share_of(each.share, each.margin, self.kernel.samples.total)
        wait = f"wait{self._at(each)} for {reason(each.rule).waits_for} ({phrase(each.rule)})"
        return f"{each.id}: {share} are of warps that {wait}."

    def _causes(self, cited: Sequence[Evidence]) -> Iterator[str]:
        for each in [one for one in cited if one.source == "pc"][:MOST_FINDINGS]:
            awaited = ", and ".join(self._cause(line) for line in _by_line(each.known_causes))
            if awaited:
                yield f"{each.id} waits {awaited}."
        for each in [one for one in cited if one.source == "bl"][:MOST_FINDINGS]:
            share = share_of(each.share, each.margin, self.kernel.samples.total)
            at = self._at(each).removeprefix(" at ") or "an instruction"
            yield f"{each.id}: {share} wait for {at} ({phrase(each.rule)}, {each.confidence or 'unsure'})."

    def _cause(self, causes: Sequence[Cause]) -> str:
        """What is awaited on one line, named after the heaviest of its instructions."""
        first = causes[0]
        awaited = what_is_awaited(phrase(first.opcode), first.kind, self._of(first))
        opcode = first.opcode.partition(".")[0]
        more = " and others" if len(causes) > 1 else ""
        named = "" if opcode in awaited.split() and not more else f"{phrase(opcode)}{more}, "
        share = sum(each.share for each in causes)
        return f"{awaited} ({named}{percent(share, 0)} of this wait, {first.confidence})"

    def _measured(self, cited: Sequence[Evidence]) -> Iterator[str]:
        if self.again is None:
            yield "Not profiled again, so what became of these findings is not known."
            return
        rows: dict[str, list[EvidenceChange]] = {}
        names = {key_of(each, own=self.own): each.id for each in cited}
        for row in self.again.evidence:
            name = names.get(key_of(row, own=self.own))
            if name is not None:
                rows.setdefault(name, []).append(row)
        told = [each.id for each in cited if each.id in rows]
        for name in told[: 2 * MOST_FINDINGS]:
            yield _moved(name, deciding(rows[name]))
        others = [f"{name} {SAID[judged(rows[name])]}" for name in told[2 * MOST_FINDINGS :]]
        if others:
            yield f"Also: {', '.join(others)}."
        if not told:
            yield "The second profile does not show these findings."

    def _at(self, evidence: Evidence) -> str:
        at = evidence.shown or evidence.location
        if at is None:
            return ""
        inner = evidence.location
        through = f" (inlined from {self._name(inner)})" if inner is not None and inner != at else ""
        return f" at {self._name(at)}{through}"

    def _of(self, cause: Cause) -> str:
        return f"at {self._name(Location(file=cause.file, line=cause.line, path=cause.path))}"

    def _name(self, at: Location) -> str:
        """A place by today's line."""
        spot = self.places.today(at)
        name = phrase(PurePosixPath(at.file.replace("\\", "/")).name)
        if spot is not None and spot.line is None:
            return f"{name} (line {at.line} when profiled, changed since)"
        return f"{name}:{at.line if spot is None else spot.line}"


def _by_line(causes: Sequence[Cause]) -> list[list[Cause]]:
    """The causes of the two heaviest lines, the heaviest first in each."""
    lines: dict[tuple[str, int], list[Cause]] = {}
    for each in sorted(causes, key=lambda one: -one.share):
        lines.setdefault((each.file, each.line), []).append(each)
    shares = [(sum(each.share for each in one), one) for one in lines.values()]
    return [one for share, one in sorted(shares, key=lambda item: -item[0]) if share >= LEAST_CAUSE][:2]


def _meaning(cited: Sequence[Evidence], told: set[str]) -> Iterator[str]:
    """What the first two rules mean, in the knowledge base's words, each rule once."""
    pages = knowledge.rules()
    ordered = sorted(cited, key=lambda each: each.location is None)
    for name in [name for name in dict.fromkeys(each.rule for each in ordered) if name in pages][:2]:
        if name not in told:
            told.add(name)
            known = pages[name].reason()
            yield f"{name}: {known.meaning if known is not None else pages[name].means}"


def _change(change: Change, entry: Entry | None, cited: Sequence[Evidence]) -> Iterator[str]:
    if entry is None:
        yield f"'{phrase(change.transformation)[:60]}' is the proposer's own name; the catalogue does not know it."
        pages = knowledge.rules()
        helps = [help_ for each in cited if each.rule in pages for help_ in pages[each.rule].helps[:1]]
        if helps:
            yield f"What usually helps here: {' '.join(dict.fromkeys(helps[:2]))}"
        return
    answered = [rule for rule in dict.fromkeys(each.rule for each in cited) if rule in entry.rules]
    to = f" It answers {', '.join(answered)}." if answered else ""
    yield f"{entry.title[:1].upper()}{entry.title[1:]}.{to} It needs {entry.precondition}. {_EXACT[entry.exactness]}"


def _expected(cited: Sequence[Evidence]) -> str:
    wanted = dict.fromkeys((each.metric, each.direction) for item in cited for each in item.expects)
    words = [f"{phrase(metric)} {'falls' if way == 'down' else 'rises'}" for metric, way in wanted]
    return f"{', '.join(words)}." if words else ""


SAID = {
    "as-implied": "as implied",
    "other-way": "the other way",
    "within-noise": "within the noise",
    "not-measured": "not measured in both profiles",
}


def _moved(name: str, row: EvidenceChange) -> str:
    said = SAID[judged([row])]
    if row.change.moved == "unknown":
        return f"{name}: {phrase(row.change.metric)} was not measured in both profiles."
    over = {"line": "", "block": " over the lines that replaced it", "kernel": " over the kernel"}[row.where]
    change = row.change
    return (
        f"{name}: {phrase(change.metric)}{over} {_amount(change, change.before)} before, "
        f"{_amount(change, change.after)} after (noise ± {_amount(change, change.noise)}): {said}."
    )


def _amount(change: Moved, value: float | None) -> str:
    if value is None:
        return "unknown"
    if change.unit == "ns":
        return duration(value)
    if change.unit == "share":
        return percent(value)
    return f"{value:,.0f} {change.unit}".strip() if abs(value) >= 100 else f"{value:.3g} {change.unit}".strip()
