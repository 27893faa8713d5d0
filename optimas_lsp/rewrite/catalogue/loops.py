"""Counted loops: ``for (T v = start; v < bound; v += step)`` whose bound and step stay the same."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.nodes import bare, field, within
from optimas_lsp.rewrite.catalogue.scope import Scope
from optimas_lsp.rewrite.catalogue.types import Integer


@dataclass(frozen=True)
class CountedLoop:
    """One such loop. ``step`` is None for a step of one; ``trips`` is known where all three are constants."""

    node: Node
    variable: str
    type: str
    integer: Integer
    start: Node
    bound: Node
    step: Node | None
    body: Node
    trips: int | None

    def step_text(self, scope: Scope) -> str:
        """The step as source."""
        return "1" if self.step is None else scope.text(self.step)


def counted(scope: Scope, node: Node) -> CountedLoop | str:
    """``node`` as a counted loop, or in what it is none."""
    start = node.child_by_field_name("initializer")
    condition = node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    body = node.child_by_field_name("body")
    if start is None or condition is None or update is None or body is None or start.type != "declaration":
        return "the loop does not declare, test and step a variable"
    declared = start.children_by_field_name("declarator")
    kind = scope.text(field(start, "type"))
    integer = types.integer(kind)
    if len(declared) != 1 or declared[0].type != "init_declarator" or integer is None or integer.bits < 32:
        return "the loop's variable is not one integer of 32 or 64 bits"
    variable = scope.text(field(declared[0], "declarator"))
    condition = bare(condition)
    if (
        condition.type != "binary_expression"
        or field(condition, "operator").type != "<"
        or scope.text(field(condition, "left")) != variable
    ):
        return f"the loop does not end at '{variable} < bound'"
    step = _step(scope, update, variable)
    if isinstance(step, str):
        return f"the loop does not step '{variable}' by adding to it"
    bound = field(condition, "right")
    if variable in scope.assigned(body):
        return f"the loop's body changes '{variable}'"
    parts = [bound] if step is None else [bound, step]
    if not all(scope.invariant(part, body) for part in parts):
        return "the loop's bound or step may change while it runs"
    first, last = scope.value_of(field(declared[0], "value")), scope.value_of(bound)
    by = 1 if step is None else scope.value_of(step)
    trips = None
    if first is not None and last is not None and by:
        trips = max(0, -(-(last - first) // by))
    return CountedLoop(node, variable, kind, integer, field(declared[0], "value"), bound, step, body, trips)


def _step(scope: Scope, update: Node, variable: str) -> Node | str | None:
    """What is added to the variable: None for one, an empty text where something else is done."""
    if update.type == "update_expression":
        same = scope.text(field(update, "argument")) == variable and "++" in scope.text(update)
        return None if same else ""
    if update.type != "assignment_expression" or scope.text(field(update, "left")) != variable:
        return ""
    operator, right = field(update, "operator").type, field(update, "right")
    if operator == "+=":
        return right
    if operator == "=" and right.type == "binary_expression" and field(right, "operator").type == "+":
        left, other = field(right, "left"), field(right, "right")
        if scope.text(left) == variable:
            return other
        if scope.text(other) == variable:
            return left
    return ""


def loops(scope: Scope) -> list[Node]:
    """Every ``for`` loop of the function, outer ones first."""
    return list(within(scope.body, "for_statement"))


def comparable(scope: Scope, loop: CountedLoop) -> str | None:
    """Why ``variable < bound`` may not compare as numbers of the variable's own type; None when it does."""
    bound = scope.integer_of(loop.bound)
    if bound is None:
        return f"the type of the bound '{scope.text(loop.bound)}' cannot be told"
    if bound.bits > loop.integer.bits:
        return f"the bound '{scope.text(loop.bound)}' is wider than '{loop.variable}'"
    if bound.bits == loop.integer.bits and bound.signed != loop.integer.signed and scope.value_of(loop.bound) is None:
        return f"'{loop.variable}' and its bound differ in sign"
    return None
