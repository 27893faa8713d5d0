"""Functions of a CUDA file: from the syntax tree, and by counting brackets where the tree has an error.

Only what is outside function bodies is walked, so the cost is that of the file's outline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from optimas_lsp.source.code_bytes import CodeBytes
from optimas_lsp.source.cuda_scan import quiet, scan_kernel, template_head
from optimas_lsp.source.functions import Function, Kind, Parameter

MOST_SCANNED = 200
"""At most this many kernels of a file are looked for by counting brackets."""

_OUTLINE = frozenset(
    {"translation_unit", "linkage_specification", "declaration_list", "field_declaration_list", "ERROR"}
    | {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "friend_declaration"}
    | {"declaration", "field_declaration", "type_definition"}
)
_CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier"})
_SILENT_NODES = frozenset({"comment", "string_content", "raw_string_content", "preproc_arg", "string_literal"})
_DECLARATIONS = frozenset({"declaration", "field_declaration", "template_instantiation"})
_GLOBAL, _DEVICE = re.compile(rb"\b__global__\b"), re.compile(rb"\b__device__\b")
_WORD = re.compile(rb"\w+")
_LONE_MACROS = re.compile(rb"(?:[A-Z][A-Z0-9_]*[ \t]*\r?\n\s*)+")
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Scope:
    names: tuple[str, ...] = ()
    template: Node | None = None


@dataclass(frozen=True, slots=True)
class _Macros:
    """Names of this file's macros that stand for a function's kind, without and with arguments."""

    plain: dict[bytes, Kind]
    called: dict[bytes, Kind]


def cuda_functions(code: CodeBytes, root: Node | None) -> tuple[Function, ...]:
    """Every function definition, in the order of the text; kernels alone when there is no tree."""
    macros = _macros(code.data)
    found = (
        [] if root is None else [f for node, scope in _walk(code, root) if (f := _function(code, node, scope, macros))]
    )
    marks = [match.start() for match in _GLOBAL.finditer(code.data)]
    known = {match for function in found for match in _marks(code.data, function)}
    open_marks = [mark for mark in marks if mark not in known]
    if root is not None:
        open_marks = [mark for mark in open_marks if not _explained(root, mark)]
    if open_marks:
        silent = quiet(code.data)
        for mark in open_marks[:MOST_SCANNED]:
            scanned = scan_kernel(code, silent, mark) if silent[mark : mark + 10] == b"__global__" else None
            if scanned is not None:
                seen = next((k for k, function in enumerate(found) if function.name_span == scanned.name_span), None)
                found.append(scanned if seen is None else replace(found.pop(seen), kind="kernel"))
    return tuple(sorted(found, key=lambda function: (function.extent.start, function.name_span.start)))


def _marks(data: bytes, function: Function) -> list[int]:
    return [match.start() for match in _GLOBAL.finditer(data, function.extent.start, function.name_span.start)]


def _macros(data: bytes) -> _Macros:
    macros = _Macros({}, {})
    for match in _MACRO.finditer(data):
        kind = _kind(match.group(3))
        if kind != "host":
            (macros.called if match.group(2) else macros.plain)[match.group(1)] = kind
    return macros


def _kind(head: bytes, macros: Mapping[bytes, Kind] | None = None) -> Kind:
    """What the words before a function's name make it; ``macros`` say what a file's own words stand for."""
    if _GLOBAL.search(head):
        return "kernel"
    if _DEVICE.search(head):
        return "device"
    for word in _WORD.finditer(head) if macros else ():
        if macros and word.group() in macros:
            return macros[word.group()]
    return "host"


def _walk(code: CodeBytes, root: Node) -> Iterator[tuple[Node, _Scope]]:
    waiting: list[tuple[Node, _Scope]] = [(root, _Scope())]
    while waiting:
        node, scope = waiting.pop()
        kind = node.type
        if kind == "function_definition":
            yield node, scope
        elif kind == "namespace_definition":
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if body is not None:
                waiting.append((body, _Scope(scope.names + _namespace(code, name))))
        elif kind in _CLASSES:
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if body is not None:
                own = () if name is None else (code.text(name).split("<")[0].split("::")[-1].strip(),)
                waiting.append((body, _Scope(scope.names + own)))
        elif kind == "template_declaration":
            outer = scope.template or node
            waiting += [(child, _Scope(scope.names, outer)) for child in reversed(node.named_children)]
        elif kind in _OUTLINE:
            waiting += [(child, _Scope(scope.names)) for child in reversed(node.named_children)]


def _namespace(code: CodeBytes, name: Node | None) -> tuple[str, ...]:
    return ("",) if name is None else tuple(part.strip() for part in code.text(name).split("::"))


def _function(code: CodeBytes, node: Node, scope: _Scope, macros: _Macros) -> Function | None:
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        named = declarator.named_children
        declarator = inner or (named[-1] if declarator.type == "reference_declarator" and named else None)
    if body is None or declarator is None:
        return None
    name = declarator.child_by_field_name("declarator")
    head = code.data[node.start_byte : declarator.start_byte]
    kind = _kind(head, macros.plain)
    if name is not None and name.type == "function_declarator":
        macro = name.child_by_field_name("declarator")
        kind = macros.called.get(b"" if macro is None else code.data[macro.start_byte : macro.end_byte], kind)
        arguments = name.child_by_field_name("parameters")
        name = arguments.named_children[0] if arguments is not None and arguments.named_child_count == 1 else name
    if name is None:
        return None
    parts, last, specialization = _named(code, name)
    start = scope.template.start_byte if scope.template is not None else node.start_byte
    template = scope.template is not None
    if scope.template is None:
        before = template_head(code.data, start)
        alone = _LONE_MACROS.match(code.data, start, declarator.start_byte)
        start = before if before is not None else alone.end() if alone else start
        template = before is not None
    listed = declarator.child_by_field_name("parameters")
    return Function(
        name=parts[-1],
        qualified=(*scope.names, *parts),
        kind=kind,
        extent=code.span(start, node.end_byte),
        name_span=code.span(last.start_byte, last.end_byte),
        body=code.span(body.start_byte, body.end_byte),
        parameters=() if listed is None else _parameters(code, listed),
        template=template and specialization is None,
        specialization=specialization,
    )


def _named(code: CodeBytes, name: Node) -> tuple[tuple[str, ...], Node, str | None]:
    """Parts of a declared name, the node of its last part, and the arguments of an explicit specialization."""
    parts: list[str] = []
    while name.type == "qualified_identifier":
        scope = name.child_by_field_name("scope")
        if scope is not None:
            parts.append(code.text(scope).split("<")[0].strip())
        inner = name.child_by_field_name("name")
        if inner is None:
            break
        name = inner
    specialization = None
    if name.type in {"template_function", "template_method"}:
        arguments = name.child_by_field_name("arguments")
        specialization = None if arguments is None else code.text(arguments)[1:-1]
        name = name.child_by_field_name("name") or name
    return (*parts, code.text(name).strip()), name, specialization


def _parameters(code: CodeBytes, listed: Node) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    for child in listed.children:
        if child.type.endswith("parameter_declaration"):
            text = " ".join(code.text(child).split())
            found.append(
                Parameter(text, child.type.startswith("optional"), child.type.startswith("variadic") or "..." in text)
            )
        elif child.type == "...":
            found.append(Parameter("...", variadic=True))
    return () if [parameter.text for parameter in found] == ["void"] else tuple(found)


def _explained(root: Node, mark: int) -> bool:
    """Whether ``__global__`` at byte ``mark`` is no definition: in a comment, a literal, a macro or a declaration."""
    node = root.descendant_for_byte_range(mark, mark + 10)
    while node is not None:
        if node.type in _SILENT_NODES or node.type.startswith("preproc_def") or node.type == "preproc_function_def":
            return True
        if node.type in _DECLARATIONS and not node.has_error:
            return True
        if node.type in {"function_definition", "compound_statement", "ERROR"}:
            return False
        node = node.parent
    return False
