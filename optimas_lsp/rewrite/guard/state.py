"""Which variables of a text outlive a launch, by its tokens alone: a declaration may be spelled in many ways."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from optimas_lsp.rewrite.guard.tokens import Token, closing_of

LASTING = frozenset({"__device__", "__managed__"})
"""Words that make a variable outlive a launch."""


def state_in(code: Sequence[Token], lasting: Collection[str]) -> Iterator[str]:
    """Names of variables that are declared with one of the ``lasting`` words: every declarator of every declaration."""
    first = 0
    for at, token in enumerate(code):
        if token.text in {";", "{", "}"} or token.kind == "directive":
            first = at + 1
        elif token.kind == "word" and token.text in lasting and all(each.text != "=" for each in code[first:at]):
            yield from _declarators(code, first)


def _declarators(code: Sequence[Token], first: int) -> Iterator[str]:
    """Names that the declaration starting at this index gives to variables; none where it declares a function.

    A name is the last word before ``=``, ``[``, ``{``, ``,`` or ``;`` outside of brackets, or the one in ``(*name)``.
    """
    name = ""
    at = first
    while at < len(code):
        token = code[at]
        following = code[at + 1].text if at + 1 < len(code) else ""
        if token.text in {"__align__", "alignas", "__attribute__", "decltype"} and following == "(":
            at = closing_of(code, at + 1) or at
        elif token.text == "template" and following == "<":
            at = _after_angles(code, at + 1)
            continue
        elif token.text == "<":
            at = _after_angles(code, at)
            continue
        elif token.text == "(" and following in {"*", "&"}:
            name = next((each.text for each in code[at + 2 : at + 6] if each.kind == "word"), name)
            yield name
            return
        elif token.text in {"(", "operator"}:
            return
        elif token.text == "{" and (_is_type(code, first, at) or not name):
            at = closing_of(code, at) or len(code)
            name = ""
        elif token.text in {"=", "[", "{", ",", ";"}:
            if name:
                yield name
            at = _after_initializer(code, at)
            name = ""
            if at >= len(code) or code[at].text != ",":
                return
        elif token.kind == "word":
            name = token.text
        at += 1


def _is_type(code: Sequence[Token], first: int, brace: int) -> bool:
    """Whether the brace opens the body of a struct, class, union or enum."""
    return any(token.text in {"struct", "class", "union", "enum"} for token in code[first:brace]) and not any(
        token.text == "=" for token in code[first:brace]
    )


def _after_initializer(code: Sequence[Token], at: int) -> int:
    """Index of the comma or semicolon that ends what starts at ``at``, brackets skipped."""
    while at < len(code) and code[at].text not in {",", ";"}:
        at = (closing_of(code, at) or len(code)) if code[at].text in {"(", "[", "{"} else at
        at += 1
    return at


def _after_angles(code: Sequence[Token], at: int) -> int:
    """Index after the template arguments that open at ``at``; the next token where they do not close."""
    depth = 0
    for place in range(at, min(at + 200, len(code))):
        text = code[place].text
        depth += (text == "<") - text.count(">") * (text in {">", ">>", ">>>"})
        if depth <= 0:
            return place + 1
        if text in {";", "{", "}"}:
            break
    return at + 1
