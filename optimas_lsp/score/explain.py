"""Explanations that teach: for the applied changes evidence, cause, transformation and measured effect, from the data.

No model words anything here: sentences come from the report's figures, blame's edges, the knowledge base, the
catalogue and the measured times. Changes that answer the same evidence stand together, and nothing is told twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.insight import knowledge
from optimas_lsp.insight.changes import Comparison, KernelComparison
from optimas_lsp.insight.evidence import Evidence
from optimas_lsp.rewrite.catalogue.registry import Entry, entries
from optimas_lsp.rewrite.outcome import Rewriting
from optimas_lsp.rewrite.prompt_data import phrase
from optimas_lsp.rewrite.proposal import Change, Proposal
from optimas_lsp.score.answer import shown
from optimas_lsp.score.direction import comparison_of, kernel_of
from optimas_lsp.score.effect import effect
from optimas_lsp.score.places import AS_PROFILED, Places
from optimas_lsp.score.telling import Teller, base_name

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

NOT_AGAIN = "Not profiled again, so which of these waits became shorter is not known."

CATALOGUE = "catalogue"
"""The backend whose reasons are the catalogue's own words, not a model's."""

_EXACT = {
    "exact": "Results are the same bit for bit: the same operations on the same values in the same order.",
    "exact-integers": "Integers are added in another order, which changes no result.",
    "contraction": "Last bits may differ: the compiler may fuse other operations than before.",
    "inexact": "Last bits may differ.",
}
_SAME = "Results are the same bit for bit."


@dataclass(frozen=True)
class Chain:
    """Changes that answer the same evidence: their title, and what leads to them and follows, as labelled sentences."""

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
    changes = sum(label == "change" for chain in found for label, _ in chain.steps)
    return (*lines, f"{EFFECT}: {effect(rewriting, changes, _again(rewriting, compared))}") if found else ()


def explain_rounds(whole: Rewriting, winners: Sequence[Rewriting]) -> tuple[str, ...]:
    """The explanations of the rounds that ``whole`` is made of, and its own measured effect last."""
    lines = [line for number, each in enumerate(winners, 1) for line in (f"Round {number}", *each.explanation)]
    return (*lines, f"{EFFECT}: {effect(whole)} That is all {len(winners)} rounds together.")


def chains(
    rewriting: Rewriting, *, places: Places = AS_PROFILED, compared: Comparison | None = None
) -> tuple[Chain, ...]:
    """The applied changes of the answer that stands, or of the last, by the evidence that they answer."""
    attempt = shown(rewriting)
    proposal = None if attempt is None else attempt.reply.outcome
    if not isinstance(proposal, Proposal) or not proposal.functions or rewriting.analysis is None:
        return ()
    teller = Teller(rewriting.analysis, places, _again(rewriting, compared), own=compared is None)
    file, ours = base_name(rewriting.source), rewriting.backend == CATALOGUE
    found = [_chain(teller, group, file, ours=ours) for group in _groups(proposal.changes)]
    if found and teller.again is None:
        found[-1] = Chain(found[-1].title, (*found[-1].steps, ("measured", NOT_AGAIN)))
    return tuple(found)


def _again(rewriting: Rewriting, compared: Comparison | None) -> KernelComparison | None:
    """The kernel in both profiles."""
    found = compared or comparison_of(rewriting)
    return None if found is None else kernel_of(found, rewriting.prompt.kernel)


def _groups(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes whose evidence is all among that of an earlier one stand with it."""
    groups: list[list[Change]] = []
    for change in changes:
        same = [group for group in groups if change.evidence and {*change.evidence} <= {*group[0].evidence}]
        if same:
            same[0].append(change)
        else:
            groups.append([change])
    return groups


def _chain(teller: Teller, group: Sequence[Change], file: str, *, ours: bool) -> Chain:
    known = {each.id: each for each in teller.kernel.evidence}
    names = tuple(dict.fromkeys(group[0].evidence))
    cited = sorted((known[name] for name in names if name in known), key=lambda each: -each.share)
    spelled = teller.spelled(cited)
    steps: list[tuple[Label, str]] = [
        ("evidence", " ".join(teller.evidence(cited, [name for name in names if name not in known]))),
        ("cause", " ".join(teller.causes(cited, spelled))),
        ("why", " ".join(teller.meaning(cited, spelled))),
    ]
    for change in group:
        mine = [each for each in cited if each.id in change.evidence]
        where = "" if len(group) == 1 else f"{phrase(change.transformation)}, {_lines(change, file)}: "
        steps.append(("change", where + " ".join(_change(change, mine, teller.told, ours=ours))))
    steps.append(("expected", _expected(cited)))
    steps.append(("measured", " ".join(teller.measured(cited))))
    teller.told.update(each.id for each in cited)
    return Chain(_title(group, file), tuple((label, text) for label, text in steps if text))


def _title(group: Sequence[Change], file: str) -> str:
    """What was done in which function; where, if it is one change."""
    functions: dict[str, list[str]] = {}
    for each in group:
        functions.setdefault(phrase(each.function), []).append(phrase(each.transformation))
    words = _listed([f"{_listed(list(dict.fromkeys(each)))} in {name}" for name, each in functions.items()])
    return f"{words}, {_lines(group[0], file)}" if len(group) == 1 else words


def _lines(change: Change, file: str) -> str:
    first, last = change.original_lines
    return f"{file}:{first}" if first == last else f"{file}:{first}-{last}"


def _change(change: Change, cited: Sequence[Evidence], told: set[str], *, ours: bool) -> Iterator[str]:
    """What was done, why, and on which condition; that once for a transformation. ``told`` grows."""
    entry = next((each for each in entries() if each.name == change.transformation), None)
    if entry is None:
        yield f"'{phrase(change.transformation)[:60]}' is the proposer's own name; the catalogue does not know it."
        pages = knowledge.rules()
        helps = [help_ for each in cited if each.rule in pages for help_ in pages[each.rule].helps[:1]]
        if helps:
            yield f"What usually helps here: {' '.join(dict.fromkeys(helps[:2]))}"
        return
    yield f"{entry.title[:1].upper()}{entry.title[1:]}{_how(change, entry) if ours else ''}."
    answered = [rule for rule in dict.fromkeys(each.rule for each in cited) if rule in entry.rules]
    if answered:
        yield f"It answers {_listed(answered)}."
    if entry.name not in told:
        yield f"Condition: {entry.precondition}."
    yield _EXACT[entry.exactness] if entry.exactness != "exact" or entry.exactness not in told else _SAME
    told.update((entry.name, entry.exactness))


_LINE = re.compile(r",? ?\blines? \d+(?:(?:, | to |-)\d+)*")


def _how(change: Change, entry: Entry) -> str:
    """The variant that was taken and why it helps, in the catalogue's words; empty if they are not of its form."""
    label, found, why = phrase(change.reason).removeprefix(f"{entry.title} (").partition("): ")
    if not found or not change.reason.startswith(f"{entry.title} ("):
        return ""
    label = _LINE.sub("", label)  # of the text that the change was made to, which an earlier change may have moved
    return f"{f' ({label})' if label else ''}: {why.rstrip('.')}"


def _expected(cited: Sequence[Evidence]) -> str:
    """The cited findings' expectations, the time first."""
    wanted = dict.fromkeys((each.metric, each.direction) for item in cited for each in item.expects)
    ordered = sorted(wanted, key=lambda each: each[0] != "time")
    less = [phrase(metric) for metric, way in ordered if way == "down"]
    more = [phrase(metric) for metric, way in ordered if way != "down"]
    words = [f"{much} {_listed(names)}" for much, names in (("less", less), ("more", more)) if names]
    return f"{'; '.join(words)}." if words else ""


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
