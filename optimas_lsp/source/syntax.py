"""What a CUDA or Triton source file is made of: functions, statements, calls and launches, by tree-sitter.

A parse of a changed text reuses the previous tree, so a keystroke costs a few milliseconds; a file too large or too
broken for the parser still yields its kernels. Lines are 1-based, columns count code points.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Literal

import tree_sitter
import tree_sitter_cuda
import tree_sitter_python
from tree_sitter import Node, Parser, Point, Query, QueryCursor, Tree

from optimas_lsp.source.code_bytes import CodeBytes, Span, difference
from optimas_lsp.source.cuda_functions import cuda_functions
from optimas_lsp.source.functions import Function, function_at, kernels
from optimas_lsp.source.kernel_names import match_kernel
from optimas_lsp.source.python_functions import python_functions
from optimas_lsp.source.text import SourceText

__all__ = ["Call", "Function", "Language", "Syntax", "SyntaxCache", "function_at", "kernels", "language_of", "parse"]

Language = Literal["cuda", "python"]

LARGEST = 8 * 1024 * 1024
"""Texts of more bytes are not parsed; their kernels are found by counting brackets."""

SECONDS = 2.0
"""A parse that takes longer is given up."""

CHUNK = 64 * 1024
"""Bytes handed to the parser at a time."""

_PYTHON = frozenset({".py", ".pyi"})
_CUDA = frozenset(
    (".cu", ".cuh", ".hip", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".tpp", ".ipp")
)
_HOLDERS = frozenset(
    {"compound_statement", "translation_unit", "declaration_list", "field_declaration_list", "module", "block"}
    | {
        "case_statement",
        "preproc_if",
        "preproc_ifdef",
        "preproc_else",
        "preproc_elif",
        "ERROR",
        "linkage_specification",
    }
    | {"decorated_definition", "template_declaration"}
)
_BODIES = ("body", "consequence", "alternative")
_CALLS: dict[Language, str] = {"cuda": "(call_expression) @call", "python": "(call) @call"}
_LAUNCHES: dict[Language, str] = {
    "cuda": "(call_expression (kernel_call_syntax)) @call",
    "python": "(call function: (subscript)) @call",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call or kernel launch: the callee as written without template arguments, and where it all stands."""

    callee: str
    span: Span
    launch: bool


@functools.cache
def _language(language: Language) -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_cuda.language() if language == "cuda" else tree_sitter_python.language())


@functools.cache
def _query(language: Language, text: str) -> Query:
    return Query(_language(language), text)


def language_of(path: PurePath | str) -> Language | None:
    """By the file's suffix; None for files that hold no GPU code."""
    suffix = PurePath(path).suffix.lower()
    return "cuda" if suffix in _CUDA else "python" if suffix in _PYTHON else None


@dataclass(frozen=True, eq=False)
class Syntax:
    """One parsed text. ``tree`` is None when the parser gave up; then only ``functions`` of CUDA files are known."""

    text: SourceText
    language: Language
    code: CodeBytes
    tree: Tree | None

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function definition, in the order of the text."""
        root = None if self.tree is None else self.tree.root_node
        if self.language == "cuda":
            return cuda_functions(self.code, root)
        return () if root is None else python_functions(self.code, root)

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that the host launches."""
        return kernels(self.functions)

    def kernel(self, demangled: str, mangled: str = "", hint_lines: tuple[int, ...] = ()) -> Function | None:
        """The definition of a profiled kernel; see ``kernel_names.match_kernel``."""
        return match_kernel(self.functions, demangled, mangled, hint_lines)

    def function_at(self, line: int) -> Function | None:
        """The innermost function that holds ``line``."""
        return function_at(self.functions, line)

    def extent(self, line: int) -> tuple[int, int]:
        """First and last column (exclusive) of the code on ``line``: no indentation, no comments around it.

        A line of comment alone counts whole, a blank one is (0, 0). Raises IndexError outside the text.
        """
        content = self.text.line(line)
        first, last = len(content) - len(content.lstrip()), len(content.rstrip())
        if first >= last:
            return 0, 0
        if self.tree is None:
            return first, last
        line_start, line_end = self.code.line_bytes(line)
        data = self.code.data[line_start:line_end]
        start = line_start + len(data) - len(data.lstrip())
        end = line_start + len(data.rstrip())
        begin, stop = self._without_comments(start, end)
        if begin >= stop:
            begin, stop = start, end
        return self.code.place(begin).column, self.code.place(stop).column

    def _without_comments(self, start: int, end: int) -> tuple[int, int]:
        while start < end:
            node = self._leaf(end - 1)
            if node is None or node.type != "comment":
                break
            end = start + len(self.code.data[start : max(start, node.start_byte)].rstrip())
        while start < end:
            node = self._leaf(start)
            if node is None or node.type != "comment":
                break
            following = self.code.data[min(node.end_byte, end) : end]
            start = end - len(following.lstrip())
        return start, end

    def _leaf(self, offset: int) -> Node | None:
        return None if self.tree is None else self.tree.root_node.descendant_for_byte_range(offset, offset + 1)

    def statement(self, line: int) -> tuple[int, int]:
        """First and last line of the statement that ``line`` is part of.

        Of a loop, branch or function it is the heading; of a lone brace, a blank line or a comment the line itself.
        """
        content = self.text.line(line)
        if self.tree is None or not content.strip():
            return line, line
        start, end = self.code.line_bytes(line)
        data = self.code.data[start:end]
        code = data.lstrip(b" \t\f\v}") or data.lstrip()
        node = self._leaf(start + len(data) - len(code))
        if node is None or node.type == "comment" or node.type in _HOLDERS or node.type in {"{", "}"}:
            return line, line
        while (parent := node.parent) is not None and parent.type not in _HOLDERS:
            if any(parent.child_by_field_name(field) == node for field in _BODIES):
                break
            if parent.type == "else_clause" and node.is_named:
                break
            node = parent
        stop = self._heading_end(node)
        first, last = self.code.place(node.start_byte).line, self.code.place(stop).line
        return (first, last) if first <= line <= last else (line, line)

    def _heading_end(self, node: Node) -> int:
        if node.type == "else_clause" and node.named_children and node.child_by_field_name("body") is None:
            inner = node.named_children[-1]
            bodies = [] if inner.type == "if_statement" else [inner]
            node_end = self._heading_end(inner) + 1
        else:
            bodies = [body for field in _BODIES if (body := node.child_by_field_name(field)) is not None]
            node_end = node.end_byte
        end = min((body.start_byte for body in bodies), default=node_end)
        return node.start_byte + max(0, len(self.code.data[node.start_byte : end].rstrip()) - 1)

    def calls(self, first: int, last: int | None = None) -> tuple[Call, ...]:
        """Calls and launches that touch lines ``first`` to ``last`` (``first`` alone by default), outermost first."""
        start, _ = self.code.line_bytes(first)
        _, end = self.code.line_bytes(last or first)
        return self._captured(_CALLS[self.language], start, end)

    @cached_property
    def launches(self) -> tuple[Call, ...]:
        """Every kernel launch: ``kernel<<<…>>>(…)``, ``kernel[grid](…)``."""
        if self.language == "cuda" and b"<<<" not in self.code.data:
            return ()
        return self._captured(_LAUNCHES[self.language], 0, len(self.code.data))

    def _captured(self, query: str, start: int, end: int) -> tuple[Call, ...]:
        if self.tree is None:
            return ()
        cursor = QueryCursor(_query(self.language, query))
        cursor.set_byte_range(start, max(start + 1, end))
        nodes = cursor.captures(self.tree.root_node).get("call", [])
        return tuple(self._call(node) for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)))

    def _call(self, node: Node) -> Call:
        callee = node.child_by_field_name("function")
        launch = any(child.type == "kernel_call_syntax" for child in node.children)
        if callee is not None and callee.type == "subscript":
            launch, callee = True, callee.child_by_field_name("value")
        if callee is not None and callee.type == "template_function":
            callee = callee.child_by_field_name("name")
        name = "" if callee is None else self.code.text(callee).split("<")[0]
        return Call(name, self.code.span(node.start_byte, node.end_byte), launch)


def parse(text: SourceText, language: Language, previous: Syntax | None = None) -> Syntax:
    """Parse ``text``, reusing what ``previous`` (of an earlier state of the same file) has in common with it.

    Never fails: ``Syntax.tree`` is None where the text is over ``LARGEST`` or the parser took over ``SECONDS``.
    """
    code = CodeBytes.of(text)
    if len(code.data) > LARGEST:
        return Syntax(text, language, code, None)
    old: Tree | None = None
    if previous is not None and previous.tree is not None and previous.language == language:
        start, old_end, new_end = difference(previous.code.data, code.data)
        old = previous.tree.copy()
        old.edit(start, old_end, new_end, _point(code, start), _point(previous.code, old_end), _point(code, new_end))
    return Syntax(text, language, code, _parsed(code.data, language, old))


def _parsed(data: bytes, language: Language, old: Tree | None) -> Tree | None:
    deadline = time.monotonic() + SECONDS

    def read(offset: int, _: Point) -> bytes:
        return data[offset : offset + CHUNK]

    def late(_offset: int, _broken: bool) -> bool:
        return time.monotonic() > deadline

    parser = Parser(_language(language))
    try:
        if old is None:
            return parser.parse(read, progress_callback=late)
        return parser.parse(read, old, progress_callback=late)
    except ValueError:  # how the binding says that it was told to stop
        return None


def _point(code: CodeBytes, offset: int) -> Point:
    row = code.row(offset)
    return Point(row, offset - code.starts[row])


class SyntaxCache:
    """The last parse of each of a bounded number of files, by any hashable key. Not for concurrent use."""

    def __init__(self, limit: int = 32) -> None:
        self._limit = limit
        self._known: OrderedDict[object, Syntax] = OrderedDict()

    def get(self, key: object, text: SourceText, language: Language) -> Syntax:
        """The syntax of ``text``: as known if the text is the same, else parsed anew from what was known."""
        known = self._known.get(key)
        if known is None or known.language != language or known.text is not text:
            same = known is not None and known.language == language and known.text.text == text.text
            self._known[key] = known if same and known is not None else parse(text, language, known)
        self._known.move_to_end(key)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)
        return self._known[key]

    def forget(self, key: object) -> None:
        """The file was closed."""
        self._known.pop(key, None)
