"""How a rule looks at a rewritten Triton kernel: both versions parsed once, findings at lines of the new one."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Callable, Iterator

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, each
from optimas_lsp.rewrite.guard.triton_code import TritonCode, aliases_of

Look = Callable[[Rewrite, TritonCode, TritonCode, Case], Iterator[Finding]]
"""What a rule does with a rewrite, its old code, its new code and the whole case."""


@functools.lru_cache(maxsize=64)
def _codes(before: str, after: str, file: str) -> tuple[TritonCode, TritonCode]:
    aliases = aliases_of(file)
    return TritonCode(textwrap.dedent(before), aliases), TritonCode(textwrap.dedent(after), aliases)


def on(look: Look) -> Callable[[Case], Iterator[Finding]]:
    """A check of the whole case from one that looks at one rewritten kernel."""

    def check(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
        before, after = _codes(rewrite.before.text, rewrite.after.text, case.syntax.text.text)
        yield from look(rewrite, before, after, case)

    return each(check)


def found_at(rewrite: Rewrite, node: ast.AST, message: str) -> Finding:
    """A finding on the line of a node."""
    return rewrite.found(getattr(node, "lineno", 0), message)


def main_of(rewrite: Rewrite, code: TritonCode) -> ast.FunctionDef | None:
    """The kernel's own definition in a text."""
    return next((function for function in code.functions if function.name == rewrite.function.name), None)
