"""The only place where lines become LSP ranges and LSP ranges become changes of text.

Inside, lines count from 1, as profilers count; the protocol counts lines from 0 and characters in the units of the
encoding agreed on with the client.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from lsprotocol import types

from optimas_lsp.server.client import Encoding
from optimas_lsp.source.text import Change, Position, SourceText, to_character


def line_of(position: types.Position) -> int:
    """The 1-based line a request is about."""
    return position.line + 1


@lru_cache(maxsize=16_384)
def _written(content: str, encoding: Encoding) -> tuple[int, int]:
    """From which character to which a line is written on; the same string again costs one look-up."""
    kept = content.rstrip()
    start = len(kept) - len(kept.lstrip())
    return to_character(content, start, encoding), to_character(content, len(kept) if kept else len(content), encoding)


def code_range(text: SourceText, line: int, encoding: Encoding) -> types.Range:
    """What is written on ``line``, without indentation and trailing blanks; a blank line whole."""
    start, end = _written(text.line(line), encoding)
    return types.Range(types.Position(line - 1, start), types.Position(line - 1, end))


def encoded_code_range(text: SourceText, line: int, encoding: Encoding) -> str:
    """``code_range`` as JSON."""
    start, end = _written(text.line(line), encoding)
    return _encoded(line - 1, start, end)


def encoded_line_end(text: SourceText, line: int, encoding: Encoding) -> str:
    """The position after the last character of ``line`` that is not blank, as JSON."""
    return f'{{"line":{line - 1},"character":{_written(text.line(line), encoding)[1]}}}'


def name_range(text: SourceText, line: int, name: str, encoding: Encoding) -> types.Range:
    """Where ``name`` stands on ``line``, or the whole of what is written there."""
    content = text.line(line)
    column = content.find(name) if name else -1
    if column < 0:
        return code_range(text, line, encoding)
    return types.Range(
        types.Position(line - 1, to_character(content, column, encoding)),
        types.Position(line - 1, to_character(content, column + len(name), encoding)),
    )


def encoded_unseen_range(line: int) -> str:
    """The start of ``line`` in a file whose text is not at hand, as JSON."""
    return _encoded(max(line - 1, 0), 0, 0)


def _encoded(line: int, start: int, end: int) -> str:
    return f'{{"start":{{"line":{line},"character":{start}}},"end":{{"line":{line},"character":{end}}}}}'


def lines_within(span: types.Range) -> range:
    """The 1-based lines that ``span`` touches."""
    return range(span.start.line + 1, span.end.line + 2)


def whole_lines_range(text: SourceText, first: int, count: int, encoding: Encoding) -> types.Range:
    """``count`` whole lines from ``first`` (1-based) on, with their ends; a position in front of ``first`` for none."""

    def start_of(line: int) -> types.Position:
        if line <= text.line_count:
            return types.Position(line - 1, 0)
        last = text.lines[-1]
        return types.Position(text.line_count - 1, to_character(last, len(last), encoding))

    return types.Range(start_of(first), start_of(first + count))


def changes_of(events: Iterable[types.TextDocumentContentChangeEvent]) -> list[Change]:
    """Content changes in our words, in the order they must be applied."""
    return [
        Change(event.text, _position(event.range.start), _position(event.range.end))
        if isinstance(event, types.TextDocumentContentChangePartial)
        else Change(event.text)
        for event in events
    ]


def _position(position: types.Position) -> Position:
    return Position(position.line + 1, position.character)
