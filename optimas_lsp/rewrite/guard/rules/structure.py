"""A new text is one function definition, complete and balanced, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from optimas_lsp.rewrite.guard.branches import branch_depths
from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.segments import Segment
from optimas_lsp.rewrite.guard.side import line_of
from optimas_lsp.rewrite.guard.tokens import CLOSING, OPENING
from optimas_lsp.rewrite.heading import heading_of


def _one(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if not rewrite.after.code:
        yield rewrite.found(0, "the new text is empty")
        return
    if rewrite.main is None:
        yield rewrite.found(1, f"the new text holds no definition of '{rewrite.function.name}'")
    yield from _brackets(rewrite)
    seen_main = False
    for segment in rewrite.after.segments:
        if segment is rewrite.main:
            seen_main = True
        elif segment.kind == "namespace":
            yield rewrite.found(segment.line, "the new text opens a namespace; give the function alone")
        elif segment.kind == "directive":
            yield rewrite.found(segment.line, "a preprocessor line stands outside of the function")
        elif segment.kind == "stray":
            where = "after the closing brace" if seen_main else "before the function"
            text = " ".join(token.text for token in segment.tokens)[:60]
            yield rewrite.found(segment.line, f"'{text}' stands {where}")
        elif segment.kind == "function" and segment.name == rewrite.function.name:
            yield rewrite.found(segment.line, f"'{segment.name}' is defined twice")
        elif segment.kind == "function" and not _device(segment) and not segment.has("__global__"):
            yield rewrite.found(segment.line, f"'{segment.name}' is a new host function")


def _brackets(rewrite: Rewrite) -> Iterator[Finding]:
    """Brackets that do not pair up, or that do so only in some of what the preprocessor chooses between."""
    before, after = branch_depths(rewrite.before.code), branch_depths(rewrite.after.code)
    whole = not any(depth or lowest for depth, lowest in before)
    if any(depth or lowest for depth, lowest in after) if whole else before != after:
        yield rewrite.found(0, "a branch of the preprocessor opens or closes brackets of what is around it")
    if not whole:
        return
    open_: list[tuple[str, int]] = []
    for token in rewrite.after.code:
        if token.kind != "mark":
            continue
        if token.text in OPENING:
            open_.append((OPENING[token.text], token.line))
        elif token.text in CLOSING:
            if not open_ or open_[-1][0] != token.text:
                yield rewrite.found(token.line, f"'{token.text}' closes nothing")
                return
            open_.pop()
    for closing, line in open_[:1]:
        yield rewrite.found(line, f"a bracket is opened here and no '{closing}' closes it")
    last = rewrite.after.tokens[-1]
    if last.kind == "comment" and last.text.startswith("/*") and not (len(last.text) >= 4 and last.text.endswith("*/")):
        yield rewrite.found(last.line, "a comment is opened here and never closed")


def _device(segment: Segment) -> bool:
    return segment.has("__device__") and not segment.has("__host__")


def _others(rewrite: Rewrite, kind: str) -> Iterator[Segment]:
    return (segment for segment in rewrite.after.segments if segment is not rewrite.main and segment.kind == kind)


def _kernels(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    for segment in _others(rewrite, "function"):
        if not segment.has("__global__"):
            continue
        if "kernels" not in case.allow:
            yield rewrite.found(segment.line, f"'{segment.name}' is a new kernel; allow 'kernels' to permit that")
        elif why := _unplain(rewrite, segment, case):
            yield rewrite.found(segment.line, f"the new kernel '{segment.name}' {why}")


def _helpers(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    for segment in _others(rewrite, "function"):
        if segment.has("__global__"):
            continue
        if "helpers" not in case.allow:
            yield rewrite.found(segment.line, f"'{segment.name}' is a new function; allow 'helpers' to permit that")
        elif why := _unplain(rewrite, segment, case):
            yield rewrite.found(segment.line, f"the new function '{segment.name}' {why}")


_PLAIN_LINKAGE = frozenset({"static", "inline", "constexpr"})
_PLAIN_ATTRIBUTES = frozenset({"__forceinline__", "__noinline__", "__inline__", "noexcept"})


def _unplain(rewrite: Rewrite, segment: Segment, case: Case) -> str:
    """Why a new function may not stand there although new ones are allowed: it changes what other code means."""
    heading = heading_of(rewrite.after.text[segment.start : segment.end])
    words = tuple(token.text for token in segment.tokens[: segment.body])
    if not segment.name or "operator" in words or len(heading.name) != 1:
        return "is an operator or a member of something else"
    if any(words[at : at + 3] == ("template", "<", ">") for at in range(len(words))):
        return "is a specialisation: it changes what the original computes elsewhere"
    if segment.name in case.around.words or names().known(segment.name):
        return "has a name that the file or CUDA uses: calls elsewhere may reach it"
    odd = [*(set(heading.linkage) - _PLAIN_LINKAGE), *(set(heading.attributes) - _PLAIN_ATTRIBUTES)]
    return f"has the linkage or attribute '{odd[0]}'" if odd else ""


def _globals(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    for segment in _others(rewrite, "declaration"):
        constant = _is_constant(segment, case)
        if "globals" in case.allow and constant:
            continue
        text = " ".join(token.text for token in segment.tokens)[:60]
        ending = "; allow 'globals' to permit constexpr constants" if constant else ""
        yield rewrite.found(segment.line, f"'{text}' is a new declaration outside of the function{ending}")
    for segment in _others(rewrite, "type"):
        yield rewrite.found(segment.line, "a new type is defined outside of the function")


def _is_constant(segment: Segment, case: Case) -> bool:
    """Whether a declaration is of plain constants: ``constexpr``, a name that is nobody's, and no function inside."""
    said = [token.text for token in segment.tokens]
    head = list(itertools.takewhile(lambda text: text not in {"=", "{", "[", "(", ";"}, said))
    if "constexpr" not in head or not head or head[-1] in case.around.words or names().known(head[-1]):
        return False
    if segment.has("__device__", "__managed__", "__constant__", "extern", "volatile", "template"):
        return False
    lambdas = any(text == "[" and before in {"=", "(", ",", "{"} for before, text in itertools.pairwise(said))
    return not lambdas


def _parses(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    root, before = rewrite.after.root, rewrite.before.root
    if root is None:
        yield rewrite.found(0, "the new text takes the parser too long")
        return
    if not root.has_error or (before is not None and before.has_error):
        return
    node = next((node for node in rewrite.after.nodes() if node.is_error or node.is_missing), root)
    yield rewrite.found(line_of(node), "the new text is not well-formed here")


RULES = (
    Rule("one-definition", "the new text is exactly the function's definition, brackets paired", "fail", each(_one)),
    Rule("new-kernel", "no new kernels unless 'kernels' is allowed", "fail", each(_kernels)),
    Rule("new-helper", "no new functions unless 'helpers' is allowed", "fail", each(_helpers)),
    Rule("new-global", "no new declarations outside of the function", "fail", each(_globals)),
    Rule("well-formed", "the new text parses if the old one did", "fail", each(_parses)),
)
