"""Barriers that went away or became conditional: not wrong for certain, so the proof is told where to look."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.side import Side, line_of
from optimas_lsp.rewrite.guard.surroundings import callees

_BARRIERS = frozenset(
    {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or", "__syncwarp", "sync"}
    | {"arrive_and_wait", "__barrier_sync", "__threadfence", "__threadfence_block", "__threadfence_system"}
)
_FENCES = frozenset({"__threadfence", "__threadfence_block", "__threadfence_system", "__syncwarp"})
_ORDERS = frozenset(
    {"memory_order_acquire", "memory_order_release", "memory_order_acq_rel", "memory_order_seq_cst"}
    | {"thread_scope_device", "thread_scope_system", "thread_scope_block"}
)
_LOOPS = ("for_statement", "for_range_loop", "do_statement", "while_statement")
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
        elif token.text in _ORDERS:
            found[token.text] += 1
    return found


def _atomics(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    before, after = (
        {callee.name for callee in callees(side) if callee.name.startswith("atomic")}
        for side in (rewrite.before, rewrite.after)
    )
    for name in sorted(before - after):
        yield rewrite.found(0, f"{name} is not called any more: threads may write over each other's results")
    for name in sorted(after - before):
        if name.endswith("_block"):
            yield rewrite.found(0, f"{name} is new, and it keeps order among the threads of one block only")


def _unordered(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    line = next((token.line for token in rewrite.after.code if token.text == "__shared__"), 0)
    if line and not sum(_ordering(rewrite.after, case).values()):
        yield rewrite.found(line, "shared memory is used and nothing orders the threads that use it")


def _conditional(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = Counter(
        _kind(_condition(rewrite.before, node)) for name, node in _calls(rewrite.before) if name not in _FENCES
    )
    for name, node in itertools.islice(_calls(rewrite.after), _MOST):
        why = "" if name in _FENCES else _condition(rewrite.after, node)
        had[_kind(why)] -= bool(why)
        if why and had[_kind(why)] < 0:
            yield rewrite.found(line_of(node), f"{name} {why}: threads may wait for others that never come")


def _kind(why: str) -> str:
    """A reason without its line."""
    return why.split(" (line ", maxsplit=1)[0]


def _condition(side: Side, node: Node) -> str:
    """What makes a barrier one that not every thread reaches; empty if nothing visible does."""
    inner = node
    while (outer := inner.parent) is not None:
        if outer.type in _LOOPS and (why := _looping(side, outer, node)):
            return why
        if outer.type in _CONDITIONS and outer.child_by_field_name("condition") != inner:
            return f"stands under a condition (line {side.place(outer)})"
        if outer.type == "binary_expression" and _operator(side, outer) in {"&&", "||", "and", "or"}:
            return f"stands under a condition (line {side.place(outer)})"
        if outer.type == "lambda_expression":
            return f"stands in a lambda (line {side.place(outer)})"
        if outer.type == "function_definition":
            break
        inner = outer
    for leaving in _leavings(side):
        if leaving.type not in {"return_statement", "goto_statement"} or not _between(outer or node, leaving, node):
            continue
        if leaving.type == "goto_statement" and not _jumps_over(side, leaving, node):
            continue
        if not _in_lambda(leaving):
            return f"stands after a {leaving.type.split('_')[0]} (line {side.place(leaving)})"
    return ""


_MOST = 64
"""Barriers, and places where control leaves, that are looked at: their pairs are counted."""


@functools.lru_cache(maxsize=8)
def _leavings(side: Side) -> tuple[Node, ...]:
    """Where control leaves a block."""
    kinds = ("return_statement", "goto_statement", "continue_statement", "break_statement")
    return tuple(itertools.islice(side.nodes(*kinds), _MOST))


def _between(outer: Node, leaving: Node, barrier: Node) -> bool:
    """Whether control may leave inside of ``outer`` before it comes to the barrier."""
    return outer.start_byte <= leaving.start_byte < barrier.start_byte


def _jumps_over(side: Side, jump: Node, barrier: Node) -> bool:
    """Whether a jump's label stands after a barrier."""
    label = jump.child_by_field_name("label")
    for target in side.nodes("labeled_statement"):
        name = target.child_by_field_name("label")
        if label is not None and name is not None and side.source(name) == side.source(label):
            return target.start_byte > barrier.start_byte
    return True


def _looping(side: Side, loop: Node, barrier: Node) -> str:
    """Why threads may go round a loop a different number of times, or leave it before its barrier; empty if not."""
    for leaving in _leavings(side):
        if leaving.type not in {"continue_statement", "break_statement"} or not _between(loop, leaving, barrier):
            continue
        if _left(leaving) == loop:
            return f"stands after a {leaving.type.split('_')[0]} (line {side.place(leaving)})"
    heading = " ".join(
        side.source(part)
        for field in ("initializer", "condition", "update")
        if (part := loop.child_by_field_name(field)) is not None
    )
    if _own(side).intersection(re.findall(r"[^\W\d]\w*", heading)):
        return f"stands in a loop that each thread counts for itself (line {side.place(loop)})"
    return ""


def _left(leaving: Node) -> Node | None:
    """The loop or switch that a ``break`` or ``continue`` belongs to."""
    outer = leaving.parent
    while outer is not None and outer.type not in _LOOPS:
        if outer.type == "lambda_expression" or (
            outer.type == "switch_statement" and leaving.type == "break_statement"
        ):
            return outer
        outer = outer.parent
    return outer


@functools.lru_cache(maxsize=8)
def _own(side: Side) -> frozenset[str]:
    """``threadIdx`` and the variables that are computed from it, so that each thread has its own value."""
    found = {"threadIdx", "thread_rank"}
    assigned = [
        (side.source(target), set(re.findall(r"[^\W\d]\w*", side.source(value))))
        for node in side.nodes("init_declarator", "assignment_expression")
        if (target := node.child_by_field_name("declarator") or node.child_by_field_name("left")) is not None
        and (value := node.child_by_field_name("value") or node.child_by_field_name("right")) is not None
        and target.type == "identifier"
    ]
    before = 0
    while before != len(found):
        before = len(found)
        found |= {name for name, words in assigned if words & found}
    return frozenset(found)


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
