"""What the rest of the program knows about one function of a source file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.source.code_bytes import Span

Kind = Literal["kernel", "device", "host"]
"""``kernel``: launched from the host (``__global__``, a Triton kernel). ``device``: called on the GPU only."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its whole text, whether it may be left out, and whether it stands for any number."""

    text: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function definition.

    ``qualified`` runs from the outermost namespace or class to the name; an anonymous namespace is an empty string.
    ``extent`` is the whole definition with template heads and decorators, ``heading`` its part before the body.
    ``template`` tells whether it has template parameters; ``specialization`` holds the arguments of an explicit one.
    ``certain`` is False where the parser failed and only names and braces were counted.
    """

    name: str
    qualified: tuple[str, ...]
    kind: Kind
    extent: Span
    name_span: Span
    body: Span
    parameters: tuple[Parameter, ...] = ()
    template: bool = False
    specialization: str | None = None
    certain: bool = True

    @property
    def shown_name(self) -> str:
        """The name with its namespaces and classes, as a person would write it."""
        return "::".join(part or "(anonymous)" for part in self.qualified)

    @property
    def first_line(self) -> int:
        """1-based, of the whole definition."""
        return self.extent.first.line

    @property
    def last_line(self) -> int:
        """1-based, of the closing brace or the last statement."""
        return self.extent.last.line

    def holds(self, line: int) -> bool:
        """Whether ``line`` (1-based) is part of the definition."""
        return self.first_line <= line <= self.last_line

    def takes(self, count: int) -> bool:
        """Whether it may be called with, or instantiated for, ``count`` parameters."""
        variadic = any(parameter.variadic for parameter in self.parameters)
        needed = sum(not (parameter.optional or parameter.variadic) for parameter in self.parameters)
        return needed <= count if variadic else needed <= count <= len(self.parameters)


def function_at(functions: Sequence[Function], line: int) -> Function | None:
    """The innermost function that holds ``line`` (1-based)."""
    holding = [function for function in functions if function.holds(line)]
    return min(holding, key=lambda function: function.extent.end - function.extent.start, default=None)


def kernels(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Those that the host launches."""
    return tuple(function for function in functions if function.kind == "kernel")
