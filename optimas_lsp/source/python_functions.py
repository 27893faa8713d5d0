"""Functions of a Python file that holds GPU kernels: which ``@triton.jit`` functions are kernels, which are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from optimas_lsp.source.code_bytes import CodeBytes
from optimas_lsp.source.functions import Function, Kind, Parameter

_OUTLINE = frozenset(
    {"module", "block", "if_statement", "else_clause", "elif_clause", "try_statement", "except_clause", "ERROR"}
    | {"finally_clause", "with_statement", "for_statement", "while_statement"}
)
_ROOTS = frozenset({"triton", "gluon", "numba", "cuda"})
_IMPORTED = re.compile(rb"^[ \t]*(?:from[ \t]+triton[\w.]*[ \t]+import\b|import[ \t]+triton\b)", re.MULTILINE)


def python_functions(code: CodeBytes, root: Node) -> tuple[Function, ...]:
    """Every function definition, in the order of the text.

    A jitted function is a kernel unless this file only ever calls it from another jitted function.
    """
    triton = bool(_IMPORTED.search(code.data))
    found: list[Function] = []
    for node, decorated, scope in _walk(code, root):
        function = _function(code, node, decorated, scope, triton=triton)
        if function is not None:
            found.append(function)
    bodies = [code.data[function.body.start : function.body.end] for function in found if function.kind == "kernel"]
    return tuple(_called(function, code.data, bodies) for function in found)


def _called(function: Function, data: bytes, bodies: list[bytes]) -> Function:
    if function.kind != "kernel":
        return function
    name = re.escape(function.name.encode("utf-8", "surrogatepass"))
    launched = re.search(rb"\b" + name + rb"\s*(?:\.warmup\s*\(|\[)", data)
    called = re.compile(rb"(?<![\w.])" + name + rb"\s*\(")
    return replace(function, kind="device") if not launched and any(map(called.search, bodies)) else function


def _walk(code: CodeBytes, root: Node) -> Iterator[tuple[Node, Node | None, tuple[str, ...]]]:
    waiting: list[tuple[Node, Node | None, tuple[str, ...]]] = [(root, None, ())]
    while waiting:
        node, decorated, scope = waiting.pop()
        if node.type in _OUTLINE:
            waiting += [(child, None, scope) for child in reversed(node.named_children)]
        elif node.type == "decorated_definition":
            inner = node.child_by_field_name("definition")
            if inner is not None:
                waiting.append((inner, node, scope))
        elif node.type in {"function_definition", "class_definition"}:
            if node.type == "function_definition":
                yield node, decorated, scope
            name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
            if name is not None and body is not None:
                waiting.append((body, None, (*scope, code.text(name))))


def _function(
    code: CodeBytes, node: Node, decorated: Node | None, scope: tuple[str, ...], *, triton: bool
) -> Function | None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    listed = node.child_by_field_name("parameters")
    if name is None or body is None:
        return None
    kind: Kind = "host"
    for decorator in decorated.named_children if decorated is not None else ():
        if decorator.type == "decorator" and kind == "host":
            kind = _kind(code.text(decorator), triton=triton)
    return Function(
        name=code.text(name),
        qualified=(*scope, code.text(name)),
        kind=kind,
        extent=code.span((decorated or node).start_byte, node.end_byte),
        name_span=code.span(name.start_byte, name.end_byte),
        body=code.span(body.start_byte, body.end_byte),
        parameters=() if listed is None else tuple(_parameter(code, child) for child in listed.named_children),
    )


def _kind(decorator: str, *, triton: bool) -> Kind:
    """The kind a decorator gives: ``@triton.jit``, ``@jit`` in a file that imports triton, ``@cuda.jit(…)``."""
    dotted = re.match(r"@\s*([\w.]+)", decorator)
    parts = dotted.group(1).split(".") if dotted else [""]
    if parts[-1] != "jit" or parts == ["numba", "jit"]:
        return "host"
    if "device=True" in decorator.replace(" ", ""):
        return "device"
    return "kernel" if parts[0] in _ROOTS or (triton and (len(parts) == 1 or parts[0] in {"tr", "gl"})) else "host"


def _parameter(code: CodeBytes, node: Node) -> Parameter:
    variadic = "splat" in node.type or node.type == "*"
    return Parameter(" ".join(code.text(node).split()), optional="default" in node.type, variadic=variadic)
