"""What a Triton kernel does: loops that end, code that is reached, stores that stay."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite
from optimas_lsp.rewrite.guard.triton_code import TritonCode
from optimas_lsp.rewrite.guard.triton_looking import found_at, main_of

LEAVING = (ast.Return, ast.Break, ast.Continue)
"""Statements after which nothing of their block is reached."""


def endless(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Loops that cannot end, and code that is never reached."""
    had = {ast.dump(node) for node in before.nodes()}
    for node in after.nodes():
        if isinstance(node, ast.While) and ast.dump(node) not in had and isinstance(node.test, ast.Constant):
            inside = [inner for part in node.body for inner in ast.walk(part)]
            if node.test.value and not any(isinstance(inner, ast.Break | ast.Return) for inner in inside):
                yield found_at(rewrite, node, "the loop has no end")
        if isinstance(node, ast.While) and ast.dump(node) not in had and _is_settled(node):
            yield found_at(rewrite, node, "nothing in the loop changes its condition")
        if isinstance(node, ast.While) and all(isinstance(part, ast.Pass) for part in node.body):
            yield found_at(rewrite, node, "the loop waits for other programs")


def _is_settled(loop: ast.While) -> bool:
    """Whether a loop's condition is of variables that the loop does not set, and nothing leaves the loop."""
    test = list(ast.walk(loop.test))
    if isinstance(loop.test, ast.Constant) or any(isinstance(each, ast.Call | ast.Subscript) for each in test):
        return False
    inside = [each for part in loop.body for each in ast.walk(part)]
    if any(isinstance(each, ast.Break | ast.Return) for each in inside):
        return False
    stored = {each.id for each in inside if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return not stored & {each.id for each in test if isinstance(each, ast.Name)}


def dead(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Code that is never reached, and conditions that never change."""
    had = {ast.dump(node) for node in before.nodes()}
    for node in after.nodes():
        if isinstance(node, ast.FunctionDef | ast.For | ast.While | ast.If):
            for part, following in itertools.pairwise(node.body):
                if isinstance(part, LEAVING):
                    yield found_at(rewrite, following, "nothing gets here")
        if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and ast.dump(node) not in had:
            yield found_at(rewrite, node, f"the condition {node.test.value} never changes")


def recursion(rewrite: Rewrite, _b: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """A kernel that calls itself."""
    for node in after.nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == rewrite.function.name:
            yield found_at(rewrite, node, f"'{rewrite.function.name}' calls itself")


def _acts(code: TritonCode) -> bool:
    """Whether anything is stored, changed atomically or returned."""
    called = [node.func for node in code.nodes() if isinstance(node, ast.Call)]
    writes = ("store", "atomic_", "store_")
    if any(isinstance(func, ast.Attribute) and func.attr.startswith(writes) for func in called):
        return True
    return any(isinstance(node, ast.Return) and node.value is not None for node in code.nodes())


def outputs(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Stores that are gone."""
    if after.module is None:
        return
    if _acts(before) and not _acts(after):
        yield rewrite.found(1, "the new text stores nothing; the old one did")
        return
    for name in sorted(_stored(before) - _stored(after)):
        yield rewrite.found(1, f"nothing is stored through '{name}' any more")


def _stored(code: TritonCode) -> frozenset[str]:
    """The parameters that are bases of what is stored to or changed atomically."""
    bases = {node.arg: {node.arg} for node in code.nodes() if isinstance(node, ast.arg) and node.annotation is None}
    assigned = [node for node in code.nodes() if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    for _ in range(8):  # each round follows one more step of what an address was computed from
        for node in assigned:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (each.id for each in targets if isinstance(each, ast.Name) and node.value is not None):
                bases.setdefault(name, set()).update(_bases(node.value, bases))
    stored: set[str] = set()
    for node in code.nodes():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr.startswith(("store", "atomic_")):
            whole = code.path(node.func).startswith("triton.")
            stored |= _bases(node.args[0] if whole and node.args else node.func.value, bases)
    return frozenset(stored)


def _bases(place: ast.expr | None, bases: dict[str, set[str]]) -> set[str]:
    """The parameters that are added to an address, not multiplied into it."""
    if isinstance(place, ast.Name):
        return bases.get(place.id, set())
    if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Add | ast.Sub):
        return _bases(place.left, bases) | _bases(place.right, bases)
    if isinstance(place, ast.Call):
        parts = [*place.args, *(each.value for each in place.keywords)]
        owner = [place.func.value] if isinstance(place.func, ast.Attribute) else []
        return set[str]().union(*(_bases(part, bases) for part in (*parts, *owner)))
    if isinstance(place, ast.Subscript):
        return _bases(place.value, bases)
    if isinstance(place, ast.IfExp):
        return _bases(place.body, bases) | _bases(place.orelse, bases)
    return set()


def inputs(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Parameters that are not used any more."""
    old, new = main_of(rewrite, before), main_of(rewrite, after)
    if old is None or new is None:
        return
    used = {node.id for node in ast.walk(new) if isinstance(node, ast.Name)}
    was = {node.id for node in ast.walk(old) if isinstance(node, ast.Name)}
    for argument in old.args.args:
        if argument.arg in was and argument.arg not in used:
            yield found_at(rewrite, new, f"the parameter '{argument.arg}' was used and is not any more")


def unmasked(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Loads and stores without a mask where the old text had one at each."""
    for operation in ("load", "store"):
        if any(not _has_mask(call) for call in _calls_of(before, operation)):
            continue
        for call in _calls_of(after, operation):
            if not _has_mask(call):
                yield found_at(rewrite, call, f"a {operation} has no mask: it may reach beyond the end")


def _calls_of(code: TritonCode, name: str) -> list[ast.Call]:
    calls = (node for node in code.nodes() if isinstance(node, ast.Call))
    return [call for call in calls if code.path(call.func) == f"triton.language.{name}"]


def _has_mask(call: ast.Call) -> bool:
    """Whether a load or store is masked, or checks the bounds of a block pointer."""
    position = 1 if ast.unparse(call.func).endswith("load") else 2
    return len(call.args) > position or any(each.arg in {"mask", "boundary_check"} for each in call.keywords)
