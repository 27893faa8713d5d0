"""Which code a prompt shows: the kernel, the device functions it reaches in the workspace, the names they rely on.

Functions are followed by calls and by what was sampled inside the kernel (inlined operators and functors are called by
no name). Only files in the workspace are read: the kernel's own, those it includes in quotes, and profiled ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.rewrite.prompt_files import Unit
from optimas_lsp.rewrite.prompt_marks import Marks
from optimas_lsp.source.functions import Function

LONGEST_DECLARATION = 60
"""Lines; a longer type is left out."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_OUTLINE = frozenset(
    {"translation_unit", "namespace_definition", "declaration_list", "linkage_specification", "module"}
    | {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"}
)
_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})
_NAMES = frozenset({"identifier", "type_identifier", "field_identifier"})


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines ``first`` to ``last`` (1-based, whole lines) of a file; ``function`` where they are its definition."""

    unit: Unit
    first: int
    last: int
    function: Function | None = None


@dataclass(frozen=True, eq=False)
class Reach:
    """What is shown. ``functions`` starts with the kernel; those in the file ``source`` may be changed."""

    source: Unit
    kernel: Function
    functions: tuple[Passage, ...]
    declarations: tuple[Passage, ...]

    @property
    def changeable(self) -> tuple[Function, ...]:
        """The kernel and device functions that the file ``source`` defines."""
        return tuple(each.function for each in self.functions if each.unit is self.source and each.function)


def reach(home: Unit, kernel: Function, analysis: KernelAnalysis, marks: Marks, *, source: Unit | None = None) -> Reach:
    """The code that ``kernel``, defined in ``home``, is made of; ``source`` is the file to change (None: ``home``)."""
    sampled = list(_sampled(analysis, marks))
    units = _units(home, [unit for unit, _ in sampled], marks)
    functions = [Passage(home, kernel.first_line, kernel.last_line, kernel)]
    seen = {(home.path, kernel.extent.start)}
    waiting = [functions[0]]
    while waiting:
        passage = waiting.pop(0)
        found = list(_called(passage, units))
        if not waiting:
            found += sampled
            sampled = []
        for unit, function in found:
            if (unit.path, function.extent.start) not in seen:
                seen.add((unit.path, function.extent.start))
                functions.append(Passage(unit, function.first_line, function.last_line, function))
                waiting.append(functions[-1])
    return Reach(source or home, kernel, tuple(functions), tuple(_declarations(functions, units)))


def _units(home: Unit, sampled: Iterable[Unit], marks: Marks) -> list[Unit]:
    """The kernel's file, those it includes, directly or not, and those it was sampled in."""
    units = list(dict.fromkeys([home, *sampled]))
    for unit in units:
        units += [each for each in marks.files.included(unit) if each not in units]
    return units


def _called(passage: Passage, units: Sequence[Unit]) -> Iterator[tuple[Unit, Function]]:
    for call in passage.unit.syntax.calls(passage.first, passage.last):
        path = tuple(part for part in re.split(r"::|\.|->", "".join(call.callee.split())) if part)
        if not path:
            continue
        named = [(u, f) for u in units for f in u.syntax.functions if f.kind == "device" and f.name == path[-1]]
        exact = [(u, f) for u, f in named if tuple(part for part in f.qualified if part)[-len(path) :] == path]
        yield from exact or named


def _sampled(analysis: KernelAnalysis, marks: Marks) -> Iterator[tuple[Unit, Function]]:
    """Device functions in which the kernel was sampled."""
    for line in analysis.lines:
        for location in (line.location, *line.inlined_at):
            found = marks.today(location)
            function = found.unit.syntax.function_at(found.line) if found is not None and found.line else None
            if found is not None and function is not None and function.kind == "device":
                yield found.unit, function


def _declarations(functions: Sequence[Passage], units: Sequence[Unit]) -> Iterator[Passage]:
    """Types, constants and macros that the functions' text names, and those that these name in turn."""
    known = [(unit, node, names) for unit in units for node, names in _outline(unit)]
    words: set[str] = set()
    for passage in functions:
        words |= _words(passage.unit, passage.first, passage.last)
    taken: set[int] = set()
    grown = True
    while grown:
        grown = False
        for at, (unit, node, names) in enumerate(known):
            if at in taken or not names & words:
                continue
            first, last = unit.syntax.code.place(node.start_byte).line, unit.syntax.code.place(node.end_byte).line
            last -= node.end_byte in unit.syntax.code.starts and last > first
            taken.add(at)
            if last - first < LONGEST_DECLARATION:
                words |= _words(unit, first, last)
                grown = True
                yield Passage(unit, first, last)


def _words(unit: Unit, first: int, last: int) -> set[str]:
    return {word for line in unit.syntax.text.lines[first - 1 : last] for word in _WORD.findall(line)}


def _outline(unit: Unit) -> Iterator[tuple[Node, frozenset[str]]]:
    """Every declaration outside of functions, with the names it gives meaning to."""
    tree = unit.syntax.tree
    waiting = [] if tree is None else [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.type in _OUTLINE:
            waiting += reversed(node.named_children)
            continue
        names = frozenset(_declared(unit, node))
        if names:
            yield node, names


def _declared(unit: Unit, node: Node) -> Iterator[str]:
    text = unit.syntax.code.text
    if node.type in {"preproc_def", "preproc_function_def", "alias_declaration"} | _TYPES:
        name = node.child_by_field_name("name")
        yield from () if name is None else (text(name).split("<")[0],)
        body = node.child_by_field_name("body") if node.type == "enum_specifier" else None
        for each in () if body is None else body.named_children:
            name = each.child_by_field_name("name")
            yield from () if name is None else (text(name),)
    elif node.type == "template_declaration":
        for each in node.named_children:
            yield from _declared(unit, each)
    elif node.type in {"declaration", "type_definition"}:
        kind = node.child_by_field_name("type")
        if kind is not None and kind.type in _TYPES:
            yield from _declared(unit, kind)
        for each in node.children_by_field_name("declarator"):
            yield from _declarator(unit, each)
    elif node.type == "expression_statement":
        for each in node.named_children:
            left = each.child_by_field_name("left") if each.type == "assignment" else None
            yield from () if left is None or left.type != "identifier" else (text(left),)


def _declarator(unit: Unit, node: Node) -> Iterator[str]:
    while node.type not in _NAMES:
        inner = node.child_by_field_name("declarator")
        if node.type == "function_declarator" or inner is None:
            return
        node = inner
    yield unit.syntax.code.text(node)


def ranges(passages: Iterable[Passage]) -> list[tuple[Unit, list[tuple[int, int]]]]:
    """The passages' lines by file, in the order in which files come, joined where nothing but blanks is between."""
    found: dict[Path, tuple[Unit, list[tuple[int, int]]]] = {}
    for passage in passages:
        found.setdefault(passage.unit.path, (passage.unit, []))[1].append((passage.first, passage.last))
    return [(unit, _joined(unit, spans)) for unit, spans in found.values()]


def _joined(unit: Unit, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    lines = unit.syntax.text.lines
    for first, last in sorted(spans):
        if joined and not any(line.strip() for line in lines[joined[-1][1] : first - 1]):
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
