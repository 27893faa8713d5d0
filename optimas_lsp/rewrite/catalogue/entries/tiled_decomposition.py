"""Split a thread's number into two indices the other way, in tiles, so that neighbouring threads write side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import within
from optimas_lsp.rewrite.catalogue.patch import Edit, indent_at
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

TILES = ((8, 1.0), (4, 0.9), (16, 0.8), (32, 0.6))
"""Width of a tile along the slow index, with how promising each is: 8 elements of 4 bytes fill a sector."""


@dataclass(frozen=True)
class Split:
    """``fast = item % count; slow = item / count`` with ``item < count * slows`` guarded."""

    item: str
    fast: Node
    slow: Node
    fast_name: str
    slow_name: str
    kind: str
    count: str
    slows: str


def find(site: Site) -> Found:
    """A variant a tile width, and one for the plain exchange."""
    split = _split(site)
    if isinstance(split, str):
        yield Refusal(split)
        return
    why = _dependent(site, split)
    if why is not None:
        yield Refusal(why, site.line(split.fast))
        return
    for width, preference in TILES:
        yield _variant(site, split, width, preference)
    yield _exchange(site, split)


def _split(site: Site) -> Split | str:
    scope = site.scope
    parts: dict[str, tuple[Node, str, str, str]] = {}
    for node in within(scope.body, "declaration"):
        match = re.fullmatch(
            r"(?:const)?(int|unsigned|unsignedint)(\w+)=(\w+)([%/])(\w+);", re.sub(r"\s+", "", scope.text(node))
        )
        if match and node.parent == scope.body:
            parts.setdefault(match.group(4), (node, match.group(2), match.group(3), match.group(5)))
    if set(parts) != {"%", "/"}:
        return "the function does not split an index into remainder and quotient"
    fast, slow = parts["%"], parts["/"]
    if fast[2:] != slow[2:]:
        return "remainder and quotient are not of the same two numbers"
    item, count = fast[2:]
    variable = scope.one(item)
    if variable is None or variable.value is None or not scope.is_global_thread(variable.value):
        return f"'{item}' is not the thread's number in the grid"
    kinds = {scope.one(name).type for name in (item, fast[1], slow[1], count) if scope.one(name) is not None}  # type: ignore[union-attr]
    if len(kinds) != 1 or any(scope.one(name) is None for name in (item, fast[1], slow[1], count)):
        return "the indices are not all of one type"
    if any(name in scope.assigned_after(item, count) for name in (item, count)):
        return f"'{item}' or '{count}' changes"
    slows = _guard(site, item, count, fast[0])
    if slows is None:
        return f"no 'if ({item} >= {count} * …) return' stands before the split"
    return Split(item, fast[0], slow[0], fast[1], slow[1], next(iter(kinds)), count, slows)


def _guard(site: Site, item: str, count: str, before: Node) -> str | None:
    scope = site.scope
    for node in within(scope.body, "if_statement"):
        if node.start_byte > before.start_byte or node.parent != scope.body:
            continue
        text = re.sub(r"[\s{}]+", "", scope.text(node))
        match = re.fullmatch(rf"if\({item}>=(\w+)\*(\w+)\)return;", text)
        if match and count in match.groups():
            other = match.group(2) if match.group(1) == count else match.group(1)
            variable = scope.one(other)
            if variable is not None and variable.parameter and variable.type == scope.one(count).type:  # type: ignore[union-attr]
                return other
    return None


def _dependent(site: Site, split: Split) -> str | None:
    """Why it matters which thread handles which pair; None if it does not."""
    scope = site.scope
    if any(variable.shared for group in scope.variables.values() for variable in group):
        return "the function uses shared memory, so its blocks depend on which threads are in them"
    if scope.barriers(scope.body):
        return "threads wait for each other"
    for name, _ in scope.calls(scope.body):
        if not scope.pure(name):
            return f"'{name}' is called, which may depend on the thread"
    uses = [node for node in within(scope.body, "identifier") if scope.text(node) == split.item]
    allowed = 4  # its declaration, the guard, the remainder and the quotient
    if len(uses) != allowed:
        return f"'{split.item}' is used for more than the split"
    declared = scope.one(split.item)
    for node in within(scope.body, "identifier"):
        if scope.text(node) in {"threadIdx", "blockIdx", "blockDim", "gridDim"} and (
            declared is None or not declared.node.start_byte <= node.start_byte < declared.node.end_byte
        ):
            return "the thread's own number is used besides the split"
    if not any(access.write and site.is_global(access.root) for access in scope.accesses(scope.body)):
        return "nothing is written to global memory"
    return None


def _variant(site: Site, split: Split, width: int, preference: float) -> Variant:
    scope = site.scope
    inside = scope.fresh("inside")
    item, fast, slow, count, slows, kind = (
        split.item,
        split.fast_name,
        split.slow_name,
        split.count,
        split.slows,
        split.kind,
    )
    lines = [
        f"if ({slows} % {width} == 0 && (long long)gridDim.x * blockDim.x >= (long long){count} * {slows}) {{",
        f"    {kind} {inside} = {item} % ({count} * {width});",
        f"    {fast} = {inside} / {width};",
        f"    {slow} = {item} / ({count} * {width}) * {width} + {inside} % {width};",
        "}",
    ]
    return _changed(site, split, lines, width, preference)


def _exchange(site: Site, split: Split) -> Variant:
    lines = [
        f"if ((long long)gridDim.x * blockDim.x >= (long long){split.count} * {split.slows}) {{",
        f"    {split.fast_name} = {split.item} / {split.slows};",
        f"    {split.slow_name} = {split.item} % {split.slows};",
        "}",
    ]
    return _changed(site, split, lines, 0, 0.7)


def _changed(site: Site, split: Split, lines: list[str], width: int, preference: float) -> Variant:
    indent = indent_at(site.syntax.code.data, split.fast.start_byte)
    last = max((split.fast, split.slow), key=lambda node: node.start_byte)
    edits = [Edit(last.end_byte, last.end_byte, "".join(f"\n{indent}{line}" for line in lines))]
    for node in (split.fast, split.slow):
        edits += [
            Edit(each.start_byte, each.end_byte + 1, "")
            for each in within(node, "type_qualifier")
            if site.scope.text(each) == "const"
        ]
    how = f"in tiles {width} wide" if width else "the other way"
    return Variant(
        label=f"tiles of {width}" if width else "exchanged",
        edits=tuple(edits),
        lines=site.lines(site.scope.body),
        reason=f"each pair ('{split.fast_name}', '{split.slow_name}') is still handled once, but {how}, so that "
        "neighbouring threads write neighbouring elements",
        preference=preference,
    )
