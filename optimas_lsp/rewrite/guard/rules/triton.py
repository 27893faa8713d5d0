"""The rules for Triton kernels: the same demands as for CUDA, on Python's syntax tree."""

from __future__ import annotations

import ast
import functools
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from typing import Any

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule
from optimas_lsp.rewrite.guard.rules import citations, sameness, scope, size
from optimas_lsp.rewrite.guard.rules import triton_effects as effects
from optimas_lsp.rewrite.guard.rules.placeholders import stands_for_code
from optimas_lsp.rewrite.guard.rules.triton_effects import LEAVING
from optimas_lsp.rewrite.guard.triton_code import TritonCode, aliases_of, jitted
from optimas_lsp.rewrite.guard.triton_looking import Look, found_at, main_of, on
from optimas_lsp.rewrite.guard.triton_meaning import meaning

_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Return, ast.Pass)
_OPERATIONS = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Call, ast.IfExp)
_VALUES = (ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Constant, ast.Tuple, ast.List)


@functools.cache
def _table() -> dict[str, Any]:
    text = (resources.files("optimas_lsp.rewrite.guard") / "triton.toml").read_text("utf-8")
    return tomllib.loads(text)


def _words(name: str) -> frozenset[str]:
    return frozenset(_table()[name]["words"].split())


def _hidden(rewrite: Rewrite, _b: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    for at, line in enumerate(after.text.split("\n"), 1):
        strange = next((char for char in line if unicodedata.category(char)[0] == "C" and char != "\t"), None)
        strange = strange or next((char for char in line if unicodedata.category(char) in {"Zl", "Zp"}), None)
        outside = line.split("#")[0]
        if strange is None and not outside.isascii():
            strange = next(char for char in outside if not char.isascii())
        if strange is not None:
            yield rewrite.found(at, f"holds {unicodedata.name(strange, f'U+{ord(strange):04X}').lower()}")
        if outside.rstrip().endswith("\\"):
            yield rewrite.found(at, "a backslash joins lines")


def _one(rewrite: Rewrite, _b: TritonCode, after: TritonCode, case: Case) -> Iterator[Finding]:
    if after.module is None:
        yield rewrite.found(0, "the new text is not valid Python")
        return
    named = [node for node in after.functions if node.name == rewrite.function.name]
    if len(named) != 1:
        yield rewrite.found(1, f"the new text holds {len(named)} definitions of '{rewrite.function.name}'")
    devices, _ = jitted(after.text)
    for node in after.module.body:
        if not isinstance(node, ast.FunctionDef):
            yield found_at(rewrite, node, "something stands outside of the function")
        elif node.name != rewrite.function.name and not ("helpers" in case.allow and node.name in devices):
            yield found_at(rewrite, node, f"'{node.name}' is a new function; allow 'helpers' to permit jitted ones")
        elif node.name != rewrite.function.name and node.name in _taken(case):
            yield found_at(rewrite, node, f"'{node.name}' is a name that the file uses")


def _taken(case: Case) -> frozenset[str]:
    """Every name that the file uses, imports included."""
    file = TritonCode(case.syntax.text.text, {})
    devices, hosts = jitted(file.text)
    return file.words | file.assigned | aliases_of(file.text).keys() | devices | hosts


def _signature(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    old, new = main_of(rewrite, before), main_of(rewrite, after)
    if old is None or new is None:
        return
    if ast.dump(old.args) != ast.dump(new.args):
        yield found_at(rewrite, new, f"the parameters were ({ast.unparse(old.args)}) and are ({ast.unparse(new.args)})")
    if _dumps(old.decorator_list) != _dumps(new.decorator_list) or (old.returns is None) != (new.returns is None):
        yield found_at(rewrite, new, "the decorators or the return type are not what they were")


def _dumps(nodes: list[ast.expr]) -> list[str]:
    return [ast.dump(node) for node in nodes]


def _plain(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Only statements and expressions that a kernel is made of."""
    had = {type(node) for node in before.nodes()}
    for node in after.nodes():
        good = isinstance(node, (*_STATEMENTS, *_OPERATIONS, *_VALUES, *LEAVING, ast.FunctionDef))
        if isinstance(node, ast.stmt | ast.expr) and not good and type(node) not in had:
            yield found_at(rewrite, node, f"{type(node).__name__.lower()} has no place in a kernel")
        yield from _bent(rewrite, node, after)
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(inner, ast.FunctionDef) for part in node.body for inner in ast.walk(part)
        ):
            yield found_at(rewrite, node, "a function is defined inside the function")


_LARGEST = 4096
"""Factors and counts of constants above this are no kernel's: they only keep the compiler busy."""


def _bent(rewrite: Rewrite, node: ast.AST, after: TritonCode) -> Iterator[Finding]:
    """What changes a module, or has the compiler compute without end."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        yield found_at(rewrite, node, f"'{ast.unparse(node)[:40]}' is changed, which outlives the kernel")
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and node.id in after.aliases:
        yield found_at(rewrite, node, f"'{node.id}' is what the file imports, and is given another meaning")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
        numbers = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        if any(isinstance(number, int | float) and abs(number) > 64 for number in numbers) or _nested(node):
            yield found_at(rewrite, node, f"'{ast.unparse(node)[:40]}' has no end that a compiler reaches")
    elif isinstance(node, ast.Call) and after.path(node.func).endswith(".static_range"):
        numbers = [each.value for part in node.args for each in ast.walk(part) if isinstance(each, ast.Constant)]
        if any(isinstance(number, int | float) and number > _LARGEST for number in numbers) or any(
            isinstance(each, ast.Pow) for part in node.args for each in ast.walk(part)
        ):
            yield found_at(
                rewrite, node, f"'{ast.unparse(node)[:60]}' is written out by the compiler, round after round"
            )


def _nested(node: ast.BinOp) -> bool:
    """Whether a power or a shift holds another."""
    inner = [each for part in (node.left, node.right) for each in ast.walk(part) if isinstance(each, ast.BinOp)]
    return any(isinstance(each.op, ast.Pow | ast.LShift) for each in inner)


def _forbidden(rule: str) -> Look:
    def look(rewrite: Rewrite, before: TritonCode, after: TritonCode, case: Case) -> Iterator[Finding]:
        group = _table()["forbidden"][rule]
        words = frozenset(group["words"].split()) - before.words
        hosts = jitted(case.syntax.text.text)[1] - before.words if rule == "host-call" else frozenset[str]()
        for node in after.nodes():
            name = _name(node)
            whole = after.path(node).split(".") if isinstance(node, ast.Attribute | ast.Name) else [name]
            dunder = rule == "host-call" and name.startswith("__")
            if (name in words or set(whole) & words or name in hosts or dunder) and name not in before.words:
                yield found_at(rewrite, node, f"'{name}' {group['what']}")

    return look


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.arg or "" if isinstance(node, ast.keyword) else ""


def _calls(rewrite: Rewrite, before: TritonCode, after: TritonCode, case: Case) -> Iterator[Finding]:
    known = {ast.unparse(node.func) for node in before.nodes() if isinstance(node, ast.Call)}
    devices = jitted(case.syntax.text.text)[0] | jitted(after.text)[0]
    for node in after.nodes():
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in known:
            if isinstance(node.func, ast.Subscript):
                yield found_at(rewrite, node, "a kernel is launched")
            elif not _may_call(node.func, after, devices):
                yield found_at(rewrite, node, f"'{ast.unparse(node.func)[:40]}' is called, and it is not known")


def _may_call(func: ast.expr, code: TritonCode, devices: frozenset[str]) -> bool:
    path = code.path(func)
    if isinstance(func, ast.Name) and func.id not in code.assigned and func.id in _words("builtins") | devices:
        return True
    if path.startswith("triton."):
        return path.rsplit(".", 1)[-1] in _words("language")
    root = func
    while isinstance(root, ast.Attribute):
        root = root.value
    of_value = not isinstance(root, ast.Name) or root.id in code.assigned
    return isinstance(func, ast.Attribute) and of_value and func.attr in _words("methods")


def _names(rewrite: Rewrite, before: TritonCode, after: TritonCode, case: Case) -> Iterator[Finding]:
    devices, hosts = jitted(case.syntax.text.text)
    known = before.words | after.assigned | _words("builtins") | devices | hosts | jitted(after.text)[0]
    constants = {name for name in _module_names(case.syntax.text.text) if name.isupper()}
    for node in after.nodes():
        if isinstance(node, ast.Name) and node.id not in known | constants:
            if after.aliases.get(node.id, "").startswith("triton"):
                continue
            yield found_at(rewrite, node, f"'{node.id}' is given neither here nor by Triton")


@functools.lru_cache(maxsize=16)
def _module_names(file: str) -> frozenset[str]:
    return TritonCode(file, {}).assigned


def _strings(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    for node in after.nodes():
        if isinstance(node, ast.BinOp) and any(_is_text(each) for each in (node.left, node.right)):
            yield found_at(rewrite, node, f"'{ast.unparse(node)[:40]}' computes with a string")
    had = {node.value for node in before.nodes() if isinstance(node, ast.Constant)}
    new = main_of(rewrite, after)
    quiet = (
        {id(new.body[0].value)} if new and isinstance(new.body[0], ast.Expr) and ast.get_docstring(new) else set[int]()
    )
    for node in after.nodes():
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes) or id(node) in quiet:
            continue
        if node.value not in had and node.value not in _words("options"):
            yield found_at(rewrite, node, f"the string {node.value[:40]!r} is new")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _lowered(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    for node in after.nodes():
        name = _name(node)
        if name in before.words:
            continue
        if name in _words("narrow") or (name == "float32" and "float64" in before.words):
            yield found_at(rewrite, node, f"'{name}' has fewer bits than what the kernel computed with")
    if "float64" in before.words and "float64" not in after.words:
        yield rewrite.found(0, "float64 is gone from the kernel")


def _narrowed(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    if "int64" in before.words and "int64" not in after.words:
        yield rewrite.found(0, "the kernel no longer computes in 64 bits anywhere: an index may overflow")


def _gone(prefix: str, words: str) -> Look:
    def look(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
        old, new = (
            Counter(_name(node) for node in code.nodes() if isinstance(node, ast.Attribute)) for code in (before, after)
        )
        for name in sorted(old):
            if name.startswith(prefix) and new[name] < (old[name] if prefix == "debug_barrier" else 1):
                yield rewrite.found(0, f"{name} {words}")

    return look


def _placeholders(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    had = {words for _, words, _ in before.comments}
    for line, words, alone in after.comments:
        if words not in had and stands_for_code(words, alone=alone):
            yield rewrite.found(line, f"the comment '{words[:60]}' stands for code that is not there")
    for node in after.nodes():
        if isinstance(node, ast.Constant) and node.value is ...:
            yield found_at(rewrite, node, "an ellipsis stands where code belongs")


def _cosmetic(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    if before.module is not None and after.module is not None and meaning(before) == meaning(after):
        yield rewrite.found(1, "the new text differs in comments, blanks, names or spelling only")


_SHARED = {rule.id: rule for rule in (*sameness.RULES, *scope.RULES, *size.RULES, *citations.RULES)}
_FORBIDDING = tuple(
    Rule(rule, f"nothing that {group['what']}", "fail", on(_forbidden(rule)))
    for rule, group in _table()["forbidden"].items()
)

RULES: tuple[Rule, ...] = (
    _SHARED["empty"],
    Rule("cosmetic", "every new text differs in more than comments, names and spelling", "fail", on(_cosmetic)),
    *(_SHARED[name] for name in ("known-function", "one-text", "allowed-function", "change-scope")),
    *(_SHARED[name] for name in ("oversize", "too-deep", "too-many")),
    Rule("hidden-characters", "no invisible or look-alike characters, no joined lines", "fail", on(_hidden)),
    Rule("one-definition", "the new text is exactly the kernel's definition", "fail", on(_one)),
    Rule("signature", "parameters and decorators stay as they are", "fail", on(_signature)),
    Rule("plain-statements", "only what kernels are made of: no imports, classes, lambdas", "fail", on(_plain)),
    *_FORBIDDING,
    Rule("unknown-call", "only Triton's operations and what was called before is called", "fail", on(_calls)),
    Rule("unknown-name", "every name is given in the text, in the file or by Triton", "fail", on(_names)),
    Rule("string-literal", "no new strings but options of operations", "fail", on(_strings)),
    Rule("lowered-precision", "nothing is computed in fewer bits than before", "fail", on(_lowered)),
    Rule("narrowed-index", "integers that became narrower are looked at by the proof", "flag", on(_narrowed)),
    Rule(
        "barrier-removed",
        "barriers that are gone are looked at by the proof",
        "flag",
        on(_gone("debug_barrier", "is gone")),
    ),
    Rule(
        "atomic-removed",
        "atomic operations that are gone are looked at by the proof",
        "flag",
        on(_gone("atomic_", "is gone")),
    ),
    Rule("endless-loop", "every new loop can end, none waits", "fail", on(effects.endless)),
    Rule("unreachable", "no code is put out of reach", "fail", on(effects.dead)),
    Rule("recursion", "no function begins to call itself", "fail", on(effects.recursion)),
    Rule("lost-output", "what the function wrote it still writes", "fail", on(effects.outputs)),
    Rule(
        "unused-input", "parameters that are not used any more are looked at by the proof", "flag", on(effects.inputs)
    ),
    Rule("unmasked", "loads and stores that lost their masks are looked at by the proof", "flag", on(effects.unmasked)),
    Rule("placeholder", "nothing stands for code that is left out", "fail", on(_placeholders)),
    *(_SHARED[name] for name in ("no-citation", "malformed-citation", "invented-citation")),
)
