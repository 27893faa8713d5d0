"""Known patterns of wasted time, each a rule of its own: what it looks for, what it says, when it stays silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Bound, Evidence, Expectation, Location
from optimas_lsp.insight.locate import Locator, Place
from optimas_lsp.insight.patterns import (
    async_copy,
    atomics,
    bank_conflicts,
    coalescing,
    divergence,
    double_precision,
    integer_division,
    narrow_loads,
    occupancy,
    read_only,
    spills,
    waves,
)
from optimas_lsp.insight.patterns.view import Hit, View
from optimas_lsp.profile.aggregate import margin
from optimas_lsp.profile.model import Kernel, Launch, Profile

RULES: dict[str, Callable[[View], Iterator[Hit]]] = {
    coalescing.RULE: coalescing.find,
    bank_conflicts.RULE: bank_conflicts.find,
    spills.RULE: spills.find,
    double_precision.RULE: double_precision.find,
    divergence.RULE: divergence.find,
    atomics.RULE: atomics.find,
    read_only.RULE: read_only.find,
    narrow_loads.RULE: narrow_loads.find,
    async_copy.RULE: async_copy.find,
    integer_division.RULE: integer_division.find,
    waves.RULE: waves.find,
    occupancy.RULE: occupancy.find,
}
"""Every pattern by the name of its rule page."""


def pattern_evidence(
    profile: Profile,
    kernel: Kernel,
    launches: Sequence[Launch],
    locator: Locator,
    settings: Settings,
    *,
    definition: Location | None = None,
    busy: bool = False,
) -> tuple[Evidence, ...]:
    """What the rules find in one kernel, costliest first; ids are given by the caller.

    ``definition`` is where findings about the whole kernel are shown. ``busy``: schedulers issue in most cycles.
    """
    view = View(profile, kernel, launches)
    found: list[Evidence] = []
    for rule, find in RULES.items():
        for place, hits in _by_place(find(view), view, locator):
            evidence = _evidence(rule, place, hits, view, settings, definition=definition, busy=busy)
            if evidence is not None:
                found.append(evidence)
    return tuple(sorted(found, key=lambda each: (-each.not_issued, -each.samples, each.rule, str(each.location))))


def _by_place(hits: Iterable[Hit], view: View, locator: Locator) -> Iterator[tuple[Place | None, list[Hit]]]:
    """Hits that are shown at one line together; those about the whole kernel last, under None."""
    places, _ = locator.places(view.kernel)
    groups: dict[tuple[str, int], tuple[Place, list[Hit]]] = {}
    whole: list[Hit] = []
    for hit in hits:
        if not hit.instructions:
            whole.append(hit)
            continue
        chain = view.kernel.code.chain[view.column(hit.instructions[0])]
        place = places[chain] if chain >= 0 else "line-0"
        if isinstance(place, str):
            continue
        spot = place.shown or place.location
        groups.setdefault((spot.file, spot.line), (place, []))[1].append(hit)
    yield from groups.values()
    if whole:
        yield None, whole


def _evidence(
    rule: str,
    place: Place | None,
    hits: list[Hit],
    view: View,
    settings: Settings,
    *,
    definition: Location | None,
    busy: bool,
) -> Evidence | None:
    """One finding, or None when it costs less than findings need to."""
    leading = max(hits, key=lambda hit: (hit.weight, hit.text))
    samples, idle = view.cost({instruction for hit in hits for instruction in hit.blamed})
    share = samples / view.samples if view.samples else 0.0
    worth = leading.lost if leading.lost is not None else share
    if worth < settings.lines.minimum_share or (place is not None and share < settings.lines.minimum_share):
        return None
    act = worth >= settings.lines.actionable_share and not leading.uncertain
    few = view.samples < settings.lines.minimum_samples
    return Evidence(
        id="PT-0",
        source="pt",
        rule=rule,
        kernel=view.kernel.mangled,
        location=place.location if place else definition,
        inlined_at=place.inlined_at if place else (),
        shown=place.shown if place else definition,
        samples=round(samples),
        not_issued=round(idle),
        share=share,
        margin=margin(share, view.samples),
        level="note" if busy and leading.lost is None else "act" if act and not few else "hot",
        text=_text(leading, hits, share, view),
        expects=tuple(Expectation(metric=metric, direction=direction) for metric, direction in leading.expects),
        bound=Bound(speedup=leading.at_most, method="elimination") if leading.at_most is not None else None,
    )


def _text(leading: Hit, hits: list[Hit], share: float, view: View) -> str:
    more = len(hits) - 1
    also = ""
    if more and leading.blamed:
        also = (
            f" ({more} more instruction{'s' if more > 1 else ''} on this line do{'es' if more == 1 else ''} the same)"
        )
    cost = ""
    if leading.blamed and view.samples:
        error = margin(share, view.samples)
        cost = f" It costs {100 * share:.1f} ± {100 * error:.1f} % of the kernel's {view.samples:,} samples."
    return f"{leading.text}{also}.{cost} Usually helps: {leading.helps}."
