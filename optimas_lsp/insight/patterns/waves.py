"""Grids too small to fill the GPU, or with a last wave that is nearly empty."""

from __future__ import annotations

import math
from collections.abc import Iterator

from optimas_lsp.insight.facts import Counters
from optimas_lsp.insight.patterns.view import Hit, View

RULE = "tail-wave"
WAVES = "launch__waves_per_multiprocessor"
TAIL = 0.20
"""Share of the last wave's places, over all waves, that must stay empty."""


def find(view: View) -> Iterator[Hit]:
    """The longest launch: fewer blocks than multiprocessors, or a mostly empty last wave."""
    longest = max(view.launches, key=lambda launch: launch.duration_ns or 0.0, default=None)
    if longest is None:
        return
    blocks = math.prod(longest.grid)
    number = view.profile.device.attributes.get("multiprocessor_count")
    if isinstance(number, int | float) and 0 < blocks < number:
        lost = 1 - blocks / number
        yield Hit(
            text=f"Too few blocks: {blocks} for {number:.0f} multiprocessors, so {number - blocks:.0f} stay idle",
            helps="smaller blocks, or the work of one block split over several",
            lost=lost,
            at_most=1 / (1 - lost),
            expects=(("time", "down"),),
        )
        return
    waves = Counters(view.profile, [longest]).value(WAVES)
    if waves is None or waves <= 1:
        return
    lost = 1 - waves / math.ceil(waves)
    if lost >= TAIL:
        yield Hit(
            text=f"Tail wave: {blocks} blocks make {waves:.2f} waves; the last one is "
            f"{100 * (waves % 1):.0f} % full and takes as long as a full one",
            helps="a grid that is a multiple of one wave, or resident blocks that loop over the work",
            lost=lost,
            at_most=1 / (1 - lost),
            expects=(("time", "down"), (WAVES, "up")),
        )
