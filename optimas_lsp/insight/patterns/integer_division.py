"""Integer divisions and remainders by run-time values in a hot loop."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View

RULE = "integer-division"


def find(view: View) -> Iterator[Hit]:
    """Conversions of an integer to a rounded-up float (``I2F.RP``) in a loop: every division by reciprocal begins so.

    What it costs is everything on the same line: the division is the bulk of it.
    """
    for at, instruction in enumerate(view.instructions):
        if instruction.base not in ("I2F", "UI2F") or "RP" not in instruction.modifiers or not view.hot(at):
            continue
        chain = view.kernel.code.chain[view.column(at)]
        line = [
            each
            for each in range(len(view.instructions))
            if chain >= 0 and view.kernel.code.chain[view.column(each)] == chain
        ]
        bits = 64 if {"U64", "S64"} & set(instruction.modifiers) else 32
        yield Hit(
            text=f"Integer division in a loop: a {bits}-bit division or remainder by a value unknown at compile time, "
            f"{len(line)} instructions on this line, {view.executed(at):,} times a warp",
            helps="a divisor known at compile time, a precomputed multiplier, or quotient and remainder stepped along",
            instructions=(at,),
            blamed=tuple(line) or (at,),
            weight=float(view.executed(at)),
            expects=(("inst_executed", "down"), ("time", "down")),
        )
