"""A Triton kernel's tree in one spelling, so that texts that say the same in other words are found to be the same.

What makes no difference: comments, docstrings, names of locals, ``x += y`` for ``x = x + y``, the order of the operands
of ``+`` and ``*`` and of keywords, ``a > b`` for ``b < a``, and variables that only compute and that nothing uses.
"""

from __future__ import annotations

import ast
from collections import Counter

from optimas_lsp.rewrite.guard.triton_code import TritonCode

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_COMMUTING = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_ACTING = (ast.Call, ast.Subscript)


def meaning(code: TritonCode) -> str:
    """The tree as text, locals as numbers in order of appearance; parameters keep their names."""
    module = ast.parse(code.text)
    used = Counter(node.id for node in ast.walk(module) if isinstance(node, ast.Name))
    module = _OneSpelling(used).visit(module)
    fixed = {node.arg for node in ast.walk(module) if isinstance(node, ast.arg)}
    numbers: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id in code.assigned - fixed:
            node.id = numbers.setdefault(node.id, f"_{len(numbers)}")
    return ast.dump(module)


class _OneSpelling(ast.NodeTransformer):
    """Rewrites what can be said in several ways; ``used`` counts the names of the text."""

    def __init__(self, used: Counter[str]) -> None:
        self._used = used

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Without its docstring."""
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """None for a variable that nothing uses and whose value only computes."""
        self.generic_visit(node)
        only = node.targets[0] if len(node.targets) == 1 else None
        idle = not any(isinstance(each, _ACTING) for each in ast.walk(node.value))
        if isinstance(only, ast.Name) and self._used[only.id] == 1 and idle:
            return None
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """As a plain assignment."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        old = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], self.visit_BinOp(ast.BinOp(old, node.op, node.value)))

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        """Operands that may be exchanged in one order."""
        self.generic_visit(node)
        if isinstance(node.op, _COMMUTING):
            node.left, node.right = sorted((node.left, node.right), key=ast.dump)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """``a > b`` as ``b < a``."""
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            return ast.Compare(node.comparators[0], [_TURNED[type(node.ops[0])]()], [node.left])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Keywords in one order."""
        self.generic_visit(node)
        node.keywords.sort(key=lambda each: each.arg or "")
        return node
