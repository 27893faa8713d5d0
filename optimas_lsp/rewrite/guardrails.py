"""The guardrails: whether a proposal deserves to be built, and every rule that was checked.

Static and deterministic: nothing is compiled or run here, and no rule depends on another. ``guard.compiled`` holds
the rules for after compiling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from optimas_lsp.rewrite.guard.case import Case, Finding, Rule, Skip, case_of
from optimas_lsp.rewrite.guard.model import Allowance, Limits, OffendingLine, RuleVerdict, Verdict
from optimas_lsp.rewrite.guard.rulebook import RULES, SIZE_RULES, TRITON_RULES
from optimas_lsp.rewrite.guard.side import Side
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.source.syntax import Syntax, parse
from optimas_lsp.source.text import SourceText

__all__ = ["Allowance", "Limits", "RuleVerdict", "Verdict", "examine", "verdict_of"]

MOST_SHOWN = 6
"""Findings spelled out in one rule's message; the lines of all are listed."""


def examine(
    source: SourceText | str,
    proposal: Proposal,
    *,
    allowed: Collection[str] | None = None,
    evidence: Collection[str] | None = None,
    allow: Collection[Allowance] = (),
    limits: Limits | None = None,
    headers: Sequence[str] = (),
    syntax: Syntax | None = None,
    name: str = "",
) -> Verdict:
    """Check every static rule of ``proposal`` against the text ``source``; never fails for any proposal.

    The text is CUDA unless ``syntax``, its parse, is of Python: then it is Triton, with rules of its own.

    ``allowed`` names the functions that may change (None: every kernel and device function), ``evidence`` the ids that
    exist (None: not known, citations are checked for form only), ``allow`` what the user permits beyond the default.
    ``headers`` are texts of the project's own headers, for the functions and macros they define. ``name`` is that of
    the file, for messages, whose lines are those of the file as changed.
    """
    text = SourceText.of(source) if isinstance(source, str) else source
    parsed = parse(text, "cuda") if syntax is None else syntax
    case = case_of(
        parsed,
        proposal,
        allowed=allowed,
        evidence=evidence,
        allow=allow,
        limits=limits or Limits(),
        headers=headers,
    )
    rules = RULES if parsed.language == "cuda" else TRITON_RULES
    known: dict[str, RuleVerdict] = {}
    too_large = False
    # Size first: once it is too large nothing walks the text, and rules are linear but not free.
    for rule in (*(rule for rule in rules if rule.id in SIZE_RULES), *rules):
        if rule.id not in known:
            known[rule.id] = _unread(rule) if too_large else _checked(rule, case, name)
            too_large = too_large or (rule.id in SIZE_RULES and known[rule.id].status == "fail")
    outcomes = [known[rule.id] for rule in rules]
    return verdict_of(outcomes)


def verdict_of(outcomes: Iterable[RuleVerdict]) -> Verdict:
    """The verdict that follows from the rules: accepted unless one failed."""
    rules = tuple(outcomes)
    return Verdict(
        accepted=not any(rule.status == "fail" for rule in rules),
        rules=rules,
        flags=tuple(rule.id for rule in rules if rule.status == "flag"),
    )


def _unread(rule: Rule) -> RuleVerdict:
    return RuleVerdict(id=rule.id, status="skipped", message="the text is too large to look at")


def _checked(rule: Rule, case: Case, name: str) -> RuleVerdict:
    result = rule.check(case)
    if isinstance(result, Skip):
        return RuleVerdict(id=rule.id, status="skipped", message=result.why)
    findings = list(result)
    if not findings:
        return RuleVerdict(id=rule.id, status="pass")
    failed = any((finding.status or rule.status) == "fail" for finding in findings)
    shown = list(dict.fromkeys(_sentence(finding, case, name) for finding in findings))
    more = f"; and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
    return RuleVerdict(
        id=rule.id,
        status="fail" if failed else "flag",
        message="; ".join(shown[:MOST_SHOWN]) + more,
        lines=tuple(dict.fromkeys(_line(finding, case) for finding in findings)),
    )


def _sentence(finding: Finding, case: Case, name: str) -> str:
    """What is held against which line of the changed file; of the new text where that could not be put in."""
    if not finding.line:
        return finding.message
    side = _side(finding, case)
    line = None if side is None else side.file_line(finding.line)
    if line is None:
        return f"line {finding.line} of the new text of '{finding.function}': {finding.message}"
    return f"{f'{name}:{line}' if name else f'line {line}'} as changed: {finding.message}"


def _line(finding: Finding, case: Case) -> OffendingLine:
    side = _side(finding, case)
    if side is None or not finding.line:
        return OffendingLine(function=finding.function, line=finding.line)
    return OffendingLine(
        function=finding.function,
        line=finding.line,
        text=side.line_text(finding.line)[:200],
        file_line=side.file_line(finding.line),
    )


def _side(finding: Finding, case: Case) -> Side | None:
    return next((rewrite.after for rewrite in case.rewrites if rewrite.name == finding.function), None)
