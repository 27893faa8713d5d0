"""Square by multiplying instead of calling ``pow``."""

from __future__ import annotations

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import field
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


def find(site: Site) -> Found:
    """One variant for all squares of plain variables."""
    scope = site.scope
    edits: list[Edit] = []
    nodes: list[Node] = []
    why = "pow is not called"
    for name, call in scope.calls(scope.body):
        if name not in {"pow", "powf"}:
            continue
        given = field(call, "arguments").named_children
        if len(given) != 2 or scope.text(given[1]) not in {"2", "2.0", "2.", "2.0f", "2.f"}:
            why = "pow is called with another exponent than 2"
            continue
        variable = scope.one(scope.text(given[0])) if given[0].type == "identifier" else None
        if variable is None or variable.memory or variable.type not in {"float", "double"}:
            why = "what is squared is no plain float or double variable"
            continue
        edits.append(Edit(call.start_byte, call.end_byte, f"({variable.name} * {variable.name})"))
        nodes.append(call)
    if not edits:
        yield Refusal(why)
        return
    yield Variant(
        "x * x",
        tuple(edits),
        site.lines(*nodes),
        "one multiplication, rounded correctly, replaces a general power function",
        exact=False,
    )
