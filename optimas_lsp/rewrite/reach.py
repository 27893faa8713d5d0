"""Which functions of a file a kernel reaches: itself and the GPU functions it calls, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable

from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax


def reached(syntax: Syntax, kernels: Iterable[Function]) -> tuple[Function, ...]:
    """The kernels and every GPU function of the text that is reached from them by name, in the order of the text.

    A name is taken for every function that has it: overloads and equal names in namespaces are not told apart.
    """
    by_name: dict[str, list[Function]] = {}
    for function in syntax.functions:
        if function.kind == "device":
            by_name.setdefault(function.name, []).append(function)
    found: set[Function] = set()
    waiting = list(kernels)
    while waiting:
        function = waiting.pop()
        if function in found:
            continue
        found.add(function)
        for call in syntax.calls(function.first_line, function.last_line):
            if not call.launch:
                waiting += by_name.get(call.callee.rsplit("::", 1)[-1].rsplit(".", 1)[-1], [])
    return tuple(function for function in syntax.functions if function in found)
