"""What a piece of program text consists of at its outermost level, by counting brackets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.rewrite.guard.tokens import Token, closing_of

SegmentKind = Literal["function", "type", "namespace", "declaration", "directive", "stray"]


@dataclass(frozen=True, slots=True)
class Segment:
    """One definition or declaration: its tokens without comments. ``stray`` is what is none of them.

    ``body`` is the index in ``tokens`` of the brace that opens a function's body.
    """

    kind: SegmentKind
    tokens: tuple[Token, ...]
    body: int | None = None

    @property
    def start(self) -> int:
        """Offset of its first character."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Offset just after its last character."""
        return self.tokens[-1].end

    @property
    def line(self) -> int:
        """1-based line it starts on."""
        return self.tokens[0].line

    @property
    def name(self) -> str:
        """The last part of a function's declared name; empty for others."""
        for at, token in enumerate(self.tokens[: self.body]):
            if token.kind != "word" or at + 1 >= len(self.tokens) or self.tokens[at + 1].text != "(":
                continue
            if not token.text.startswith("__") and token.text not in {"alignas", "decltype", "noexcept"}:
                return token.text
        return ""

    def has(self, *words: str) -> bool:
        """Whether its heading holds one of the words."""
        return any(token.text in words for token in self.tokens[: self.body])


def segments(code: Sequence[Token]) -> tuple[Segment, ...]:
    """The outermost segments of ``code`` (tokens without comments), in order; together they hold every token."""
    found: list[Segment] = []
    at = 0
    while at < len(code):
        segment = _next(code, at)
        found.append(segment)
        at += len(segment.tokens)
    return tuple(found)


def _next(code: Sequence[Token], start: int) -> Segment:
    if code[start].kind == "directive":
        return Segment("directive", (code[start],))
    depth, assigned = 0, False
    for at in range(_after_template(code, start), len(code)):
        token = code[at]
        if token.kind == "directive" and at > start and depth == 0:
            return Segment("stray", tuple(code[start:at]))
        if token.kind != "mark":
            continue
        if token.text == "}" and depth <= 0:
            return Segment("stray", tuple(code[start : at + 1]))
        if token.text == "=" and depth == 0 and not assigned:
            assigned = not (at and code[at - 1].text == "operator")
        if token.text == ";" and depth <= 0:
            return Segment("declaration", tuple(code[start : at + 1]))
        if token.text == "{" and depth <= 0:
            close = closing_of(code, at)
            if close is None:
                return Segment("stray", tuple(code[start:]))
            if assigned:
                depth += 1
                continue
            return _braced(code, start, at, close)
        depth += (token.text in "([{") - (token.text in ")]}")
    return Segment("stray", tuple(code[start:]))


def _after_template(code: Sequence[Token], start: int) -> int:
    """Index after the ``template <…>`` heads at ``start``, whose defaults would look like initializers."""
    while start + 1 < len(code) and code[start].text == "template" and code[start + 1].text == "<":
        depth = 0
        at = start
        for at in range(start + 1, len(code)):
            text = code[at].text
            depth += (text == "<") - text.count(">") * (text in {">", ">>", ">>>"})
            if depth <= 0 or text in {";", "{", "}"}:
                break
        if code[at].text not in {">", ">>", ">>>"}:
            return start
        start = at + 1
    return start


def _braced(code: Sequence[Token], start: int, opening: int, close: int) -> Segment:
    words = {token.text for token in code[start:opening]}
    if "namespace" in words:
        return Segment("namespace", tuple(code[start : close + 1]))
    if "(" in words:
        return Segment("function", tuple(code[start : close + 1]), opening - start)
    if words & {"struct", "class", "union", "enum"}:
        end = next((at for at in range(close, len(code)) if code[at].text == ";"), close)
        return Segment("type", tuple(code[start : end + 1]))
    if words & {"extern"}:
        return Segment("namespace", tuple(code[start : close + 1]))
    return Segment("stray", tuple(code[start : close + 1]))
