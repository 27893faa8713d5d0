"""The rules for Triton kernels: the same demands as for CUDA, on Python's syntax tree."""

from __future__ import annotations

import ast
import functools
import itertools
import textwrap
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.rules import citations, sameness, scope, size
from optimas_lsp.rewrite.guard.rules.placeholders import stands_for_code
from optimas_lsp.rewrite.guard.triton_code import TritonCode, aliases_of, jitted

Look = Callable[[Rewrite, TritonCode, TritonCode, Case], Iterator[Finding]]

_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Return, ast.Pass)
_OPERATIONS = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Call, ast.IfExp)
_VALUES = (ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Constant, ast.Tuple, ast.List)
_LEAVING = (ast.Return, ast.Break, ast.Continue)


@functools.cache
def _table() -> dict[str, Any]:
    text = (resources.files("optimas_lsp.rewrite.guard") / "triton.toml").read_text("utf-8")
    return tomllib.loads(text)


def _words(name: str) -> frozenset[str]:
    return frozenset(_table()[name]["words"].split())


@functools.lru_cache(maxsize=64)
def _codes(before: str, after: str, file: str) -> tuple[TritonCode, TritonCode]:
    aliases = aliases_of(file)
    return TritonCode(textwrap.dedent(before), aliases), TritonCode(textwrap.dedent(after), aliases)


def _on(look: Look) -> Callable[[Case], Iterator[Finding]]:
    def check(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
        before, after = _codes(rewrite.before.text, rewrite.after.text, case.syntax.text.text)
        yield from look(rewrite, before, after, case)

    return each(check)


def _at(rewrite: Rewrite, node: ast.AST, message: str) -> Finding:
    return rewrite.found(getattr(node, "lineno", 0), message)


def _main(rewrite: Rewrite, code: TritonCode) -> ast.FunctionDef | None:
    return next((function for function in code.functions if function.name == rewrite.function.name), None)


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
            yield _at(rewrite, node, "something stands outside of the function")
        elif node.name != rewrite.function.name and not ("helpers" in case.allow and node.name in devices):
            yield _at(rewrite, node, f"'{node.name}' is a new function; allow 'helpers' to permit jitted ones")


def _signature(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    old, new = _main(rewrite, before), _main(rewrite, after)
    if old is None or new is None:
        return
    if ast.dump(old.args) != ast.dump(new.args):
        yield _at(rewrite, new, f"the parameters were ({ast.unparse(old.args)}) and are ({ast.unparse(new.args)})")
    if _dumps(old.decorator_list) != _dumps(new.decorator_list) or (old.returns is None) != (new.returns is None):
        yield _at(rewrite, new, "the decorators or the return type are not what they were")


def _dumps(nodes: list[ast.expr]) -> list[str]:
    return [ast.dump(node) for node in nodes]


def _plain(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Only statements and expressions that a kernel is made of."""
    had = {type(node) for node in before.nodes()}
    for node in after.nodes():
        good = isinstance(node, (*_STATEMENTS, *_OPERATIONS, *_VALUES, *_LEAVING, ast.FunctionDef))
        if isinstance(node, ast.stmt | ast.expr) and not good and type(node) not in had:
            yield _at(rewrite, node, f"{type(node).__name__.lower()} has no place in a kernel")
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(inner, ast.FunctionDef) for part in node.body for inner in ast.walk(part)
        ):
            yield _at(rewrite, node, "a function is defined inside the function")


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
                yield _at(rewrite, node, f"'{name}' {group['what']}")

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
                yield _at(rewrite, node, "a kernel is launched")
            elif not _may_call(node.func, after, devices):
                yield _at(rewrite, node, f"'{ast.unparse(node.func)[:40]}' is called, and it is not known")


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
            yield _at(rewrite, node, f"'{node.id}' is given neither here nor by Triton")


@functools.lru_cache(maxsize=16)
def _module_names(file: str) -> frozenset[str]:
    return TritonCode(file, {}).assigned


def _strings(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    had = {node.value for node in before.nodes() if isinstance(node, ast.Constant)}
    new = _main(rewrite, after)
    quiet = (
        {id(new.body[0].value)} if new and isinstance(new.body[0], ast.Expr) and ast.get_docstring(new) else set[int]()
    )
    for node in after.nodes():
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes) or id(node) in quiet:
            continue
        if node.value not in had and node.value not in _words("options"):
            yield _at(rewrite, node, f"the string {node.value[:40]!r} is new")


def _lowered(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    for node in after.nodes():
        name = _name(node)
        if name in before.words:
            continue
        if name in _words("narrow") or (name == "float32" and "float64" in before.words):
            yield _at(rewrite, node, f"'{name}' has fewer bits than what the kernel computed with")
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


def _flow(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    """Loops that cannot end, and code that is never reached."""
    had = {ast.dump(node) for node in before.nodes()}
    for node in after.nodes():
        if isinstance(node, ast.While) and ast.dump(node) not in had and isinstance(node.test, ast.Constant):
            inside = [inner for part in node.body for inner in ast.walk(part)]
            if node.test.value and not any(isinstance(inner, ast.Break | ast.Return) for inner in inside):
                yield _at(rewrite, node, "the loop has no end")
        if isinstance(node, ast.While) and all(isinstance(part, ast.Pass) for part in node.body):
            yield _at(rewrite, node, "the loop waits for other programs")


def _dead(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    had = {ast.dump(node) for node in before.nodes()}
    for node in after.nodes():
        if isinstance(node, ast.FunctionDef | ast.For | ast.While | ast.If):
            for part, following in itertools.pairwise(node.body):
                if isinstance(part, _LEAVING):
                    yield _at(rewrite, following, "nothing gets here")
        if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and ast.dump(node) not in had:
            yield _at(rewrite, node, f"the condition {node.test.value} never changes")


def _recursion(rewrite: Rewrite, _b: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    for node in after.nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == rewrite.function.name:
            yield _at(rewrite, node, f"'{rewrite.function.name}' calls itself")


def _acts(code: TritonCode) -> bool:
    """Whether anything is stored, changed atomically or returned."""
    called = [node.func for node in code.nodes() if isinstance(node, ast.Call)]
    writes = ("store", "atomic_", "store_")
    if any(isinstance(func, ast.Attribute) and func.attr.startswith(writes) for func in called):
        return True
    return any(isinstance(node, ast.Return) and node.value is not None for node in code.nodes())


def _outputs(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    if after.module is not None and _acts(before) and not _acts(after):
        yield rewrite.found(1, "the new text stores nothing; the old one did")


def _inputs(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    old, new = _main(rewrite, before), _main(rewrite, after)
    if old is None or new is None:
        return
    used = {node.id for node in ast.walk(new) if isinstance(node, ast.Name)}
    was = {node.id for node in ast.walk(old) if isinstance(node, ast.Name)}
    for argument in old.args.args:
        if argument.arg in was and argument.arg not in used:
            yield _at(rewrite, new, f"the parameter '{argument.arg}' was used and is not any more")


def _placeholders(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    had = {words for _, words, _ in before.comments}
    for line, words, alone in after.comments:
        if words not in had and stands_for_code(words, alone=alone):
            yield rewrite.found(line, f"the comment '{words[:60]}' stands for code that is not there")
    for node in after.nodes():
        if isinstance(node, ast.Constant) and node.value is ...:
            yield _at(rewrite, node, "an ellipsis stands where code belongs")


def _cosmetic(rewrite: Rewrite, before: TritonCode, after: TritonCode, _c: Case) -> Iterator[Finding]:
    if before.module is not None and after.module is not None and _meaning(before) == _meaning(after):
        yield rewrite.found(1, "the new text differs in comments, blanks or names only")


def _meaning(code: TritonCode) -> str:
    """The tree without docstrings, with local names as numbers in order of appearance; parameters keep theirs."""
    module = ast.parse(code.text)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    fixed = {node.arg for node in ast.walk(module) if isinstance(node, ast.arg)}
    numbers: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id in code.assigned - fixed:
            node.id = numbers.setdefault(node.id, f"_{len(numbers)}")
    return ast.dump(module)


_SHARED = {rule.id: rule for rule in (*sameness.RULES, *scope.RULES, *size.RULES, *citations.RULES)}
_FORBIDDING = tuple(
    Rule(rule, f"nothing that {group['what']}", "fail", _on(_forbidden(rule)))
    for rule, group in _table()["forbidden"].items()
)

RULES: tuple[Rule, ...] = (
    _SHARED["empty"],
    Rule("cosmetic", "every new text differs in more than comments, blanks and names", "fail", _on(_cosmetic)),
    *(_SHARED[name] for name in ("known-function", "one-text", "allowed-function", "change-scope")),
    *(_SHARED[name] for name in ("oversize", "too-deep", "too-many")),
    Rule("hidden-characters", "no invisible or look-alike characters, no joined lines", "fail", _on(_hidden)),
    Rule("one-definition", "the new text is exactly the kernel's definition", "fail", _on(_one)),
    Rule("signature", "parameters and decorators stay as they are", "fail", _on(_signature)),
    Rule("plain-statements", "only what kernels are made of: no imports, classes, lambdas", "fail", _on(_plain)),
    *_FORBIDDING,
    Rule("unknown-call", "only Triton's operations and what was called before is called", "fail", _on(_calls)),
    Rule("unknown-name", "every name is given in the text, in the file or by Triton", "fail", _on(_names)),
    Rule("string-literal", "no new strings but options of operations", "fail", _on(_strings)),
    Rule("lowered-precision", "nothing is computed in fewer bits than before", "fail", _on(_lowered)),
    Rule("narrowed-index", "integers that became narrower are looked at by the proof", "flag", _on(_narrowed)),
    Rule(
        "barrier-removed",
        "barriers that are gone are looked at by the proof",
        "flag",
        _on(_gone("debug_barrier", "is gone")),
    ),
    Rule(
        "atomic-removed",
        "atomic operations that are gone are looked at by the proof",
        "flag",
        _on(_gone("atomic_", "is gone")),
    ),
    Rule("endless-loop", "every new loop can end, none waits", "fail", _on(_flow)),
    Rule("unreachable", "no code is put out of reach", "fail", _on(_dead)),
    Rule("recursion", "no function begins to call itself", "fail", _on(_recursion)),
    Rule("lost-output", "what the function wrote it still writes", "fail", _on(_outputs)),
    Rule("unused-input", "parameters that are not used any more are looked at by the proof", "flag", _on(_inputs)),
    Rule("placeholder", "nothing stands for code that is left out", "fail", _on(_placeholders)),
    *(_SHARED[name] for name in ("no-citation", "malformed-citation", "invented-citation")),
)
