"""What an explanation says of findings: the evidence, its causes, what that means, what moved; each told once.

Sentences come from the report's figures, blame's edges and the knowledge base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from optimas_lsp.insight import knowledge
from optimas_lsp.insight.causes import what_is_awaited
from optimas_lsp.insight.changes import Change as Moved
from optimas_lsp.insight.changes import EvidenceChange, KernelComparison
from optimas_lsp.insight.evidence import Cause, Evidence, KernelAnalysis, Location
from optimas_lsp.insight.sentences import duration, percent, share_of
from optimas_lsp.insight.stalls import reason
from optimas_lsp.rewrite.prompt_data import phrase
from optimas_lsp.score.direction import deciding, judged, key_of
from optimas_lsp.score.places import Places

MOST_FINDINGS = 3
"""Findings of one kind that are spelled out for one piece of evidence; the rest is named with its share."""

LEAST_SPELLED = 0.05
"""A wait with less than this share of the samples is named and not spelled out, unless it is the largest."""

LEAST_CAUSE = 0.10
"""Causes with less than this share of their finding's samples are left out."""


@dataclass(frozen=True)
class Teller:
    """Tells of one kernel's findings. ``told`` holds what was told before: ids, rules, the number of samples."""

    kernel: KernelAnalysis
    places: Places
    again: KernelComparison | None
    own: bool
    told: set[str] = field(default_factory=set[str])

    def evidence(self, cited: Sequence[Evidence], unknown: Sequence[str]) -> Iterator[str]:
        """What each finding says, the kernel's own verdict first; what was told before, or is small, by name."""
        if not cited and not unknown:
            yield "None was cited."
        before = [each.id for each in cited if each.id in self.told]
        fresh = [each for each in cited if each.id not in self.told]
        general = [each for each in fresh if each.source not in {"pc", "bl"}]
        waits = [each for each in fresh if each.source == "pc"]
        spelled = self.spelled(fresh)
        for each in general[:MOST_FINDINGS]:
            yield f"{each.id}: {phrase(each.text).rstrip('.')}."
        for each in spelled:
            yield self._wait(each)
        rest = [f"{each.id} ({phrase(each.rule)})" for each in general[MOST_FINDINGS:]]
        rest += [f"{each.id} ({phrase(each.rule)}, {percent(each.share)})" for each in waits if each not in spelled]
        if rest:
            small = all(each in spelled or each.share < LEAST_SPELLED for each in waits)
            yield f"{'Smaller' if spelled and small and not general[MOST_FINDINGS:] else 'Also'}: {', '.join(rest)}."
        if before:
            yield f"As told above: {', '.join(before)}."
        if unknown:
            names = ", ".join(phrase(name)[:40] for name in unknown)
            yield f"Cited, but not in the profile: {names}."

    def spelled(self, cited: Sequence[Evidence]) -> list[Evidence]:
        """The waits that get a sentence of their own."""
        waits = [each for each in cited if each.source == "pc" and each.id not in self.told]
        return [each for each in waits[:MOST_FINDINGS] if each.share >= LEAST_SPELLED or each is waits[0]]

    def _wait(self, each: Evidence) -> str:
        wait = f"warps wait{self._at(each)} for {reason(each.rule).waits_for} ({phrase(each.rule)})"
        return f"{each.id}: in {self._share(each)} {wait}."

    def _share(self, each: Evidence) -> str:
        """A share, the first with its denominator."""
        words = share_of(each.share, each.margin, self.kernel.samples.total)
        if "samples" in self.told:
            return words.partition(" of ")[0]
        self.told.add("samples")
        return words

    def causes(self, cited: Sequence[Evidence], spelled: Sequence[Evidence]) -> Iterator[str]:
        """What the spelled waits wait for, and which lines are waited for over the whole kernel."""
        for each in spelled:
            awaited = ", and ".join(self._cause(line, each) for line in _by_line(each.known_causes))
            if awaited:
                yield f"{each.id} waits {awaited}."
        lines = [each for each in cited if each.source == "bl" and each.id not in self.told]
        large = [each for each in lines[:MOST_FINDINGS] if each.share >= LEAST_SPELLED or each is lines[0]]
        found = [f"{self._share(each)} for {self._awaited(each)}" for each in large]
        if found:
            small = [each.id for each in lines if each not in large]
            also = f"; less for {', '.join(small)}" if small else ""
            yield f"By the line that is waited for: {', '.join(found)}{also}."

    def _awaited(self, each: Evidence) -> str:
        at = self._at(each).removeprefix(" at ") or "an instruction"
        sure = "" if each.confidence in {"certain", "dominant"} else ", an estimate"
        return f"{at} ({each.id}, {phrase(each.rule)}{sure})"

    def _cause(self, causes: Sequence[Cause], of: Evidence) -> str:
        """What is awaited on one line, named after the heaviest of its instructions."""
        first = causes[0]
        at = of.location
        if first.kind == "self" and at is not None and (first.file, first.line) == (at.file, at.line):
            return f"to issue its own {phrase(first.opcode.partition('.')[0])}"
        awaited = what_is_awaited(phrase(first.opcode), first.kind, self._of(first))
        opcode = first.opcode.partition(".")[0]
        more = " and others" if len(causes) > 1 else ""
        named = "" if opcode in awaited.split() and not more else f"{phrase(opcode)}{more}"
        share = sum(each.share for each in causes)
        sure = "" if first.confidence in {"certain", "dominant"} else "an estimated "
        part = "" if first.confidence == "certain" else f"{sure}{percent(share, 0)} of this wait"
        said = ", ".join(each for each in (named, part) if each)
        return f"{awaited} ({said})" if said else awaited

    def meaning(self, cited: Sequence[Evidence], spelled: Sequence[Evidence]) -> Iterator[str]:
        """What two rules of the spelled waits and one other mean, in the knowledge base's words, each rule once."""
        pages = knowledge.rules()
        waits = list(dict.fromkeys(each.rule for each in spelled))[:2]
        others = [each.rule for each in cited if each.source not in {"pc", "bl"}][:1]
        for name in dict.fromkeys((*waits, *others)):
            if name in pages and name not in self.told:
                self.told.add(name)
                known = pages[name].reason()
                yield f"{name}: {known.meaning if known is not None else pages[name].means}"

    def measured(self, cited: Sequence[Evidence]) -> Iterator[str]:
        """How the findings moved; nothing where the kernel was not profiled again."""
        if self.again is None:
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
        name = base_name(at.file)
        if spot is not None and spot.line is None:
            return f"{name} (line {at.line} when profiled, changed since)"
        return f"{name}:{at.line if spot is None else spot.line}"


def base_name(path: str) -> str:
    """A file's name without its folders, for a sentence."""
    return phrase(PurePosixPath(path.replace("\\", "/")).name)


def _by_line(causes: Sequence[Cause]) -> list[list[Cause]]:
    """The causes of the two heaviest lines, the heaviest first in each."""
    lines: dict[tuple[str, int], list[Cause]] = {}
    for each in sorted(causes, key=lambda one: -one.share):
        lines.setdefault((each.file, each.line), []).append(each)
    shares = [(sum(each.share for each in one), one) for one in lines.values()]
    return [one for share, one in sorted(shares, key=lambda item: -item[0]) if share >= LEAST_CAUSE][:2]


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
