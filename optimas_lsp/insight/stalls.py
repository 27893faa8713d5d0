"""The table of stall reasons: what a warp waits for, what usually helps, when it does not matter, whose doing it is.

The table is data, ``knowledge/stalls.toml``. A reason that is not in it, from a newer profiler, is kept under its own
name and described as unknown.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any, Literal, cast

from pydantic import Field

from optimas_lsp.profile.model import NOT_STALLED, Frozen

BlameClass = Literal[
    "load", "producer", "nearest-producer", "stores", "synchronisation", "warpgroup", "self", "none", "unknown"
]
"""Whose doing a stall is: which instruction a root-cause search has to look for."""


class StallReason(Frozen):
    """One row of the table; ``stalls.toml`` describes each field."""

    name: str = Field(description="as the profiler names it, e.g. 'long_scoreboard'")
    label: str
    waits_for: str
    meaning: str
    remedies: tuple[str, ...]
    ignore_when: str
    blame: BlameClass
    actionable: bool
    stalled: bool
    direction: Literal["down", "up"]
    known: bool = True


@functools.cache
def table() -> dict[str, StallReason]:
    """Every reason we know, by the profiler's name."""
    text = (resources.files("optimas_lsp.insight") / "knowledge" / "stalls.toml").read_text("utf-8")
    rows = cast("dict[str, dict[str, Any]]", tomllib.loads(text))
    return {name: StallReason(name=name, **row) for name, row in rows.items()}


@functools.cache
def reason(name: str) -> StallReason:
    """The row of ``name``; for a name we do not know, a row that says so (not actionable, counted as a stall)."""
    known = table().get(name)
    if known is not None:
        return known
    return StallReason(
        name=name,
        label=name,
        waits_for=f"'{name}', a reason this version of Optimas does not know",
        meaning=f"The profiler that wrote the report knows a stall reason we do not: '{name}'.",
        remedies=(),
        ignore_when="Unknown: see the profiler's own documentation.",
        blame="unknown",
        actionable=False,
        stalled=name not in NOT_STALLED,
        direction="down",
        known=False,
    )


def is_stall(name: str) -> bool:
    """Whether a sample with this reason is of a warp that could not issue."""
    return name not in NOT_STALLED
