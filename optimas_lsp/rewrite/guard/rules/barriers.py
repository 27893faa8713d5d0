"""Barriers that went away or became conditional: not wrong for certain, so the proof is told where to look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.side import Side, line_of, within
from optimas_lsp.rewrite.guard.surroundings import callees

_BARRIERS = frozenset(
    {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__syncwarp", "sync"}
    | {"arrive_and_wait", "__barrier_sync", "__threadfence", "__threadfence_block", "__threadfence_system"}
)
_FENCES = frozenset({"__threadfence", "__threadfence_block", "__threadfence_system", "__syncwarp"})
_CONDITIONS = frozenset(
    {"if_statement", "switch_statement", "conditional_expression", "while_statement", "case_statement"}
)


def _calls(side: Side) -> Iterator[tuple[str, Node]]:
    for node in side.nodes("call_expression"):
        called = node.child_by_field_name("function")
        if called is None:
            continue
        name = side.source(called).replace("->", ".").replace("::", ".").rsplit(".", 1)[-1].split("<")[0].strip()
        if name in _BARRIERS:
            yield name, node


def _removed(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    before, after = _ordering(rewrite.before, case), _ordering(rewrite.after, case)
    for name, count in before.items():
        if after[name] < count:
            yield rewrite.found(0, f"{name} occurred {count} times in the text and does {after[name]} times")


def _ordering(side: Side, case: Case) -> Counter[str]:
    """How often what orders threads occurs: barriers, macros and assembly with one inside, volatile."""
    found = Counter(name for name, _ in _calls(side))
    for token in side.code:
        if token.kind == "word" and token.text in case.around.macros:
            if case.around.expansion({token.text}) & _BARRIERS:
                found[token.text] += 1
        elif token.kind == "string" and re.search(r"\b(?:bar|barrier|membar|fence)\b", token.text):
            found[token.text] += 1
        elif token.text in {"volatile", "__volatile__"}:
            found["volatile"] += 1
    return found


def _atomics(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    before, after = (
        {callee.name for callee in callees(side) if callee.name.startswith("atomic")}
        for side in (rewrite.before, rewrite.after)
    )
    for name in sorted(before - after):
        yield rewrite.found(0, f"{name} is not called any more: threads may write over each other's results")


def _unordered(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    line = next((token.line for token in rewrite.after.code if token.text == "__shared__"), 0)
    if line and not sum(_ordering(rewrite.after, case).values()):
        yield rewrite.found(line, "shared memory is used and nothing orders the threads that use it")


def _conditional(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    before = sum(bool(_condition(rewrite.before, node)) for name, node in _calls(rewrite.before) if name not in _FENCES)
    found = [
        (name, node, why)
        for name, node in _calls(rewrite.after)
        if name not in _FENCES and (why := _condition(rewrite.after, node))
    ]
    for name, node, why in found if len(found) > before else ():
        yield rewrite.found(line_of(node), f"{name} {why}: threads may wait for others that never come")


def _condition(side: Side, node: Node) -> str:
    """What makes a barrier one that not every thread reaches; empty if nothing visible does."""
    inner = node
    while (outer := inner.parent) is not None:
        if outer.type in _CONDITIONS and outer.child_by_field_name("condition") != inner:
            return f"stands under a condition (line {line_of(outer)})"
        if outer.type == "binary_expression" and _operator(side, outer) in {"&&", "||", "and", "or"}:
            return f"stands under a condition (line {line_of(outer)})"
        if outer.type == "lambda_expression":
            return f"stands in a lambda (line {line_of(outer)})"
        if outer.type == "function_definition":
            break
        inner = outer
    for leaving in within(outer or node, "return_statement"):
        if leaving.start_byte < node.start_byte and not _in_lambda(leaving):
            return f"stands after a return (line {line_of(leaving)})"
    return ""


def _operator(side: Side, node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else side.source(operator)


def _in_lambda(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type != "function_definition":
        if outer.type == "lambda_expression":
            return True
        outer = outer.parent
    return False


RULES = (
    Rule("shared-unordered", "shared memory without any barrier is looked at by the proof", "flag", each(_unordered)),
    Rule("atomic-removed", "atomic operations that are gone are looked at by the proof", "flag", each(_atomics)),
    Rule(
        "barrier-removed",
        "barriers, fences and volatile that are gone are looked at by the proof",
        "flag",
        each(_removed),
    ),
    Rule(
        "barrier-conditional",
        "barriers that not all threads may reach are looked at by the proof",
        "flag",
        each(_conditional),
    ),
)
