"""A function's heading, everything before its body, taken apart so that each change to it can be named."""

from __future__ import annotations

from dataclasses import dataclass

from optimas_lsp.rewrite.guard.tokens import Token, closing_of, code_of, lex
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax

_RESTRICT = frozenset({"__restrict__", "__restrict", "restrict"})
_LINKAGE = frozenset({"static", "extern", "inline", "constexpr", "consteval", "friend", "virtual", "explicit"})
_ATTRIBUTE_WORDS = frozenset({"__forceinline__", "__noinline__", "__inline__", "__forceinline", "noexcept"})
_ATTRIBUTE_CALLS = frozenset(
    {"__launch_bounds__", "__attribute__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__declspec", "alignas"}
    | {"__align__"}
)
_SPACES = frozenset({"__global__", "__device__", "__host__", "__managed__"})


@dataclass(frozen=True, slots=True)
class Heading:
    """The parts of a heading as token texts, comments left out.

    ``parameters`` are without top-level ``restrict``; ``restricted`` tells which of them have it. ``bounds`` are the
    arguments of ``__launch_bounds__`` or None; ``attributes`` all others. ``rest`` is the return type and whatever
    else there is, in order. ``open`` is the offset of the body's brace, or None.
    """

    template: tuple[str, ...]
    linkage: tuple[str, ...]
    spaces: tuple[str, ...]
    attributes: tuple[str, ...]
    bounds: tuple[str, ...] | None
    rest: tuple[str, ...]
    name: tuple[str, ...]
    parameters: tuple[tuple[str, ...], ...]
    restricted: tuple[bool, ...]
    after: tuple[str, ...]
    open: int | None

    def same_as(self, other: Heading) -> bool:
        """Whether nothing differs but top-level ``restrict`` and launch bounds."""
        return _kept(self) == _kept(other)


def _kept(heading: Heading) -> tuple[object, ...]:
    return (
        heading.template,
        sorted(heading.linkage),
        sorted(heading.spaces),
        sorted(heading.attributes),
        heading.rest,
        heading.name,
        heading.parameters,
        heading.after,
    )


def heading_of(text: str) -> Heading:
    """Take the heading at the start of ``text`` apart; never fails, parts that are not there are empty."""
    tokens = code_of(token for token in lex(text) if token.kind != "directive")
    body = _body(tokens)
    head = tokens if body is None else tokens[:body]
    template, head = _template(head)
    linkage: list[str] = []
    spaces: list[str] = []
    attributes: list[str] = []
    bounds: tuple[str, ...] | None = None
    rest: list[Token] = []
    at = 0
    opening = _parameters(head)
    while at < (len(head) if opening is None else opening):
        token = head[at]
        if token.text in _SPACES:
            spaces.append(token.text)
        elif token.text in _LINKAGE:
            linkage.append(token.text)
            if token.text == "extern" and at + 1 < len(head) and head[at + 1].kind == "string":
                at += 1
                linkage.append(head[at].text)
        elif token.text in _ATTRIBUTE_WORDS:
            attributes.append(token.text)
        elif token.text in _ATTRIBUTE_CALLS and at + 1 < len(head) and head[at + 1].text == "(":
            close = closing_of(head, at + 1) or at + 1
            arguments = tuple(each.text for each in head[at + 2 : close])
            if token.text == "__launch_bounds__":
                bounds = arguments
            else:
                attributes.append(" ".join((token.text, *arguments)))
            at = close
        elif token.text == "[" and at + 1 < len(head) and head[at + 1].text == "[":
            close = closing_of(head, at) or at
            attributes.append(" ".join(each.text for each in head[at : close + 1]))
            at = close
        else:
            rest.append(token)
        at += 1
    cut = _name_start(rest)
    parameters, restricted, after = _listed(head, opening)
    return Heading(
        template=template,
        linkage=tuple(linkage),
        spaces=tuple(spaces),
        attributes=tuple(attributes),
        bounds=bounds,
        rest=tuple(token.text for token in rest[:cut]),
        name=tuple(token.text for token in rest[cut:]),
        parameters=parameters,
        restricted=restricted,
        after=after,
        open=None if body is None else tokens[body].start,
    )


def heading_in(syntax: Syntax, function: Function) -> Heading:
    """The heading of a function of this text."""
    data = syntax.code.data[function.extent.start : function.extent.end]
    return heading_of(data.decode("utf-8", "replace"))


def _body(tokens: tuple[Token, ...]) -> int | None:
    """Index of the first brace outside of round and square brackets."""
    depth = 0
    for at, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        depth += (token.text in "([") - (token.text in ")]")
        if token.text == "{" and depth <= 0:
            return at
    return None


def _template(head: tuple[Token, ...]) -> tuple[tuple[str, ...], tuple[Token, ...]]:
    """The ``template <…>`` heads, and the tokens after them."""
    at = 0
    while at + 1 < len(head) and head[at].text == "template" and head[at + 1].text == "<":
        depth = 0
        for place in range(at + 1, len(head)):
            text = head[place].text
            depth += text.count("<") if text in {"<", "<<"} else -text.count(">") if text in {">", ">>", ">>>"} else 0
            if depth <= 0:
                at = place + 1
                break
        else:
            break
    return tuple(token.text for token in head[:at]), head[at:]


def _parameters(head: tuple[Token, ...]) -> int | None:
    """Index of the bracket that opens the parameter list: the first that follows a name and is no attribute's."""
    depth = 0
    for at, token in enumerate(head):
        if token.kind != "mark":
            continue
        if token.text == "(" and depth == 0:
            before = head[at - 1].text if at else ""
            if before == "operator" and head[at + 1 : at + 3] and head[at + 1].text == ")":
                return at + 2 if head[at + 2 : at + 3] else None
            if at and before not in _ATTRIBUTE_CALLS and before not in {"decltype", "noexcept", "requires", "("}:
                return at
        depth += (token.text in "([") - (token.text in ")]")
    return None


def _name_start(rest: list[Token]) -> int:
    """Index in ``rest`` where the declared name begins, with its scopes."""
    for at, token in enumerate(rest):
        if token.text == "operator":
            return at
    at = len(rest) - 1
    if at >= 0 and rest[at].text in {">", ">>"}:
        depth = 0
        while at >= 0:
            depth += rest[at].text.count(">") - rest[at].text.count("<")
            at -= 1
            if depth == 0:
                break
    while at >= 2 and rest[at - 1].text == "::":
        at -= 2
    return max(at, 0)


def _listed(
    head: tuple[Token, ...], opening: int | None
) -> tuple[tuple[tuple[str, ...], ...], tuple[bool, ...], tuple[str, ...]]:
    """Each parameter without its top-level ``restrict``, whether it had one, and what follows the list."""
    close = None if opening is None else closing_of(head, opening)
    if opening is None or close is None:
        return (), (), ()
    parts: list[list[str]] = [[]]
    depth = 0
    for token in head[opening + 1 : close]:
        if token.text == "," and depth <= 0:
            parts.append([])
            continue
        if token.kind == "mark":
            depth += (token.text in {"(", "[", "{", "<"}) - (token.text in {")", "]", "}", ">"})
            depth -= 2 * (token.text == ">>")
        parts[-1].append(token.text)
    if parts in ([[]], [["void"]]):
        parts = []
    plain = tuple(_without_restrict(part) for part in parts)
    restricted = tuple(len(kept) != len(part) for kept, part in zip(plain, parts, strict=True))
    return plain, restricted, tuple(token.text for token in head[close + 1 :])


def _without_restrict(part: list[str]) -> tuple[str, ...]:
    """A parameter without the ``restrict`` of its outermost pointer: the last ``*`` outside of brackets."""
    stars = [at for at, text in enumerate(part) if text in {"*", "&", "&&"}]
    if not stars:
        return tuple(part)
    last = stars[-1]
    return tuple(text for at, text in enumerate(part) if not (at > last and text in _RESTRICT))
