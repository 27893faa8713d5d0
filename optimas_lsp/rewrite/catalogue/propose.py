"""Ranked proposals for a kernel: every applicable transformation in every variant, and combinations of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.insight.evidence import Evidence, Expectation, KernelAnalysis
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.catalogue.looking import Subject, answering, function_text, looked
from optimas_lsp.rewrite.catalogue.patch import applied
from optimas_lsp.rewrite.catalogue.registry import Entry, entries
from optimas_lsp.rewrite.catalogue.variant import Refusal, Variant
from optimas_lsp.rewrite.experience import HIGHEST, Experience
from optimas_lsp.rewrite.proposal import Change, FunctionText, Idea, Proposal
from optimas_lsp.source.syntax import parse
from optimas_lsp.source.text import SourceText

MOST_STEPS = 4
"""Transformations in one combination."""

MOST_PARTNERS = 2
"""Variants of a transformation that are carried on into combinations."""

ALIKE = 0.75
"""What a candidate keeps of its worth beside one that does the same."""

MOST_TEXTS = 600
"""Different texts looked at for one kernel."""


class RankedProposal(Frozen):
    """One candidate.

    ``score`` orders candidates of one kernel and means nothing else; ``favour`` is the factor of past attempts that is
    in it. ``steps`` name transformations with their variants, in the order in which they were applied, ``label`` the
    functions as well.
    """

    label: str
    score: float
    transformations: tuple[str, ...]
    steps: tuple[str, ...]
    path: str
    proposal: Proposal
    favour: float = 1.0

    @property
    def worth(self) -> float:
        """The score on a scale on which past attempts that favour all alike are one factor of all.

        The score's own is narrower the nearer it is to 1.
        """
        return self.score if self.favour == 1.0 else (1 - (1 - self.score) ** (1 / self.favour)) * self.favour


@dataclass(frozen=True)
class _State:
    """A text that a chain of transformations led to.

    ``promise`` is what the evidence speaks for, ``favour`` the factor that past attempts at its steps add up to.
    """

    text: str
    function: str
    steps: tuple[tuple[Entry, Variant, tuple[Evidence, ...]], ...]
    promise: float
    favour: float = 1.0

    @property
    def score(self) -> float:
        """What the state is ranked by: experience moves the promise, never to 1, and never levels two that differ."""
        return self.promise if self.favour == 1.0 else 1 - (1 - self.promise) ** self.bounded

    @property
    def bounded(self) -> float:
        """The favour as it counts."""
        return min(HIGHEST, self.favour)


def propose(
    source_text: str,
    path: Path,
    kernel: KernelAnalysis,
    *,
    headers: Sequence[str] | None = None,
    capability: int | None = None,
    allow: Collection[str] = (),
    limit: int | None = None,
    experience: Experience | None = None,
) -> tuple[RankedProposal, ...]:
    """Candidates for ``kernel`` that change one function of the file ``path`` with this text, best first.

    ``headers`` are texts of headers in the project (None: read from beside ``path``); ``capability`` is the profiled
    GPU's, times ten; ``allow`` what the guardrails are told to permit; ``experience`` what past attempts say: what
    keeps failing on a rule sinks, and so does all that it is part of. Deterministic; raises nothing for any text.
    """
    known = experience or Experience()
    subject = Subject.of(source_text, path, kernel, headers=headers, capability=capability, allow=allow)
    ideas: list[Idea] = []
    states: list[_State] = []
    for site in subject.sites():
        ideas += _refused(subject, site.function.shown_name)
        states += _chains(subject, site.function.shown_name, known)
    ranked: list[RankedProposal] = []
    seen: set[str] = set()
    for state in sorted(states, key=lambda each: (-round(each.score, 9), len(each.steps), _label(each))):
        if state.text in seen or state.text == source_text:
            continue
        seen.add(state.text)
        made = _proposal(subject, state, ideas)
        if made is not None:
            ranked.append(made)
    ranked = sorted([*ranked, *_merged(ranked)], key=lambda each: -each.score)
    return tuple(ranked if limit is None else ranked[:limit])


def shortlist(ranked: Sequence[RankedProposal], count: int) -> tuple[RankedProposal, ...]:
    """At most ``count`` of ``ranked``, best first, where one that is like those chosen before counts for less."""
    left = list(ranked)
    chosen: list[RankedProposal] = []
    while left and len(chosen) < count:
        worth = [each.worth * ALIKE ** sum(_alike(each, other) for other in chosen) for each in left]
        chosen.append(left.pop(worth.index(max(worth))))
    return tuple(chosen)


def _alike(one: RankedProposal, other: RankedProposal) -> float:
    """How much two candidates have in common, 0 to 1: the share of their steps."""
    functions = [{item.function for item in each.proposal.functions} for each in (one, other)]
    if not functions[0] & functions[1]:
        return 0.0
    mine, others = set(one.steps), set(other.steps)
    return len(mine & others) / len(mine | others)


def _merged(ranked: Sequence[RankedProposal]) -> list[RankedProposal]:
    """The best candidates of two different functions of the file in one."""
    best: dict[str, list[RankedProposal]] = {}
    for each in ranked:
        of_function = best.setdefault(each.proposal.functions[0].function, [])
        if len(of_function) < MOST_PARTNERS:
            of_function.append(each)
    found: list[RankedProposal] = []
    for (_, firsts), (_, seconds) in itertools.combinations(best.items(), 2):
        for one, other in itertools.product(firsts, seconds):
            found.append(
                RankedProposal(
                    label=f"{one.label}; {other.label}",
                    score=round(1 - (1 - one.score) * (1 - other.score), 4),
                    favour=math.sqrt(one.favour * other.favour),
                    transformations=(*one.transformations, *other.transformations),
                    steps=(*one.steps, *other.steps),
                    path=one.path,
                    proposal=Proposal(
                        functions=(*one.proposal.functions, *other.proposal.functions),
                        changes=(*one.proposal.changes, *other.proposal.changes),
                        not_applied=one.proposal.not_applied,
                        bit_exact=one.proposal.bit_exact and other.proposal.bit_exact,
                    ),
                )
            )
    return found


def _chains(subject: Subject, function: str, known: Experience) -> list[_State]:
    """Every state within MOST_STEPS, by trying each later entry on what earlier ones left."""
    found: list[_State] = []
    frontier = [_State(subject.text, function, (), 0.0)]
    texts = 0
    for _ in range(MOST_STEPS):
        following: list[_State] = []
        for state in frontier:
            texts += 1
            if texts > MOST_TEXTS:
                return found
            for entry, steps in _next(subject, state, known):
                found += steps
                following += [each for each in steps[:MOST_PARTNERS] if _carries_on(entry) and _placed(each)]
        frontier = sorted(following, key=lambda each: -each.score)[:24]
    return found


def _carries_on(entry: Entry) -> bool:
    return any(entry.name in each.after for each in entries())


def _placed(state: _State) -> bool:
    """Whether the last step answers evidence at a line, not only what is said of the whole kernel."""
    return any(each.location is not None for each in state.steps[-1][2])


def _next(subject: Subject, state: _State, known: Experience) -> Iterator[tuple[Entry, list[_State]]]:
    done = [entry.name for entry, _, _ in state.steps]
    now = Subject(state.text, subject.path, subject.kernel, subject.headers, subject.capability, subject.allow)
    sites = now.sites(subject.text if state.steps else None, only=state.function)
    if len(sites) != 1:
        return
    site = sites[0]
    for entry in entries():
        if entry.name in done or (done and not _follows(entry, done)):
            continue
        states: list[_State] = []
        for variant in looked(site, entry):
            if isinstance(variant, Refusal):
                continue
            evidence = answering(site, entry, variant.lines)
            if not evidence:
                continue
            text = applied(site.syntax.code.data, variant.edits).decode("utf-8", "replace")
            total = 1 - (1 - state.promise) * (1 - _score(entry, variant, evidence))
            favour = state.favour * known.factor(entry.name, {each.rule for each in evidence})
            states.append(_State(text, state.function, (*state.steps, (entry, variant, evidence)), total, favour))
        states.sort(key=lambda each: -each.score)
        if states:
            yield entry, states


def _follows(entry: Entry, done: list[str]) -> bool:
    """Whether ``entry`` may come after all that was done: each of those, or the last, is named by it."""
    return done[-1] in entry.after


def _score(entry: Entry, variant: Variant, evidence: tuple[Evidence, ...]) -> float:
    """Below 1: what the entry is worth, how promising the variant is, and how much of the kernel waits there."""
    share = min(1.0, sum(each.share for each in evidence if each.source == "pc"))
    blamed = min(1.0, sum(each.share for each in evidence if each.source == "bl"))
    weight = max(share, blamed)
    whole = 0.15 if any(each.location is None for each in evidence) else 0.0
    return min(
        0.98, entry.weight * variant.preference * (0.1 + 0.75 * weight + whole) * (1.0 if variant.exact else 0.7)
    )


def _label(state: _State) -> str:
    return " + ".join(f"{entry.name} ({variant.label})" for entry, variant, _ in state.steps)


def _proposal(subject: Subject, state: _State, ideas: list[Idea]) -> RankedProposal | None:
    text = function_text(parse(SourceText.of(state.text), "cuda"), state.function)
    if text is None:
        return None
    original = parse(SourceText.of(subject.text), "cuda")
    place = next(each for each in original.functions if each.shown_name == state.function)
    changes: list[Change] = []
    for at, (entry, variant, evidence) in enumerate(state.steps):
        lines = variant.lines if at == 0 else (place.first_line, place.last_line)
        changes.append(
            Change(
                function=state.function,
                original_lines=(max(lines[0], place.first_line), min(lines[1], place.last_line)),
                evidence=tuple(each.id for each in evidence),
                transformation=entry.name,
                reason=f"{entry.title} ({variant.label}): {variant.reason}",
                expects=_expected(evidence),
            )
        )
    exact = all((variant.exact and entry.exactness != "inexact") or variant.exact for entry, variant, _ in state.steps)
    used = {entry.name for entry, _, _ in state.steps}
    return RankedProposal(
        label=f"{state.function}: {_label(state)}",
        score=round(state.score, 4),
        favour=state.bounded,
        transformations=tuple(entry.name for entry, _, _ in state.steps),
        steps=tuple(f"{entry.name} ({variant.label})" for entry, variant, _ in state.steps),
        path=str(subject.path),
        proposal=Proposal(
            functions=(FunctionText(function=state.function, text=text),),
            changes=tuple(changes),
            not_applied=tuple(each for each in ideas if each.transformation not in used),
            bit_exact=exact,
        ),
    )


def _expected(evidence: tuple[Evidence, ...]) -> tuple[Expectation, ...]:
    """What the cited evidence wants moved, each once; the run time always."""
    found = {(each.metric, each.direction): each for item in evidence for each in item.expects}
    found.setdefault(("time", "down"), Expectation(metric="time", direction="down"))
    return tuple(found.values())


def _refused(subject: Subject, function: str) -> list[Idea]:
    """What does not apply, with the most telling reason: one that names a line."""
    found: list[Idea] = []
    for site in subject.sites(only=function):
        for entry in entries():
            outcomes = list(looked(site, entry))
            refusals = [each for each in outcomes if isinstance(each, Refusal)]
            if refusals and len(refusals) == len(outcomes):
                best = max(refusals, key=lambda each: bool(each.line))
                where = f"line {best.line}: " if best.line else ""
                found.append(Idea(transformation=entry.name, reason=f"{where}{best.reason}"))
    return found
