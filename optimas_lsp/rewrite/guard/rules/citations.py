"""Every rewritten function cites evidence, and only evidence that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rule, Skip

ID = re.compile(r"(?:PC|BL|RL|IA|PT)-[1-9][0-9]*")


def _uncited(case: Case) -> Iterator[Finding]:
    changes = case.proposal.changes
    for change in changes:
        if not change.evidence:
            yield Finding(change.function, 0, f"the change '{change.transformation}' cites no evidence")
    named = {change.function for change in changes} | {change.function.rsplit("::", 1)[-1] for change in changes}
    for item in case.proposal.functions:
        if item.function not in named and item.function.rsplit("::", 1)[-1] not in named:
            yield Finding(item.function, 0, f"'{item.function}' is rewritten, and no change says why")


def _malformed(case: Case) -> Iterator[Finding]:
    for change in case.proposal.changes:
        for cited in change.evidence:
            if not ID.fullmatch(cited):
                yield Finding(change.function, 0, f"'{cited[:40]}' is no id of evidence, such as PC-1 or BL-2")


def _invented(case: Case) -> Iterable[Finding] | Skip:
    if case.evidence is None:
        return Skip("no profile was given, so it is not known which evidence exists")
    return _absent(case, case.evidence)


def _absent(case: Case, known: frozenset[str]) -> Iterator[Finding]:
    listed = ", ".join(sorted(known)[:20]) or "none"
    for change in case.proposal.changes:
        for cited in change.evidence:
            if ID.fullmatch(cited) and cited not in known:
                yield Finding(change.function, 0, f"the evidence '{cited}' does not exist; there is {listed}")
    for idea in case.proposal.not_applied:
        for cited in idea.evidence:
            if ID.fullmatch(cited) and cited not in known:
                yield Finding("", 0, f"an idea not applied cites '{cited}', which does not exist", "flag")


RULES = (
    Rule("no-citation", "every change cites evidence and every rewritten function has a change", "fail", _uncited),
    Rule("malformed-citation", "citations are ids of evidence", "fail", _malformed),
    Rule("invented-citation", "cited evidence exists", "fail", _invented),
)
