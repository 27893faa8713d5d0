"""Few resident warps, and what allows no more."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.facts import issue_active, occupancy_limiter
from optimas_lsp.insight.patterns.view import Hit, View

RULE = "low-occupancy"
THEORETICAL = "sm__maximum_warps_per_active_cycle_pct"
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
LOW_PCT = 50.0
BUSY = 0.60
"""From this share of cycles with an issue on, more warps would hardly find room."""


def find(view: View) -> Iterator[Hit]:
    """A kernel whose resources let fewer than half of the possible warps reside, while schedulers lack work."""
    theoretical = view.counters.value(THEORETICAL)
    active = issue_active(view.counters)
    limiter = occupancy_limiter(view.counters)
    if theoretical is None or theoretical >= LOW_PCT or limiter is None or active is None or active >= BUSY:
        return
    achieved = view.counters.value(ACHIEVED)
    reached = f" ({achieved:.0f} % reached)" if achieved is not None else ""
    yield Hit(
        text=f"Low occupancy: {limiter} let only {theoretical:.0f} % of the possible warps reside{reached}, and "
        f"schedulers issue in {100 * active:.0f} % of cycles",
        helps="less of what limits it, another block size, or more independent work in each thread",
        lost=(1 - active) * (1 - theoretical / 100),
        at_most=min(100 / max(theoretical, 1.0), 1 / max(active, 0.01)),
        expects=((ACHIEVED, "up"), ("smsp__issue_active.avg.per_cycle_active", "up")),
    )
