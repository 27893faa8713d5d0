"""What a function does to memory: outputs keep being written, inputs read, and nothing new outlives the launch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.side import Side, line_of
from optimas_lsp.rewrite.heading import Heading

_WRITERS = re.compile(r"(?:atomic\w+|__st\w+|memcpy|memset|memcpy_async|__pipeline_memcpy_async|store|fetch_\w+)\Z")


def _pointers(heading: Heading) -> tuple[tuple[str, bool], ...]:
    """Names of pointer and reference parameters, and whether what they point at is const."""
    found: list[tuple[str, bool]] = []
    for parameter in heading.parameters:
        words = [text for text in parameter if re.fullmatch(r"[^\W\d]\w*", text)]
        if any(text in {"*", "&", "["} for text in parameter) and words:
            star = next((at for at, text in enumerate(parameter) if text in {"*", "&", "["}), len(parameter))
            found.append((words[-1], "const" in parameter[:star]))
    return tuple(found)


def _written(side: Side) -> frozenset[str]:
    """Root names of everything assigned through an index, a dereference, a member, or handed to a writing call."""
    found: set[str] = set()
    for node in side.nodes("assignment_expression", "update_expression", "call_expression"):
        if node.type == "assignment_expression":
            target = node.child_by_field_name("left")
        elif node.type == "update_expression":
            target = node.child_by_field_name("argument")
        else:
            called = node.child_by_field_name("function")
            name = "" if called is None else re.split(r"::|\.|->", side.source(called))[-1].split("<")[0]
            arguments = node.child_by_field_name("arguments")
            if not _WRITERS.match(name) or arguments is None or not arguments.named_children:
                continue
            found.update(re.findall(r"[^\W\d]\w*", side.source(arguments.named_children[0])))
            continue
        if target is not None and target.type not in {"identifier"}:
            found.update(re.findall(r"[^\W\d]\w*", side.source(target)))
    return frozenset(found)


def _acts(side: Side) -> bool:
    """Whether the text does anything that can be seen from outside: writes through a name, calls, returns a value."""
    if _written(side) or any(True for _ in side.nodes("call_expression")):
        return True
    return any(node.named_child_count for node in side.nodes("return_statement"))


def _outputs(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if rewrite.before.root is None or rewrite.after.root is None or rewrite.main is None:
        return
    if _acts(rewrite.before) and not _acts(rewrite.after):
        yield rewrite.found(rewrite.main.line, "the new text has no effect at all; the old one had")
        return
    written = _written(rewrite.before)
    inside = frozenset(token.text for token in rewrite.main.tokens[rewrite.main.body or 0 :])
    for name, constant in _pointers(rewrite.heading):
        if not constant and name in written and name not in inside:
            yield rewrite.found(rewrite.main.line, f"'{name}' was written and does not occur any more")


def _inputs(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    if rewrite.main is None:
        return
    inside = frozenset(token.text for token in rewrite.main.tokens[rewrite.main.body or 0 :])
    old = frozenset(token.text for token in rewrite.before.code[_opening(rewrite.before) :])
    for parameter in rewrite.heading.parameters:
        words = [text for text in parameter if re.fullmatch(r"[^\W\d]\w*", text)]
        if len(words) > 1 and words[-1] in old and words[-1] not in inside:
            yield rewrite.found(rewrite.main.line, f"the parameter '{words[-1]}' was used and is not any more")


def _opening(side: Side) -> int:
    return next((segment.body for segment in side.segments if segment.body is not None), 0)


def _state(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    for token in rewrite.after.code:
        if token.kind == "word" and token.text in case.around.state and token.text not in rewrite.before.words:
            yield rewrite.found(
                token.line, f"'{token.text}' keeps its value from one launch to the next and is new here"
            )


def _const(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    for token in rewrite.after.code:
        if token.kind == "word" and token.text == "const_cast" and "const_cast" not in rewrite.before.words:
            yield rewrite.found(token.line, "const_cast takes the protection off an input")
    inputs = {name for name, constant in _pointers(rewrite.heading) if constant}
    for node in rewrite.after.nodes("assignment_expression"):
        target = node.child_by_field_name("left")
        if target is not None and _casts_input(rewrite.after, target, inputs):
            yield rewrite.found(line_of(node), "an input that is const is written through a cast")


def _casts_input(side: Side, target: Node, inputs: set[str]) -> bool:
    text = side.source(target)
    match = re.search(
        r"\(\s*(?:[^()]*\*)\s*\)\s*\(?\s*&?\s*(\w+)|(?:const|reinterpret)_cast\s*<[^>]*>\s*\(\s*&?(\w+)", text
    )
    return match is not None and (match.group(1) or match.group(2)) in inputs and target.type != "identifier"


RULES = (
    Rule("lost-output", "what the function wrote it still writes", "fail", each(_outputs)),
    Rule("unused-input", "parameters that are not used any more are looked at by the proof", "flag", each(_inputs)),
    Rule("global-state", "no variable that outlives a launch is newly used", "fail", each(_state)),
    Rule("const-cast", "const inputs stay const", "fail", each(_const)),
)
