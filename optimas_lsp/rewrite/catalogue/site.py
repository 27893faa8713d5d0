"""One function of a file that a transformation looks at: its syntax, its evidence, its launch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from tree_sitter import Node

from optimas_lsp.insight.evidence import Evidence, KernelAnalysis
from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.apart import Apart, apart
from optimas_lsp.rewrite.catalogue.scope import Scope
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax, parse
from optimas_lsp.source.text import SourceText

_CONSTANT = re.compile(
    r"^[ \t]*(?:static\s+)?(?:constexpr|const)\s+(?:static\s+)?(?:unsigned\s+)?(?:int|size_t|unsigned|long long)"
    r"\s+(\w+)\s*=\s*([^;{}]+);",
    re.MULTILINE,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(\d+)\)?[ \t]*(?://.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Cited:
    """Evidence with the lines of this file that it speaks of; none for what is said of the whole kernel."""

    evidence: Evidence
    lines: frozenset[int]


@dataclass(frozen=True, eq=False)
class Site:
    """A function, ready to be looked at. ``headers`` are the texts of the project's headers that the file includes."""

    syntax: Syntax
    function: Function
    kernel: KernelAnalysis
    cited: tuple[Cited, ...]
    headers: tuple[str, ...] = ()
    capability: int | None = None
    allow: frozenset[str] = frozenset()
    before: Mapping[int, int] = field(default_factory=dict[int, int])
    """Lines of the profiled file by the lines that they became, where earlier changes of a combination moved them."""

    @cached_property
    def node(self) -> Node:
        """The definition in the syntax tree; raises KeyError where the parser found none."""
        tree = self.syntax.tree
        found = (
            None
            if tree is None
            else tree.root_node.descendant_for_byte_range(self.function.body.start, self.function.body.end)
        )
        while found is not None and found.type != "function_definition":
            found = found.parent
        if found is None or found.has_error:
            raise KeyError(f"'{self.function.shown_name}' does not parse")
        return found

    @cached_property
    def scope(self) -> Scope:
        """Names and effects in the function."""
        return Scope(self.syntax.code, self.node, self.constants, self.devices, self.outer_names)

    @cached_property
    def outer_names(self) -> frozenset[str]:
        """Every word of the file and its headers that stands outside of function bodies."""
        data = self.syntax.code.data
        parts: list[bytes] = []
        at = 0
        for function in sorted(self.syntax.functions, key=lambda each: each.body.start):
            if function.body.start >= at:
                parts.append(data[at : function.body.start])
                at = function.body.end
        texts = [b" ".join((*parts, data[at:])).decode("utf-8", "replace"), *self.headers]
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", "\n".join(texts), flags=re.DOTALL)
        return frozenset(re.findall(r"[A-Za-z_]\w*", code))

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """Integer constants of the file and its headers, by name."""
        found: dict[str, int] = {}
        for text in (*self.headers, self.syntax.text.text):
            for match in _DEFINE.finditer(text):
                found[match.group(1)] = int(match.group(2))
            for match in _CONSTANT.finditer(text):
                value = _evaluated(match.group(2), found)
                if value is not None:
                    found[match.group(1)] = value
        return found

    @cached_property
    def devices(self) -> Mapping[str, str]:
        """Texts of the device functions in the file and its headers, by name; overloads are left out."""
        found: dict[str, str] = {}
        twice: set[str] = set()
        texts = [self.syntax, *(parse(SourceText.of(text), "cuda") for text in self.headers)]
        for syntax in texts:
            for function in syntax.functions:
                if function.kind != "device":
                    continue
                if function.name in found:
                    twice.add(function.name)
                start, end = function.extent.start, function.extent.end
                found[function.name] = syntax.code.data[start:end].decode("utf-8", "replace")
        return {name: text for name, text in found.items() if name not in twice}

    @cached_property
    def apart(self) -> Apart:
        """Whether the kernel's pointers never overlap."""
        if self.function.kind != "kernel":
            return Apart(False, f"'{self.function.name}' is not a kernel, so what its pointers reach is not known")
        return apart(self.syntax, self.function)

    @property
    def one_dimensional(self) -> bool:
        """Whether the profiled blocks had only x."""
        return self.kernel.block[1:] == (1, 1)

    def named_line(self, node: Node) -> int:
        """The line to tell a person: of the file as it is, also where an earlier change of a combination moved it."""
        line = self.line(node)
        return self.before[max(known)] if (known := [new for new in self.before if new <= line]) else line

    def line(self, node: Node) -> int:
        """The 1-based line that ``node`` starts on."""
        return self.syntax.code.place(node.start_byte).line

    def lines(self, *nodes: Node) -> tuple[int, int]:
        """First and last line of ``nodes``."""
        last = max(node.end_byte for node in nodes)
        return min(self.line(node) for node in nodes), self.syntax.code.place(last).line

    def separate(self, roots: frozenset[str], written: frozenset[str]) -> str | None:
        """Why memory written through ``written`` may be what ``roots`` reach; None if it cannot be."""
        for root in roots:
            for other in written:
                why = self._overlap(root, other)
                if why is not None:
                    return why
        return None

    def _overlap(self, one: str, other: str) -> str | None:
        if one == other:
            return f"'{one}' is both read and written there"
        first, second = self.scope.one(one), self.scope.one(other)
        for each in (first, second):
            if each is not None and each.pointer and not self.scope.steady(each):
                return f"'{each.name}' is made to point elsewhere"
        if first is None or second is None:
            return f"it is not clear what '{one if first is None else other}' reaches"
        if first.shared != second.shared or (first.shared and second.shared):
            shared, plain = (first, second) if first.shared else (second, first)
            kernel = self.function.kind == "kernel"
            return (
                None
                if (plain.parameter and kernel) or plain.dims or plain.shared
                else f"'{plain.name}' may point to '{shared.name}'"
            )
        if (first.dims and not first.pointer and not first.parameter) or (
            second.dims and not second.pointer and not second.parameter
        ):
            return None
        if first.parameter and second.parameter:
            return None if self.apart.proven else self.apart.why
        return f"'{one}' and '{other}' may reach the same memory"

    def is_global(self, root: str) -> bool:
        """Whether ``root`` is a pointer parameter of the kernel, which the host can only point to global memory."""
        variable = self.scope.one(root)
        if variable is None or not variable.parameter or variable.pointer != 1 or self.function.kind != "kernel":
            return False
        return self.scope.steady(variable)

    def element(self, root: str) -> str | None:
        """The type of what a pointer parameter or array holds, if it is a plain one or a template's."""
        variable = self.scope.one(root)
        if variable is None or variable.pointer > 1:
            return None
        return variable.type

    def device_at_least(self, capability: int) -> bool:
        """Whether the profiled GPU has at least this compute capability (ten times the version)."""
        return self.capability is not None and self.capability >= capability


def _evaluated(text: str, known: Mapping[str, int]) -> int | None:
    words = re.findall(r"[A-Za-z_]\w*|\d+|[-+*()]|<<|\S", text)
    total: list[str] = []
    for word in words:
        number = types.literal(word)
        if number is not None:
            total.append(str(number[0]))
        elif word in known:
            total.append(str(known[word]))
        elif word in {"*"}:
            total.append(word)
        else:
            return None
    value = 1
    for at, word in enumerate(total):
        if (at % 2 == 0) != word.isdigit():
            return None
        if word.isdigit():
            value *= int(word)
    return value if total else None


def cited(
    kernel: KernelAnalysis, path: PurePath, moved: Mapping[int, frozenset[int]] | None = None
) -> tuple[Cited, ...]:
    """The kernel's evidence with the lines of the file called like ``path`` that each item touches.

    ``moved`` maps lines of the profiled text to lines of a text that was changed since.
    """
    found: list[Cited] = []
    for evidence in kernel.evidence:
        places = [evidence.location, evidence.shown, *evidence.inlined_at, *evidence.waits]
        lines = {
            place.line
            for place in places
            if place is not None and place.line and PurePath(place.file).name == path.name
        }
        for cause in evidence.causes or ():
            if PurePath(cause.file).name == path.name and cause.line and cause.share >= 0.05:
                lines.add(cause.line)
        if moved is not None:
            lines = {new for line in lines for new in moved.get(line, ())}
        found.append(Cited(evidence, frozenset(lines)))
    return tuple(found)


def functions_of(syntax: Syntax, kernel: KernelAnalysis, path: PurePath) -> Sequence[Function]:
    """The functions of a file that a kernel's evidence concerns: itself and those inlined into it or called."""
    hints = tuple(line for each in cited(kernel, path) for line in each.lines)
    own = syntax.kernel(kernel.name, kernel.mangled, hints)
    found = [] if own is None else [own]
    for line in sorted(set(hints)):
        function = syntax.function_at(line)
        if function is not None and function.kind == "device" and function not in found:
            found.append(function)
    return found
