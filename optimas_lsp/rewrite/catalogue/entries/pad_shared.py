"""Pad the rows of shared tiles, so that a column lies in different banks."""

from __future__ import annotations

import itertools

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import field, within
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.scope import Variable
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.types import size_of
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

STATIC_LIMIT = 48 * 1024
"""Bytes of shared memory that a block may declare without asking the driver for more."""


def find(site: Site) -> Found:
    """One variant for all tiles together, and one for each alone."""
    scope = site.scope
    tiles = [v for group in scope.variables.values() for v in group if v.shared and len(v.dims) >= 2]
    if not tiles:
        yield Refusal("the function declares no shared array of two or more dimensions")
        return
    sound: list[Variable] = []
    for tile in tiles:
        why = _unsound(site, tile)
        if why is None:
            sound.append(tile)
        else:
            yield Refusal(why, site.line(tile.node))
    groups = [tuple(sound), *((tile,) for tile in sound)] if len(sound) > 1 else [(tile,) for tile in sound]
    for at, group in enumerate(groups):
        total = _bytes(site, tiles, group)
        if total is None or total > STATIC_LIMIT:
            size = "more than is known" if total is None else f"{total} bytes"
            yield Refusal(
                f"with the padding a block would need {size} of static shared memory; {STATIC_LIMIT} are allowed"
            )
            continue
        names = " and ".join(f"'{tile.name}'" for tile in group)
        yield Variant(
            label="+1 on " + ", ".join(tile.name for tile in group),
            edits=tuple(_edit(tile) for tile in group),
            lines=_lines(site, group),
            reason=f"one unused element a row of {names} puts the elements of a column into different banks",
            preference=1.0 if at == 0 else 0.7,
        )


def _edit(tile: Variable) -> Edit:
    size = _last_bound(tile)
    return Edit(size.end_byte, size.end_byte, " + 1")


def _last_bound(tile: Variable) -> Node:
    """The bound of a tile's last dimension."""
    declarator = next(
        node
        for node in within(tile.node, "array_declarator")
        if node.parent is not None and node.parent.type != "array_declarator" and _named(node, tile)
    )
    return field(declarator, "size")


def _named(node: Node, tile: Variable) -> bool:
    inner = node
    while (deeper := inner.child_by_field_name("declarator")) is not None:
        inner = deeper
    return inner.text is None or inner.text.decode() == tile.name


def _unsound(site: Site, tile: Variable) -> str | None:
    scope = site.scope
    if len(scope.variables[tile.name]) > 1:
        return f"'{tile.name}' is declared more than once"
    if scope.value_of(_last_bound(tile)) is None:
        return f"the row length of '{tile.name}' is not a known constant"
    full = {access.node.id: len(access.index) for access in scope.accesses(scope.body) if access.root == tile.name}
    for node in within(scope.body, "identifier"):
        if scope.text(node) != tile.name or (node.parent is not None and node.parent.type == "array_declarator"):
            continue
        outer = node.parent
        while (
            outer is not None
            and outer.id not in full
            and outer.type in {"subscript_expression", "parenthesized_expression"}
        ):
            outer = outer.parent
        if outer is None or full.get(outer.id) != len(tile.dims):
            return f"'{tile.name}' is used other than by {len(tile.dims)} subscripts, so its layout may matter"
        above = outer.parent
        if above is not None and above.type == "pointer_expression":
            called = scope.call_around(above)
            if called is None or not scope.callee(called).startswith("atomic"):
                return f"the address of an element of '{tile.name}' is taken"
    return None


def _bytes(site: Site, tiles: list[Variable], padded: tuple[Variable, ...]) -> int | None:
    """Shared bytes of the whole function with ``padded`` padded; a template's element counts 16 bytes."""
    total = 0
    for group in site.scope.variables.values():
        for variable in group:
            if not variable.shared:
                continue
            count = size_of(variable.type) or 16
            for dim in variable.dims:
                value = site.constants.get(dim, int(dim) if dim.isdigit() else None)
                if value is None:
                    return None
                count *= value + (variable in padded and dim is variable.dims[-1])
            total += count
    return total


def _lines(site: Site, group: tuple[Variable, ...]) -> tuple[int, int]:
    """All accesses of the tiles: the evidence is at those, not at the declaration."""
    names = {tile.name for tile in group}
    nodes = [access.node for access in site.scope.accesses(site.scope.body) if access.root in names]
    spans = [site.lines(node) for node in (*nodes, *(tile.node for tile in group))]
    return min(itertools.chain.from_iterable(spans)), max(itertools.chain.from_iterable(spans))
