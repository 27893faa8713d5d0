"""Which lines of two versions of a function say the same, whatever their comments and blanks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optimas_lsp.rewrite.guard.tokens import lex
from optimas_lsp.rewrite.indentation import indent_of

_MOST_CELLS = 4_000_000
"""Above this product of line counts only equal beginnings and ends are matched."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line's text and the code on it (token texts). ``continues``: a bracket is open where it starts."""

    text: str
    code: tuple[str, ...]
    continues: bool = False

    @property
    def indent(self) -> str:
        """The blanks it starts with."""
        return indent_of(self.text)

    @property
    def is_directive(self) -> bool:
        """Whether the preprocessor reads it."""
        return bool(self.code) and self.code[0].startswith("#")

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for lines that say the same: their code, or the words of a comment."""
        return self.code or ("", " ".join(self.text.split()))

    @property
    def weight(self) -> int:
        """How much a match of this line tells: little for a lone bracket, nearly nothing for a blank line."""
        if not self.code:
            return 2 if self.text.strip() else 1
        return 2 if self.code in {("{",), ("}",)} else 4 + min(8, len(self.code))


def lines_of(lines: Sequence[str], language: str = "cuda") -> list[Line]:
    """The lines with their code. A token that spans lines counts on each with the text it has there."""
    if language == "python":
        return [Line(line, (line.rstrip(),) if line.strip() else ()) for line in lines]
    code: list[list[str]] = [[] for _ in lines]
    continues = [False] * len(lines)
    depth = 0
    last = 0
    for token in lex("\n".join(lines)):
        for at in range(last, token.line - 1):
            continues[at + 1] = depth > 0
        last = token.line - 1
        if token.kind == "comment":
            continue
        pieces = [token.text] if token.kind == "directive" and "\n" not in token.text else token.text.split("\n")
        for offset, piece in enumerate(pieces):
            code[token.line - 1 + offset].append(" ".join(piece.split()) if token.kind == "directive" else piece)
        if token.kind == "mark":
            depth += (token.text in "([") - (token.text in ")]")
    return [
        Line(line, tuple(words), continuing) for line, words, continuing in zip(lines, code, continues, strict=True)
    ]


def matching_lines(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """Pairs of indices of lines that say the same, ascending in both: the heaviest common subsequence."""
    head = 0
    limit = min(len(old), len(new))
    while head < limit and _alike(old[head], new[head]):
        head += 1
    tail = 0
    while tail < limit - head and _alike(old[-1 - tail], new[-1 - tail]):
        tail += 1
    middle = _heaviest(old[head : len(old) - tail], new[head : len(new) - tail])
    ends = zip(range(len(old) - tail, len(old)), range(len(new) - tail, len(new)), strict=True)
    return [(at, at) for at in range(head)] + [(head + one, head + other) for one, other in middle] + list(ends)


def _alike(old: Line, new: Line) -> bool:
    return old.key == new.key and old.indent == new.indent


def _heaviest(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    if not old or not new or len(old) * len(new) > _MOST_CELLS:
        return []
    keys, indents = [line.key for line in new], [line.indent for line in new]
    gains = [_gains(line, keys, indents) for line in old]
    best = [[0] * (len(new) + 1)]
    for gain in reversed(gains):
        below = best[-1]
        row = [0] * (len(new) + 1)
        for at in range(len(new) - 1, -1, -1):
            row[at] = max(row[at + 1], below[at], below[at + 1] + gain[at] if at in gain else 0)
        best.append(row)
    best.reverse()
    pairs: list[tuple[int, int]] = []
    one = other = 0
    while one < len(old) and other < len(new):
        gain = gains[one].get(other)
        if gain is not None and best[one][other] == best[one + 1][other + 1] + gain:
            pairs.append((one, other))
            one, other = one + 1, other + 1
        elif best[one][other] == best[one + 1][other]:
            one += 1
        else:
            other += 1
    return pairs


def _gains(line: Line, keys: Sequence[tuple[str, ...]], indents: Sequence[str]) -> dict[int, int]:
    """What matching ``line`` with each new line that says the same is worth; those indented alike are preferred."""
    key, indent, weight = line.key, line.indent, 2 * line.weight
    return {at: weight + (indents[at] == indent) for at, other in enumerate(keys) if other == key}
