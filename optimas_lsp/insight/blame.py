"""From the instruction that waits to the one that made it wait: attaches causes to stalls and adds their own evidence.

The causes come from ``Code.causes``, which ``sass/`` fills from the machine code; where they were withheld the stalls
stay as they are. The Warning goes to the line to change: a stall whose cause stands on another line becomes
Information that names it, and that line gets evidence of its own (``BL-n``) that names who waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from optimas_lsp.config import Settings
from optimas_lsp.insight.causes import DOMINANT, Blamed, Confidence, Edges, Wait, by_line, what_is_awaited
from optimas_lsp.insight.evidence import Evidence, Expectation, Location
from optimas_lsp.insight.locate import Locator, Place
from optimas_lsp.insight.sentences import percent, share_of
from optimas_lsp.insight.stalls import reason
from optimas_lsp.profile.aggregate import margin
from optimas_lsp.profile.model import Kernel, Profile

WEAK = frozenset({"wait", "branch_resolving", "no_instructions", "no_instruction", "imc_miss", "math_pipe_throttle"})
"""Reasons whose cause is listed but gets no evidence of its own: the waiting line is as good a place to look."""

MOST_WAITING_NAMED = 3


@dataclass(frozen=True)
class Stall:
    """One stall reason on one line: its evidence (no id yet) and the kernel's instructions its samples fell on."""

    evidence: Evidence
    instructions: tuple[int, ...]
    kept: bool
    """Whether it passed the thresholds of the settings."""


@dataclass(frozen=True)
class Blame:
    """Stalls with their causes filled in, in the order they came, and the evidence about the causes."""

    stalls: tuple[Stall, ...]
    causes: tuple[Evidence, ...] = ()


@dataclass
class _Culprit:
    """A line that makes others wait, for one reason: who waits with how many samples, and what it did."""

    place: Place
    blamed: list[Blamed] = field(default_factory=list[Blamed])
    waiting: list[tuple[float, Evidence, float]] = field(default_factory=list[tuple[float, Evidence, float]])
    """(samples, the waiting evidence, this line's share of that wait)"""


def blame_evidence(
    profile: Profile, kernel: Kernel, stalls: Sequence[Stall], locator: Locator, settings: Settings
) -> Blame:
    """Causes of the stalls of one kernel; without decoded machine code the stalls alone."""
    if kernel.code.causes is None:
        return Blame(tuple(stalls))
    edges = Edges(profile, kernel, locator)
    total = sum(kernel.samples.all_)
    culprits: dict[tuple[str, int, str], _Culprit] = {}
    judged: list[Stall] = []
    for stall in stalls:
        wait = edges.wait(stall.evidence.rule, stall.instructions)
        elsewhere = _elsewhere(stall, wait)
        if stall.kept:
            for items in elsewhere.values():
                _accuse(culprits, stall.evidence, wait, items)
        judged.append(_judge(stall, wait, elsewhere, total))
    found = [_evidence(kernel, rule, culprit, total, settings) for (_, _, rule), culprit in culprits.items()]
    kept = [each for each in found if each.share >= settings.lines.minimum_share]
    kept.sort(key=lambda each: (-each.not_issued, -each.samples, each.rule, str(each.location)))
    return Blame(tuple(judged), tuple(kept))


def _spot(evidence: Evidence) -> tuple[str, int]:
    place = evidence.shown or evidence.location
    return (place.file, place.line) if place else ("", 0)


def _elsewhere(stall: Stall, wait: Wait) -> dict[tuple[str, int], list[Blamed]]:
    """What is to blame on other lines than the waiting one, by line; nothing for the weak reasons."""
    if stall.evidence.rule in WEAK:
        return {}
    lines = by_line(item for item in wait.blamed if item.kind != "self")
    lines.pop(_spot(stall.evidence), None)
    return lines


def _accuse(culprits: dict[tuple[str, int, str], _Culprit], waiting: Evidence, wait: Wait, items: list[Blamed]) -> None:
    first = items[0]
    spot = first.spot
    if first.place is None or spot is None or not wait.samples:
        return
    culprit = culprits.setdefault((spot.file, spot.line, waiting.rule), _Culprit(first.place))
    samples = sum(item.samples for item in items)
    culprit.blamed += items
    culprit.waiting.append((samples, waiting, samples / wait.samples))


def _judge(stall: Stall, wait: Wait, elsewhere: dict[tuple[str, int], list[Blamed]], total: int) -> Stall:
    """The stall with its causes; Information when most of the blame lies on other lines."""
    evidence = stall.evidence
    confidence = wait.confidence
    update: dict[str, object] = {"causes": wait.causes(), "confidence": confidence}
    moved = sum(item.samples for items in elsewhere.values() for item in items)
    if evidence.level == "act" and moved >= 0.5 * wait.samples > 0:
        update["level"] = "hot"
    if wait.blamed and evidence.rule not in WEAK and wait.blamed[0].kind != "self":
        update["text"] = _waiting_text(evidence, wait, confidence, total, moved=update.get("level") == "hot")
    return Stall(evidence.model_copy(update=update), stall.instructions, stall.kept)


def _waiting_text(evidence: Evidence, wait: Wait, confidence: Confidence, total: int, *, moved: bool) -> str:
    """Who is waited for, on the waiting line."""
    leading = wait.blamed[0]
    spot = leading.spot
    here = spot is not None and (spot.file, spot.line) == _spot(evidence)
    place = "on this line" if here else f"at {_name(spot)}" if spot else "at an unknown line"
    line = [item for items in by_line(wait.blamed).values() for item in items if leading in items]
    share = sum(item.samples for item in line or [leading]) / wait.samples if wait.samples else 0.0
    awaited = what_is_awaited(leading.opcode, leading.kind, place)
    sentence = f"It waits {awaited} ({leading.opcode}, {percent(share, 0)} of this wait, {confidence})"
    others = len(by_line(wait.blamed)) - 1
    if confidence == "shared" and others > 0:
        sentence += f", and for {others} other line{'s' if others > 1 else ''}"
    if not moved:
        return f"{evidence.text} {sentence}."
    row = reason(evidence.rule)
    start = f"{share_of(evidence.share, evidence.margin, total)}: warps wait here for {row.waits_for} ({row.name})"
    return f"{start}. {sentence}; change that line rather than this one."


def _name(location: Location) -> str:
    return f"{PurePosixPath(location.file.replace(chr(92), '/')).name}:{location.line}"


def _evidence(kernel: Kernel, rule: str, culprit: _Culprit, total: int, settings: Settings) -> Evidence:
    samples = sum(count for count, _, _ in culprit.waiting)
    share = samples / total if total else 0.0
    row = reason(rule)
    return Evidence(
        id="BL-0",
        source="bl",
        rule=rule,
        kernel=kernel.mangled,
        location=culprit.place.location,
        inlined_at=culprit.place.inlined_at,
        shown=culprit.place.shown,
        samples=round(samples),
        not_issued=round(sum(item.not_issued for item in culprit.blamed)),
        share=share,
        margin=margin(share, total),
        level=_level(culprit, share, total, settings, actionable=row.actionable),
        text=_blamed_text(rule, culprit, share, total),
        expects=(Expectation(metric=rule, direction=row.direction),),
        waits=tuple(
            place
            for _, waiting, _ in sorted(culprit.waiting, key=lambda item: -item[0])
            if (place := waiting.shown or waiting.location)
        ),
        confidence=_sure(culprit),
    )


def _level(
    culprit: _Culprit, share: float, total: int, settings: Settings, *, actionable: bool
) -> Literal["act", "hot", "note"]:
    if all(waiting.level == "note" for _, waiting, _ in culprit.waiting):
        return "note"
    few = total < settings.lines.minimum_samples
    return "hot" if few or not actionable or share < settings.lines.actionable_share else "act"


def _sure(culprit: _Culprit) -> Confidence:
    samples = sum(item.samples for item in culprit.blamed)
    if samples <= 0:
        return "none"
    if sum(item.certain for item in culprit.blamed) >= 0.995 * samples:
        return "certain"
    alone = sum(count for count, _, part in culprit.waiting if part >= DOMINANT)
    return "dominant" if alone >= DOMINANT * samples else "shared"


def _blamed_text(rule: str, culprit: _Culprit, share: float, total: int) -> str:
    """Who waits, on the line they wait for."""
    row = reason(rule)
    leading = max(culprit.blamed, key=lambda item: item.samples)
    waiting = sorted(culprit.waiting, key=lambda item: -item[0])
    spots = [place for _, each, _ in waiting if (place := each.shown or each.location)]
    names = list(dict.fromkeys(_name(place) for place in spots))
    shown = ", ".join(names[:MOST_WAITING_NAMED]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    part = sum(count for count, _, _ in waiting) / sum(count / part for count, _, part in waiting if part > 0)
    return (
        f"{share_of(share, margin(share, total), total)} wait for this line: {shown} "
        f"wait{'s' if len(names) == 1 else ''} {what_is_awaited(leading.opcode, leading.kind, 'here')} "
        f"({leading.opcode}, {row.name}; {percent(part, 0)} of that wait, {_sure(culprit)})"
        + (f"; usually helps: {', '.join(row.remedies[:2])}." if row.remedies else ".")
    )
