"""Give the literals of a float kernel their suffix, so that nothing is computed in double."""

from __future__ import annotations

import math
import re

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.nodes import bare, field, within
from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant

_DOUBLE = re.compile(r"(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")


def find(site: Site) -> Found:
    """One variant for all literals of the function."""
    scope = site.scope
    literals = [node for node in within(scope.body, "number_literal") if _DOUBLE.fullmatch(scope.text(node))]
    if not literals:
        yield Refusal("the function has no double literal")
        return
    if re.search(r"\bdouble\b", scope.text(site.node)):
        yield Refusal("the function computes in double on purpose")
        return
    if not any(v.type == "float" for group in scope.variables.values() for v in group):
        yield Refusal("the function has no float variable")
        return
    exact = all(_power_of_two(site, node) for node in literals)
    yield Variant(
        "all literals",
        tuple(Edit(node.end_byte, node.end_byte, "f") for node in literals),
        site.lines(*literals),
        "a literal without suffix is double and draws the whole expression into double arithmetic"
        + ("; here the result is the same: the factor is a power of two" if exact else ""),
        exact=exact,
    )


def _power_of_two(site: Site, node: Node) -> bool:
    """Whether ``float = integer * literal`` rounds once in either precision: the literal is a power of two.

    An integer of at most 53 bits is exact in double and the product by a power of two is, too, so that the one
    rounding is the last conversion; in float it is the first one, of the same significant bits.
    """
    scope = site.scope
    value = float(scope.text(node))
    if value <= 0 or math.frexp(value)[0] != 0.5 or not 2.0**-90 <= value <= 2.0**60:
        return False
    product = node.parent
    if product is None or product.type != "binary_expression" or field(product, "operator").type != "*":
        return False
    other = field(product, "left") if field(product, "right") == node else field(product, "right")
    kind = scope.integer_of(bare(other))
    if kind is None or kind.bits > 32 or bare(other).type != "identifier":
        return False
    outer = product.parent
    if outer is None or outer.type != "assignment_expression" or field(outer, "operator").type != "=":
        return False
    root = scope.root(field(outer, "left"))
    return root is not None and types.plain(site.element(root) or "") == "float"
