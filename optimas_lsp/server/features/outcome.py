"""The text about an outcome (optimas.rewrite/1) in Markdown: what was changed and why, every gate, what is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from optimas_lsp.server.wording import Markup, paragraphs

MARKDOWN = Markup(markdown=True)

Row = Mapping[str, Any]


def _row(owner: Row, key: str) -> Row:
    """What stands under ``key`` if that is an object, else an empty one."""
    value: object = owner.get(key)
    return cast("Row", value) if isinstance(value, Mapping) else {}


def _rows(owner: Row, key: str) -> list[Row]:
    """The objects in the list under ``key``."""
    value: object = owner.get(key)
    return (
        [cast("Row", each) for each in cast("list[object]", value) if isinstance(each, Mapping)]
        if isinstance(value, list)
        else []
    )


def _texts(owner: Row, key: str) -> list[str]:
    value: object = owner.get(key)
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list | tuple) else []


def _strong(text: str) -> str:
    return MARKDOWN.strong(MARKDOWN.escape(text))


def outcome_text(title: str, outcome: Row) -> str:
    """Everything a person wants to know, the answer first."""
    return paragraphs(_parts(title, outcome))


def diff_of(outcome: Row) -> str:
    """The whole change as a unified diff, else that of the last answer; empty where there is none."""
    return str(outcome.get("diff") or (_shown(outcome) or {}).get("diff") or "")


def _shown(outcome: Row) -> Row | None:
    """The answer that the candidate is from, else the one that came nearest, else the last one."""
    attempts = _rows(outcome, "attempts")
    chosen = outcome.get("chosen") or outcome.get("nearest")
    last = attempts[-1] if attempts else None
    return next((each for each in attempts if chosen is not None and each.get("number") == chosen), last)


def _parts(title: str, outcome: Row) -> Iterator[str]:
    yield f"# {MARKDOWN.escape(title)}"
    yield MARKDOWN.escape(str(outcome.get("sentence", "")))
    details = _row(_row(outcome, "proof"), "details")
    if details.get("recorded"):
        yield f"{MARKDOWN.strong('This proof was recorded elsewhere')}: {MARKDOWN.escape(str(details['recorded']))}."
    yield "\n".join(f"- {MARKDOWN.escape(each)}" for each in _texts(outcome, "explanation"))
    shown, rounds = _shown(outcome), _rows(outcome, "rounds")
    own = outcome.get("backend") == "catalogue"
    told = own and bool(_texts(outcome, "explanation"))  # the catalogue's reasons are in it
    for each in (
        [] if told else [found for found in map(_shown, rounds) if found is not None] or ([shown] if shown else [])
    ):
        yield from _changes(each)
    yield from _search(rounds, str(outcome.get("ended") or ""))
    yield from _scores(outcome)
    near = outcome.get("nearest")
    yield from _checks(f"What the proof{f' of try {near}' if near else ''} checked", _rows(details, "gates"))
    if open_ := _texts(details, "not_checked"):
        yield "## What was not checked"
        yield "\n".join(f"- {MARKDOWN.escape(each)}" for each in open_)
    if shown is not None:
        yield from _rules(shown)
        yield from _tries([each for one in rounds or [outcome] for each in _rows(one, "attempts")], labelled=own)
    yield from _diff(diff_of(outcome))


def _changes(attempt: Row) -> Iterator[str]:
    answer = _row(_row(attempt, "reply"), "outcome")
    changes = _rows(answer, "changes")
    if changes:
        yield "## What was changed, and for which finding"
        yield "\n".join(
            f"- {_strong(', '.join(_texts(each, 'evidence')))} {MARKDOWN.escape(str(each.get('reason', '')))}"
            for each in changes
        )
        exact = answer.get("bit_exact")
        yield "It claims the same results, bit for bit." if exact else "Its last digits may differ."


def _search(rounds: Sequence[Row], ended: str) -> Iterator[str]:
    if ended:
        yield "## Rounds"
        lines = [f"{number}. {MARKDOWN.escape(str(each.get('sentence', '')))}" for number, each in enumerate(rounds, 1)]
        yield "\n".join(lines)
        yield f"No further round: {MARKDOWN.escape(ended)}."


def _scores(outcome: Row) -> Iterator[str]:
    """Every measure of EAR with its interval, or why it has none."""
    if not outcome.get("scores"):
        return
    from pydantic import ValidationError

    from optimas_lsp.score.model import Scores
    from optimas_lsp.score.words import MEASURES, measure

    try:
        scores = Scores.model_validate(outcome["scores"])
    except ValidationError:  # of another version
        return
    yield "## Did the reasoning follow the evidence? (EAR, 95 % intervals)"
    yield "\n".join(
        f"- {MARKDOWN.strong(means)}: {MARKDOWN.escape(measure(scores, group, field).words(what))}"
        for group, field, _, what, means in MEASURES
        if (group, field) not in LESS_TELLING
    )


LESS_TELLING = frozenset(
    {("citations", "considered"), ("localisation", "edited_lines_causing"), ("direction", "cited")}
)
"""Measures that the page of the outcome shows and the text leaves out."""


def _checks(heading: str, gates: Sequence[Row]) -> Iterator[str]:
    if gates:
        yield f"## {heading}"
        words = {"pass": "held", "fail": "FAILED", "skipped": "skipped"}
        yield "\n".join(
            f"- {_strong(str(each.get('name')))} {words.get(str(each.get('status')), '?')}: "
            f"{MARKDOWN.escape(str(each.get('sentence', '')))}"
            for each in gates
        )


def _rules(attempt: Row) -> Iterator[str]:
    rules = _rows(_row(attempt, "verdict"), "rules")
    told = [each for each in rules if each.get("status") != "pass"]
    if rules:
        yield "## Checks on the text of the change"
        held = sum(each.get("status") == "pass" for each in rules)
        lines = [f"- {held} of {len(rules)} held"]
        lines += [
            f"- {_strong(str(each.get('id')))} {MARKDOWN.escape(str(each.get('status')))}: "
            f"{MARKDOWN.escape(str(each.get('message')))}"
            for each in told
        ]
        yield "\n".join(lines)


def _tries(attempts: Sequence[Row], *, labelled: bool) -> Iterator[str]:
    """Those that went no further; ``labelled``: the catalogue's, which say what they change, its end left out."""
    failed = [each for each in attempts if each.get("problem")]
    words = [(each, str(_row(each, "reply").get("text") or "") if labelled else "") for each in failed]
    told = [(each, label) for each, label in words if label or not labelled or len(attempts) == 1]
    if told:
        yield "## Tries that went no further"
        yield "\n".join(
            f"{each.get('number')}. "
            + (f"{MARKDOWN.escape(label)}: " if label else "")
            + MARKDOWN.escape(str(each["problem"]) + _timed(each))
            for each, label in told
        )


def _timed(attempt: Row) -> str:
    """What the short proof of a try measured, where its sentence does not say it."""
    if not attempt.get("screened"):
        return ""
    from pydantic import ValidationError

    from optimas_lsp.rewrite.outcome import Proof

    try:
        gain = Proof.model_validate(attempt["screened"]).gain
    except (ValidationError, KeyError, AttributeError):  # of another version
        return ""
    return "" if gain is None or " time " in str(attempt["problem"]) else f"; {gain.words} in a short proof"


def _diff(diff: str) -> Iterator[str]:
    if diff:
        fence = "`" * max(3, 1 + max((len(run) for run in diff.split() if set(run) == {"`"}), default=0))
        yield f"## The change\n\n{fence}diff\n{diff.rstrip()}\n{fence}"
