"""Where in a text each name that it declares can be seen: a name declared elsewhere excuses nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.guard.side import Side, declaring
from optimas_lsp.rewrite.guard.tokens import Token

_SCOPES = frozenset(
    {"compound_statement", "for_statement", "for_range_loop", "if_statement", "while_statement", "switch_statement"}
    | {"lambda_expression", "function_definition", "field_declaration_list", "template_declaration"}
)
_HEADS = 40
"""Tokens of template arguments that are looked through."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration of a name: offsets of the name and of its scope, in characters.

    ``member``: the scope is a class, in which the order does not matter.
    """

    at: int
    first: int
    last: int
    member: bool = False

    def covers(self, place: int) -> bool:
        """Whether the name means this declaration at the offset ``place``."""
        return self.first <= place < self.last and (self.member or self.at <= place)


def declarations(side: Side, is_type: Callable[[str], bool]) -> Mapping[str, tuple[Declared, ...]]:
    """Every declaration in the text by name.

    ``is_type`` says of a word before ``<`` whether template arguments may follow, for what a parser can take wrong:
    ``Reduce<int> reduce(memory)`` looks like two comparisons.
    """
    found: dict[str, tuple[Declared, ...]] = {}
    for name, one in itertools.chain(_of_tree(side), _of_tokens(side.code, is_type)):
        found[name] = (*found.get(name, ()), one)
    return found


def members(side: Side) -> frozenset[str]:
    """Names that classes of the text give to their members."""
    return frozenset(name for name, one in _of_tree(side) if one.member)


def _of_tree(side: Side) -> Iterator[tuple[str, Declared]]:
    for node in side.nodes():
        for child in declaring(node):
            scope = _scope(child)
            first, last = (0, len(side.text)) if scope is None else (side.offset(scope, 0), side.offset(scope, 1))
            member = scope is not None and scope.type == "field_declaration_list"
            for name in re.findall(r"\w+", side.source(child)):
                yield name, Declared(side.offset(child, 0), first, last, member)


def _scope(node: Node) -> Node | None:
    outer = node.parent
    while outer is not None and outer.type not in _SCOPES:
        outer = outer.parent
    return outer


def _of_tokens(code: Sequence[Token], is_type: Callable[[str], bool]) -> Iterator[tuple[str, Declared]]:
    """``Type<…> name`` and ``type (&name)[…]``, each seen until the brace around it closes."""
    open_: list[int] = []
    waiting: list[tuple[int, str, int, int]] = []
    for at, token in enumerate(code):
        if token.text == "{":
            open_.append(token.start)
        elif token.text == "}":
            for _, name, place, first in [each for each in waiting if each[0] == len(open_)]:
                yield name, Declared(place, first, token.end)
            waiting = [each for each in waiting if each[0] != len(open_)]
            open_ = open_[:-1]
        elif (name := _declared_here(code, at, is_type)) is not None:
            waiting.append((len(open_), name.text, name.start, open_[-1] if open_ else 0))
    end = code[-1].end if code else 0
    for _, name, place, first in waiting:
        yield name, Declared(place, first, end)


def template_heads(code: Sequence[Token]) -> frozenset[str]:
    """Words of a text that stand before template arguments for certain, as in ``Load<float, 128> load;``."""
    joined = " ".join(token.text for token in code)
    return frozenset(re.findall(r"(?<![.\w] )\b([^\W\d]\w*) < [\w:,*& ]+ > (?::: |[^\W\d]\w* [;({=])", joined))


def _declared_here(code: Sequence[Token], at: int, is_type: Callable[[str], bool]) -> Token | None:
    token = code[at]
    if token.kind != "word" or at + 1 >= len(code):
        return None
    member = at > 0 and code[at - 1].text in {".", "->"}
    if code[at + 1].text == "<" and not member and is_type(token.text):
        depth = 0
        for place in range(at + 1, min(at + _HEADS, len(code) - 2)):
            text = code[place].text
            depth += (text == "<") - text.count(">") * (text in {">", ">>", ">>>"})
            if text in {";", "{", "}"}:
                return None
            if depth <= 0:
                named = place + 1 + (code[place + 1].text in {"const", "&", "*"})
                follows = code[named + 1].text if named + 1 < len(code) else ""
                return code[named] if code[named].kind == "word" and follows in {"=", ";", "{", "("} else None
        return None
    reference = [each.text for each in code[at + 1 : at + 5]]
    if reference[:1] == ["("] and reference[1:2] in (["&"], ["*"]) and reference[3:4] == [")"] and is_type(token.text):
        return code[at + 3]
    return None
