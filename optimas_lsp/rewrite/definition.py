"""The part of a proposed text that takes the function's place: its definition, and allowed ones that come with it."""

from __future__ import annotations

import textwrap

from optimas_lsp.rewrite.guard.segments import Segment, segments
from optimas_lsp.rewrite.guard.tokens import code_of, lex
from optimas_lsp.rewrite.heading import heading_in, heading_of
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax


def new_definition(syntax: Syntax, function: Function, text: str) -> list[str] | None:
    """The lines of the definition in ``text``; the first is complete, with its indentation. None if there is none.

    Comments before and after it are left out, what stands around the function in the file stays there; only where new
    functions come with it do those keep theirs. A repeated
    ``extern "C"`` is left out where the file has it outside of the function's own text.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if syntax.language == "python":
        lines = textwrap.dedent(plain).strip("\n").split("\n")
        return lines if any(line.strip() for line in lines) else None
    tokens = lex(plain)
    code = code_of(tokens)
    parts = segments(code)
    main = _main(parts, function)
    if main is None:
        return None
    start, end = tokens[0].start, parts[-1].end
    if len(parts) == 1:
        start = _without_linkage(syntax, function, main, plain)
    line_start = plain.rfind("\n", 0, start) + 1
    if plain[line_start:start].strip():
        line_start = start
    return plain[line_start:end].split("\n")


def ends_with_brace(syntax: Syntax, function: Function) -> bool:
    """Whether a function of the file is complete: the last of its text is a closing brace, in no open comment."""
    if syntax.language == "python":
        return True
    text = syntax.code.data[function.extent.start : function.extent.end].decode("utf-8", "replace")
    tokens = lex(text)
    return bool(tokens) and tokens[-1].text == "}" and tokens[-1].end == len(text)


def _main(parts: tuple[Segment, ...], function: Function) -> Segment | None:
    functions = [part for part in parts if part.kind == "function"]
    same = [part for part in functions if part.name == function.name.replace(" ", "")]
    return same[-1] if same else functions[0] if len(functions) == 1 else None


def _without_linkage(syntax: Syntax, function: Function, main: Segment, plain: str) -> int:
    """Where the definition starts after an ``extern "C"`` that is not part of the old text."""
    had = "extern" in heading_in(syntax, function).linkage
    has = heading_of(plain[main.start : main.end]).linkage[:2] == ("extern", '"C"')
    if has and not had and main.tokens[0].text == "extern":
        return main.tokens[2].start
    return main.start
