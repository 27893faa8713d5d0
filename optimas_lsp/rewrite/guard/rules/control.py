"""Control flow that hangs, never ends, is never reached or calls itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.side import Side, line_of, within
from optimas_lsp.rewrite.guard.surroundings import callees
from optimas_lsp.rewrite.guard.tokens import Token

_LOOPS = ("while_statement", "do_statement", "for_statement")
_NEST = frozenset({*_LOOPS, "for_range_loop", "switch_statement", "lambda_expression"})
_TRUE = re.compile(r"\(*\s*(?:true|[1-9]\d*[uUlL]*|!\s*(?:0|false)|1\s*==\s*1)\s*\)*")
_FALSE = re.compile(r"\(*\s*(?:false|0+[uUlL]*|!\s*(?:1|true)|nullptr|0\s*==\s*1|1\s*==\s*0|1\s*<\s*0)\s*\)*")
_WAITING = re.compile(r"\batomic\w*\s*\(|\bvolatile\b|\bload\s*\(|__ldcv|__ldcg")
_IDLE = re.compile(
    r"[{};\s]*(?:(?:__threadfence\w*|__syncwarp|__syncthreads|__nanosleep|continue)\s*(?:\([^)]*\))?\s*;[{};\s]*)*"
)


def _condition(side: Side, node: Node) -> str | None:
    """The text of a loop's condition; empty for ``for (;;)``, None where there is none to look at."""
    condition = node.child_by_field_name("condition")
    if condition is None:
        return "" if node.type == "for_statement" else None
    return side.source(condition)


def _endless(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = sum(1 for _ in _unending(rewrite.before))
    for at, node in enumerate(_unending(rewrite.after)):
        if at >= had:
            yield rewrite.found(line_of(node), "the loop has no end: no condition, no break, no return")


def _unending(side: Side) -> Iterator[Node]:
    for node in side.nodes(*_LOOPS):
        condition = _condition(side, node)
        if condition is None:
            continue
        always = not condition.strip("() \n") or _TRUE.fullmatch(condition.strip()) is not None
        body = node.child_by_field_name("body")
        if body is not None and (always or _is_settled(side, node)) and not _leaves(body):
            yield node


_MAY_CHANGE = ("subscript_expression", "call_expression", "pointer_expression", "field_expression", "update_expression")


def _is_settled(side: Side, loop: Node) -> bool:
    """Whether a loop's condition is of variables only and the loop changes none of them: true once is true for ever."""
    condition = loop.child_by_field_name("condition")
    if condition is None or next(within(condition, *_MAY_CHANGE, "assignment_expression"), None) is not None:
        return False
    names = {side.source(each) for each in within(condition, "identifier")}
    for node in within(loop, "assignment_expression", "update_expression", "pointer_expression", "argument_list"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument") or node
        if names & {side.source(each) for each in within(target, "identifier")}:
            return False
    lambdas = next(within(loop, "lambda_expression", "init_declarator"), None)
    if lambdas is not None and any("&" in side.source(each) for each in within(loop, "reference_declarator")):
        return False
    return bool(names)


def _leaves(body: Node) -> bool:
    """Whether something in a loop's body leaves the loop."""
    waiting = [(body, True)]
    while waiting:
        node, own = waiting.pop()
        if node.type in {"return_statement", "goto_statement"} or (node.type == "break_statement" and own):
            return True
        if node.type != "lambda_expression":
            waiting += [(child, own and node.type not in _NEST) for child in node.children]
    return False


def _spins(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = sum(1 for _ in _spinning(rewrite.before))
    for at, node in enumerate(_spinning(rewrite.after)):
        if at >= had:
            yield rewrite.found(line_of(node), "the loop waits for other threads to change memory")


def _spinning(side: Side) -> Iterator[Node]:
    for node in side.nodes(*_LOOPS):
        body = node.child_by_field_name("body")
        condition = _condition(side, node) or ""
        if body is None:
            continue
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", side.source(body), flags=re.DOTALL)
        idle = _IDLE.fullmatch(code) is not None
        advances = node.type == "for_statement" and node.child_by_field_name("update") is not None
        if node.type == "while_statement" and re.search(r"\+\+|--|[-+*/|&^]=|<<=|>>=", condition):
            advances = True
        waits = node.type == "while_statement" and _WAITING.search(condition) is not None
        if not advances and (waits or (idle and not _TRUE.fullmatch(condition.strip() or "1"))):
            yield node


def _dead(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = {rewrite.before.source(node) for node, _ in _unreached(rewrite.before)}
    for node, why in _unreached(rewrite.after):
        if rewrite.after.source(node) not in had:
            yield rewrite.found(line_of(node), why)


def _unreached(side: Side) -> Iterator[tuple[Node, str]]:
    for block in side.nodes("compound_statement"):
        statements = [child for child in block.named_children if child.type != "comment"]
        for at, node in enumerate(statements[:-1]):
            following = statements[at + 1]
            if following.type in {"labeled_statement", "case_statement"} or following.type.startswith("preproc"):
                continue
            if node.type in {"return_statement", "goto_statement", "break_statement", "continue_statement"}:
                yield following, f"nothing gets here: line {side.place(node)} leaves before"
                break
    for node in side.nodes("if_statement", "while_statement"):
        condition = node.child_by_field_name("condition")
        text = "" if condition is None else side.source(condition).strip()
        if any(child.type == "constexpr" or side.source(child) == "constexpr" for child in node.children):
            continue
        if _FALSE.fullmatch(text):
            yield node, f"the condition {text} is never true"
        elif node.type == "if_statement" and _TRUE.fullmatch(text):
            yield node, f"the condition {text} is always true"


def _leaving(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = {token.text for token in rewrite.before.code if token.kind == "number"}
    for node in rewrite.after.nodes("return_statement", "break_statement", "continue_statement"):
        outer = node.parent
        while outer is not None and outer.type in {"compound_statement", "else_clause"}:
            outer = outer.parent
        condition = (
            outer.child_by_field_name("condition") if outer is not None and outer.type == "if_statement" else None
        )
        for number in [] if condition is None else _numbers(rewrite.after, condition):
            if (number not in had and number not in _SMALL) or (condition and _is_bound(rewrite, condition, number)):
                text = " ".join(rewrite.after.source(condition).split()) if condition else ""
                yield rewrite.found(line_of(node), f"work ends early under {text[:60]}, and {number} is new")
                break


def _is_bound(rewrite: Rewrite, condition: Node, number: str) -> bool:
    """Whether a new comparison is with the number itself, more than 1: a size that the tests may not reach."""
    if number in {"0", "1", "0u", "1u", "0.0f", "0.f", "1.0f", "0.0", "1.0"}:
        return False
    for node in within(condition, "binary_expression"):
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        whole = "".join(rewrite.after.source(node).split())
        if any(each is not None and rewrite.after.source(each) == number for each in sides) and _operator(
            rewrite.after, node
        ) in {"<", ">", "<=", ">=", "==", "!="}:
            return whole not in "".join(rewrite.before.text.split())
    return False


def _operator(side: Side, node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else side.source(operator)


_SMALL = frozenset({"0", "1", "2", "3", "4", "0u", "1u", "2u", "0.0f", "0.f", "1.0f", "0.0", "1.0"})


def _numbers(side: Side, node: Node) -> list[str]:
    return [side.source(each) for each in within(node, "number_literal")]


def _recursion(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    graph = _graph(case, before=False)
    name, code = rewrite.function.name, rewrite.after.code
    for token, following, argument in zip(code, code[1:], code[2:], strict=False):
        if (
            token.kind == "word"
            and following.text == "("
            and argument.text == token.text
            and _is_parameter(rewrite, token)
        ):
            yield rewrite.found(token.line, f"'{token.text}' is called with itself")
    if _reaches_itself(graph, name) and not _reaches_itself(_graph(case, before=True), name):
        line = next((c.line for c in callees(rewrite.after) if c.name == name or _reaches(graph, c.name, name)), 0)
        yield rewrite.found(line, f"'{name}' now calls itself, directly or through others")


def _is_parameter(rewrite: Rewrite, token: Token) -> bool:
    """Whether a word is declared in the new text, as a lambda or its parameter is, and was no function before."""
    return token.text in rewrite.after.declared and token.text not in rewrite.before.words


def _graph(case: Case, *, before: bool) -> dict[str, frozenset[str]]:
    """Which GPU function of the file calls which, by name, before the rewrite or after it."""
    graph: dict[str, frozenset[str]] = {}
    rewritten = {rewrite.function: rewrite for rewrite in case.rewrites}
    for function in case.syntax.functions:
        if function.kind == "host":
            continue
        rewrite = rewritten.get(function)
        if rewrite is not None:
            called = _called_inside(rewrite.before if before else rewrite.after)
        else:
            calls = case.syntax.calls(function.first_line, function.last_line)
            called = frozenset(call.callee.rsplit("::", 1)[-1] for call in calls)
        graph[function.name] = graph.get(function.name, frozenset()) | called
    return graph


def _called_inside(side: Side) -> frozenset[str]:
    """Names called in the bodies of the text's functions."""
    found: set[str] = set()
    for segment in side.segments:
        tokens = segment.tokens[segment.body or 0 :]
        found.update(
            token.text
            for token, following in itertools.pairwise(tokens)
            if token.kind == "word" and following.text in {"(", "<"}
        )
    return frozenset(found)


def _reaches_itself(graph: dict[str, frozenset[str]], name: str) -> bool:
    return any(called == name or _reaches(graph, called, name) for called in graph.get(name, ()))


def _reaches(graph: dict[str, frozenset[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        called = graph.get(each, frozenset())
        if goal in called:
            return True
        waiting += called
    return False


RULES = (
    Rule("endless-loop", "every new loop can end", "fail", each(_endless)),
    Rule("spin-wait", "no loop waits for other threads", "fail", each(_spins)),
    Rule("unreachable", "no code is put out of reach", "fail", each(_dead)),
    Rule("early-end", "leaving under a condition on a new number is looked at by the proof", "flag", each(_leaving)),
    Rule("recursion", "no function begins to call itself", "fail", each(_recursion)),
)
