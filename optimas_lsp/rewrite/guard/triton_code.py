"""One version of a Triton kernel as Python's own parser reads it; nothing in it is ever evaluated."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False)
class TritonCode:
    """A text. ``module`` is None where it is not valid Python; ``aliases`` are the file's names for what it imports."""

    text: str
    aliases: Mapping[str, str]

    @cached_property
    def module(self) -> ast.Module | None:
        """The parsed text."""
        return parsed(self.text)

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """The functions that the text defines at its outermost level."""
        return [] if self.module is None else [node for node in self.module.body if isinstance(node, ast.FunctionDef)]

    def nodes(self) -> Iterator[ast.AST]:
        """Everything in the text."""
        if self.module is not None:
            yield from ast.walk(self.module)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name, attribute, argument and keyword of the code."""
        found: set[str] = set()
        for node in self.nodes():
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.arg | ast.keyword) and node.arg:
                found.add(node.arg)
        return frozenset(found)

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that the text gives a value: parameters, variables, loop variables."""
        found: set[str] = set()
        for node in self.nodes():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
        return frozenset(found)

    @cached_property
    def comments(self) -> tuple[tuple[int, str, bool], ...]:
        """Line, words and whether it stands alone, of every comment."""
        found: list[tuple[int, str, bool]] = []
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type == tokenize.COMMENT:
                    alone = not token.line[: token.start[1]].strip()
                    found.append((token.start[0], token.string.lstrip("# \t").strip(), alone))
        except (tokenize.TokenError, SyntaxError):
            return tuple(found)
        return tuple(found)

    def path(self, node: ast.expr) -> str:
        """A dotted name with the file's aliases resolved: ``tl.load`` is ``triton.language.load``; else empty."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(node.id if node.id in self.assigned else self.aliases.get(node.id, node.id))
        return ".".join(reversed(parts))


def parsed(text: str) -> ast.Module | None:
    """The text as Python; None where it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(textwrap.dedent(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def aliases_of(text: str) -> dict[str, str]:
    """The names that a file's imports give, and what they stand for."""
    found: dict[str, str] = {}
    for node in TritonCode(text, {}).nodes():
        if isinstance(node, ast.Import):
            for each in node.names:
                found[each.asname or each.name.split(".")[0]] = each.name if each.asname else each.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                found[each.asname or each.name] = f"{node.module}.{each.name}"
    return found


def jitted(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names of a file's functions that run on the GPU, and of those that do not."""
    devices: set[str] = set()
    hosts: set[str] = set()
    for node in TritonCode(text, {}).nodes():
        if isinstance(node, ast.FunctionDef):
            marks = " ".join(ast.unparse(each) for each in node.decorator_list)
            (devices if "jit" in marks else hosts).add(node.name)
    return frozenset(devices), frozenset(hosts)
