"""Values of expressions in a function: constants, types of integers, the thread's own numbers."""

from __future__ import annotations

import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.effects import Access, Effects
from optimas_lsp.rewrite.catalogue.names import Variable
from optimas_lsp.rewrite.catalogue.nodes import bare, field
from optimas_lsp.rewrite.catalogue.types import Integer

__all__ = ["BUILTIN", "Access", "Scope", "Variable"]

BUILTIN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"})


class Scope(Effects):
    """All that is known of one function's names."""

    def value_of(self, node: Node) -> int | None:
        """The number that a constant expression of literals and known constants is, or None."""
        node = bare(node)
        text = self.text(node)
        number = types.literal(text)
        if number is not None:
            return number[0]
        if node.type == "identifier":
            return self.constants.get(text) if text not in self.variables else None
        if node.type == "binary_expression":
            left, right = self.value_of(field(node, "left")), self.value_of(field(node, "right"))
            operator = field(node, "operator").type
            if left is None or right is None:
                return None
            return {"+": left + right, "-": left - right, "*": left * right}.get(operator)
        return None

    def integer_of(self, node: Node) -> Integer | None:
        """The integer type of an expression, as far as it can be told."""
        node = bare(node)
        kind, text = node.type, self.text(node)
        if kind == "number_literal":
            number = types.literal(text)
            return None if number is None else number[1]
        if kind == "identifier":
            if text in self.variables:
                known = {(v.type, v.memory) for v in self.variables[text]}
                one = next(iter(known)) if len(known) == 1 else ("", True)
                return None if one[1] else types.integer(one[0])
            return Integer(32, signed=True) if text in self.constants else None
        if kind == "field_expression":
            return Integer(32, signed=False) if self.text(field(node, "argument")) in BUILTIN else None
        if kind == "cast_expression":
            return types.integer(self.text(field(node, "type")))
        if kind == "binary_expression":
            return self._joined(field(node, "left"), field(node, "right"))
        if kind == "call_expression" and self.callee(node) in {"min", "max"}:
            given = field(node, "arguments").named_children
            return self._joined(given[0], given[1]) if len(given) == 2 else None
        return None

    def _joined(self, left: Node, right: Node) -> Integer | None:
        one, other = self.integer_of(left), self.integer_of(right)
        if one is None or other is None:
            return None
        one, other = (each if each.bits >= 32 else Integer(32, signed=True) for each in (one, other))
        if one.bits != other.bits:
            return one if one.bits > other.bits else other
        return Integer(one.bits, one.signed and other.signed)

    def resolved(self, node: Node) -> str:
        """Like ``squeezed``, but a local that is set once to something else is replaced by that."""
        node = bare(node)
        if node.type == "identifier":
            variable = self.one(self.text(node))
            if variable is not None and variable.value is not None and not variable.memory and self.steady(variable):
                return self.resolved(variable.value)
        if node.type == "cast_expression":
            return self.resolved(field(node, "value"))
        return self.squeezed(node)

    def is_thread(self, node: Node) -> bool:
        """Whether an expression is the thread's number in the block along x."""
        return self.resolved(node) == "threadIdx.x"

    def is_global_thread(self, node: Node) -> bool:
        """Whether an expression is ``blockIdx.x * blockDim.x + threadIdx.x``, casts aside."""
        node = bare(node)
        if node.type == "identifier":
            variable = self.one(self.text(node))
            if variable is None or variable.value is None or not self.steady(variable):
                return False
            return self.is_global_thread(variable.value)
        flat = re.sub(r"\((?:unsigned |long |int|long long|size_t|unsigned|u?int\d+_t|\s)+\)", "", self.text(node))
        flat = re.sub(r"[\s()]", "", re.sub(r"static_cast<[^<>]*>", "", flat))
        return flat in {f"{product}+threadIdx.x" for product in ("blockIdx.x*blockDim.x", "blockDim.x*blockIdx.x")} | {
            f"threadIdx.x+{product}" for product in ("blockIdx.x*blockDim.x", "blockDim.x*blockIdx.x")
        }
