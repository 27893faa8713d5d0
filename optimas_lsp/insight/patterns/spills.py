"""Registers that the compiler keeps in local memory because it may not use more of them."""

from __future__ import annotations

from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View

RULE = "register-spills"
SPILLS = ("sass__inst_executed_register_spilling", "sass__inst_executed_register_spilling_mem_local")


def find(view: View) -> Iterator[Hit]:
    """Executed local loads and stores of a kernel whose counters say that it spills.

    Local memory that holds an array indexed at run time is no spill; only the counters can tell the two apart, so
    without them nothing is said.
    """
    counted = [value for name in SPILLS if (value := view.counters.value(name, "sum")) is not None]
    if not counted or max(counted) <= 0:
        return
    registers = view.counters.value("launch__registers_per_thread", "max")
    limit = f" within its {registers:.0f} registers a thread" if registers else ""
    for at, instruction in enumerate(view.instructions):
        if instruction.semantics.space == "local" and view.executed(at):
            yield Hit(
                text=f"Register spill: {instruction.opcode} goes to local memory {view.executed(at):,} times because "
                f"the kernel's values do not fit{limit}",
                helps="more registers (launch bounds with the real block size), shorter live ranges, less unrolling",
                instructions=(at,),
                blamed=(at,),
                weight=float(view.executed(at)),
                expects=((SPILLS[0], "down"), ("lg_throttle", "down"), ("long_scoreboard", "down")),
            )
