"""Stall reasons in five families, each with its colour class, so that twenty reasons stay readable."""

from __future__ import annotations

FAMILIES: dict[str, tuple[str, frozenset[str]]] = {
    "memory": (
        "global and local memory",
        frozenset({"long_scoreboard", "lg_throttle", "drain", "tex_throttle", "membar"}),
    ),
    "shared": ("shared memory and special functions", frozenset({"short_scoreboard", "mio_throttle"})),
    "math": (
        "arithmetic",
        frozenset({"wait", "math_pipe_throttle", "dispatch_stall", "warpgroup_arrive", "gmma"}),
    ),
    "sync": ("synchronisation", frozenset({"barrier", "sleeping"})),
    "fetch": ("instructions and branches", frozenset({"branch_resolving", "no_instructions", "imc_miss"})),
}


def family(reason: str) -> str:
    """The family of a stall reason; ``other`` for one we do not know."""
    return next((name for name, (_, reasons) in FAMILIES.items() if reason in reasons), "other")
