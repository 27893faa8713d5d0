"""Kernels by counting brackets: what still works where macros keep a parser from understanding a CUDA file."""

from __future__ import annotations

import re

from optimas_lsp.source.code_bytes import CodeBytes
from optimas_lsp.source.functions import Function, Parameter

LONGEST_HEAD = 4_000
"""A kernel's name is looked for within this many bytes after ``__global__``."""

LONGEST_BODY = 400_000
"""A kernel's closing brace is looked for within this many bytes."""

_QUIET = re.compile(
    rb'//[^\n]*(?:\\\n[^\n]*)*|/\*.*?(?:\*/|\Z)|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"?'
    rb"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|^[ \t]*\#[^\n]*(?:(?<=\\)\n[^\n]*)*",
    re.DOTALL | re.MULTILINE,
)
_NOT_BLANK = re.compile(rb"[^\s]")
_CALLED = re.compile(rb"((?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*)\s*(<[^(){};]*>\s*)?\(")
_NAMESPACE = re.compile(rb"\bnamespace\s*((?:[A-Za-z_]\w*(?:\s*::\s*)?)*)\s*\{")
_AFTER_PARAMETERS = re.compile(rb"\s*(?:noexcept\s*)?(?:->[^{;]*)?")
_TEMPLATE = re.compile(rb"\btemplate\s*<")
_ATTRIBUTES = frozenset(
    {b"__launch_bounds__", b"__attribute__", b"__maxnreg__", b"__cluster_dims__", b"__block_size__", b"__declspec"}
    | {b"alignas", b"decltype", b"__align__", b"noexcept", b"__grid_constant__"}
)


def quiet(data: bytes) -> bytes:
    """``data`` with comments, literals and preprocessor lines blanked out, all else at its place."""
    return _QUIET.sub(lambda match: _NOT_BLANK.sub(b" ", match.group()), data)


def scan_kernel(code: CodeBytes, silent: bytes, mark: int) -> Function | None:
    """The kernel whose ``__global__`` stands at byte ``mark``; None for a declaration or when nothing fits.

    ``silent`` is ``quiet(code.data)``. Never certain: ``Function.certain`` is False.
    """
    place = mark
    limit = min(len(silent), mark + LONGEST_HEAD)
    while call := _CALLED.search(silent, place, limit):
        stop = re.compile(rb"[;{}]").search(silent, place, call.start())
        close = matching(silent, call.end() - 1)
        if stop or close is None:
            return None
        if call.group(1) in _ATTRIBUTES:
            place = close + 1
            continue
        found = _AFTER_PARAMETERS.match(silent, close + 1)
        following = found.end() if found else close + 1
        if silent[following : following + 1] == b"{":
            return _made(code, silent, (mark, following), call.span(1), (call.end() - 1, close))
        second = silent[following : following + 1] == b"(" and re.fullmatch(
            rb"\s*[A-Za-z_]\w*\s*", silent[call.end() : close]
        )
        if second:
            closing = matching(silent, following)
            found = None if closing is None else _AFTER_PARAMETERS.match(silent, closing + 1)
            if closing is None or found is None or silent[found.end() : found.end() + 1] != b"{":
                return None
            inner = call.end() + len(second.group()) - len(second.group().lstrip())
            name = inner, inner + len(second.group().strip())
            return _made(code, silent, (mark, found.end()), name, (following, closing))
        if silent[following : following + 1] in {b";", b""}:
            return None
        place = close + 1
    return None


def matching(silent: bytes, opening: int, longest: int = LONGEST_HEAD) -> int | None:
    """Where the bracket at ``opening`` closes, counting brackets of its kind; None: not within ``longest`` bytes."""
    pair = silent[opening : opening + 1]
    closing = {b"(": b")", b"{": b"}", b"<": b">"}[pair]
    depth = 0
    for match in re.compile(b"[" + re.escape(pair + closing) + b"]").finditer(silent, opening, opening + longest):
        depth += 1 if match.group() == pair else -1
        if depth == 0:
            return match.start()
    return None


def template_head(silent: bytes, start: int) -> int | None:
    """Where the ``template <…>`` begins that ends right before byte ``start``, if one does."""
    if not silent[max(0, start - 200) : start].rstrip().endswith(b">"):
        return None
    shift = max(0, start - LONGEST_HEAD)
    before = silent[shift:start].rstrip()
    found: int | None = None
    for match in _TEMPLATE.finditer(before):
        end = matching(before, match.end() - 1)
        if end is not None and not before[end + 1 :].strip():
            found = match.start() + shift
    return found


def namespaces(silent: bytes, offset: int) -> tuple[str, ...]:
    """The names of the namespaces around ``offset``, outermost first, an empty one for anonymous."""
    around: list[str] = []
    for match in _NAMESPACE.finditer(silent, 0, offset):
        close = matching(silent, match.end() - 1, len(silent))
        if close is None or close > offset:
            around += re.sub(rb"\s", b"", match.group(1)).decode().split("::")
    return tuple(around)


def parameters(data: bytes, start: int, end: int) -> tuple[Parameter, ...]:
    """What stands between the brackets at ``start`` and ``end``, split at its outermost commas."""
    texts: list[bytes] = []
    depth, last = 0, start + 1
    for place in range(start + 1, end):
        char = data[place : place + 1]
        depth += (char in b"(<[{") - (char in b")>]}")
        if char == b"," and depth <= 0:
            texts.append(data[last:place])
            last = place + 1
    texts.append(data[last:end])
    cleaned = [b" ".join(text.split()).decode("utf-8", "replace") for text in texts]
    if cleaned in ([""], ["void"]):
        return ()
    return tuple(Parameter(text, optional="=" in text, variadic="..." in text) for text in cleaned)


def _made(
    code: CodeBytes, silent: bytes, bounds: tuple[int, int], name: tuple[int, int], brackets: tuple[int, int]
) -> Function:
    mark, opening = bounds
    close = matching(silent, opening, LONGEST_BODY)
    following = silent.find(b"__global__", opening)
    end = close + 1 if close is not None else following if following > 0 else len(silent)
    starts = [silent.rfind(char, 0, mark) + 1 for char in (b";", b"}", b"{")]
    head = max(starts)
    head += len(silent[head:mark]) - len(silent[head:mark].lstrip())
    parts = re.sub(rb"\s", b"", silent[name[0] : name[1]]).decode("utf-8", "replace").split("::")
    shift = silent[name[0] : name[1]].rfind(b"::")
    start = name[0] if shift < 0 else name[0] + shift + 2
    start += len(silent[start : name[1]]) - len(silent[start : name[1]].lstrip())
    return Function(
        name=parts[-1],
        qualified=(*namespaces(silent, mark), *parts),
        kind="kernel",
        extent=code.span(head, end),
        name_span=code.span(start, name[1]),
        body=code.span(opening, end),
        parameters=parameters(code.data, *brackets),
        template=bool(_TEMPLATE.search(silent, head, mark)),
        certain=False,
    )
