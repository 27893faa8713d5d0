"""Double-precision arithmetic in a kernel whose data is single precision."""

from __future__ import annotations

import re
from collections.abc import Iterator

from optimas_lsp.insight.patterns.view import Hit, View

RULE = "unintended-double"
_ARITHMETIC = frozenset({"DADD", "DMUL", "DFMA", "DSETP"})


def find(view: View) -> Iterator[Hit]:
    """Double arithmetic between a widening and a narrowing conversion, in a kernel that has no double in its name.

    A kernel that takes or is instantiated for ``double`` means it; so does one that never narrows a result to float.
    """
    name = view.kernel.name
    if re.search(r"\bdouble\b", name) or not re.search(r"\bfloat\d?\b", name):
        return
    ran = {instruction.opcode for at, instruction in enumerate(view.instructions) if view.executed(at)}
    if not all(any(opcode.startswith(form) for opcode in ran) for form in ("F2F.F64.F32", "F2F.F32.F64")):
        return
    for at, instruction in enumerate(view.instructions):
        if instruction.base in _ARITHMETIC and view.executed(at):
            yield Hit(
                text=f"Double precision in a float kernel: {instruction.opcode} runs {view.executed(at):,} times, with "
                "conversions from and to float around it",
                helps="constants with the suffix f (0.5f), float functions (sqrtf), explicit types of intermediates",
                instructions=(at,),
                blamed=(at, *_conversions(view, at)),
                weight=float(view.executed(at)),
                expects=(("sm__sass_thread_inst_executed_op_dfma_pred_on", "down"), ("time", "down")),
            )


def _conversions(view: View, position: int) -> list[int]:
    """The conversions of the same line."""
    chain = view.kernel.code.chain[view.column(position)]
    return [
        at
        for at, instruction in enumerate(view.instructions)
        if instruction.base == "F2F" and view.kernel.code.chain[view.column(at)] == chain
    ]
