"""One version of a function's text, as tokens and as a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.segments import Segment, segments
from optimas_lsp.rewrite.guard.tokens import Token, code_of, lex
from optimas_lsp.source.syntax import Syntax, parse
from optimas_lsp.source.text import SourceText

_MASKED = re.compile(
    r"\b(?:__align__|__cluster_dims__|__maxnreg__|__block_size__|_Pragma|__builtin_align__)\s*\((?:[^()]|\([^()]*\))*\)"
    r"|(?<=\])\s*__device__\b|^[ \t]*#[ \t]*pragma\b[^\n]*",
    re.MULTILINE,
)
_ARRAY_REFERENCE = re.compile(r"\b(\w+)\s*\(\s*[*&]\s*(\w+)\s*\)\s*[\[(]")
_NAMES = frozenset({"identifier", "field_identifier", "type_identifier", "namespace_identifier"})
_LISTS = frozenset({"structured_binding_declarator", "reference_declarator", "variadic_declarator"})
_LEADING = frozenset(
    {"type_parameter_declaration", "variadic_type_parameter_declaration", "optional_type_parameter_declaration"}
    | {"lambda_capture_initializer", "labeled_statement"}
)
_NAMING = frozenset(
    {"struct_specifier", "class_specifier", "union_specifier", "enum_specifier", "alias_declaration", "enumerator"}
    | {"namespace_alias_definition", "concept_definition"}
)


def masked(text: str) -> str:
    """``text`` with pragmas and the attributes a C++ grammar does not know blanked out, all else at its place."""
    return _MASKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


@dataclass(frozen=True, eq=False)
class Side:
    """A text. Tokens are exact; the tree is of the masked text and may be missing.

    ``placed`` tells the lines of the changed file on which its lines come to stand, where they come into it.
    """

    text: str
    placed: Callable[[], Sequence[int] | None] | None = None

    @cached_property
    def _lines(self) -> Sequence[int] | None:
        return None if self.placed is None else self.placed()

    def file_line(self, line: int) -> int | None:
        """The line of the changed file that a 1-based line of the text comes to stand on; None: it is not known."""
        return self._lines[line - 1] if self._lines is not None and 1 <= line <= len(self._lines) else None

    def place(self, node: Node) -> int:
        """The line of a node as a person is told it: in the changed file, else in the text itself."""
        return self.file_line(line_of(node)) or line_of(node)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All of them, comments included."""
        return lex(self.text)

    @cached_property
    def code(self) -> tuple[Token, ...]:
        """The tokens without comments."""
        return code_of(self.tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the code, also those in directives."""
        found = {token.text for token in self.code if token.kind == "word"}
        for token in self.code:
            if token.kind == "directive":
                found.update(re.findall(r"[^\W\d]\w*", token.text))
        return frozenset(found)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What the text consists of."""
        return segments(self.code)

    @cached_property
    def syntax(self) -> Syntax:
        """The parsed text."""
        return parse(SourceText.of(masked(self.text)), "cuda")

    @property
    def root(self) -> Node | None:
        """The tree's root."""
        return None if self.syntax.tree is None else self.syntax.tree.root_node

    @cached_property
    def _nodes(self) -> tuple[tuple[str, Node], ...]:
        return () if self.root is None else tuple((node.type, node) for node in within(self.root))

    def nodes(self, *types: str) -> Iterator[Node]:
        """Nodes of these types, or all, in the order of the text."""
        return (node for kind, node in self._nodes if not types or kind in types)

    @cached_property
    def references(self) -> frozenset[str]:
        """Variables that are references."""
        return frozenset(re.findall(r"\w+", " ".join(map(self.source, self.nodes("reference_declarator")))))

    def source(self, node: Node) -> str:
        """The text of a node."""
        return self.syntax.code.text(node)

    def line_text(self, line: int) -> str:
        """The text of a 1-based line, stripped; empty outside."""
        lines = self.text.split("\n")
        return lines[line - 1].strip() if 1 <= line <= len(lines) else ""

    @cached_property
    def declared_in_order(self) -> tuple[str, ...]:
        """Names the text itself declares: variables, parameters, types, aliases, labels, members; as they come."""
        found = dict[str, None]()
        for node in self.nodes():
            for child in declaring(node):
                found |= dict.fromkeys(re.findall(r"\w+", self.source(child)))
        found |= {
            match.group(2): None for match in _ARRAY_REFERENCE.finditer(self.text) if match.group(1) in names().types
        }
        return tuple(name for name in found if name not in names().keywords)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The same as a set."""
        return frozenset(self.declared_in_order)

    @cached_property
    def _characters(self) -> list[int] | None:
        """For each byte of the parsed text the character it belongs to; None where these are the same."""
        if self.text.isascii():
            return None
        counts = (at for at, char in enumerate(self.syntax.text.text) for _ in char.encode("utf-8", "replace"))
        return [*counts, len(self.text)]

    def offset(self, node: Node, end: int) -> int:
        """Offset in characters of a node's start (``end`` 0) or end (1)."""
        place = node.end_byte if end else node.start_byte
        return place if self._characters is None else self._characters[min(place, len(self._characters) - 1)]


def declaring(node: Node) -> Iterator[Node]:
    """The children of ``node`` that are names it declares."""
    kind = node.type
    if kind in _LISTS:
        yield from (child for child in node.named_children if child.type in {"identifier", "reference_declarator"})
    elif kind in _LEADING:
        yield from node.named_children[:1]
    else:
        fields = ("declarator", "name") if kind in _NAMING else ("declarator",)
        for field in fields:
            yield from (child for child in node.children_by_field_name(field) if child.type in _NAMES)


def within(node: Node, *types: str) -> Iterator[Node]:
    """``node`` and everything in it, of these types or of all, in the order of the text. Not recursive."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if not types or each.type in types:
            yield each
        waiting.extend(reversed(each.children))


def line_of(node: Node) -> int:
    """1-based line a node starts on."""
    return node.start_point.row + 1
