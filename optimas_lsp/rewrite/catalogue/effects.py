"""What a stretch of a function does: the memory it reads and writes, what it calls, what stays the same in it."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.names import Names, changed
from optimas_lsp.rewrite.catalogue.nodes import bare, field, walk, within

BARRIERS = re.compile(r"__syncthreads\w*|__syncwarp|__threadfence\w*|sync|__barrier_sync|arrive\w*|wait\w*")
ATOMICS = re.compile(r"atomic\w+")
_CASTS = frozenset({"static_cast", "reinterpret_cast", "int", "float", "double", "unsigned", "size_t", "T", "bool"})


@functools.cache
def pure_functions() -> frozenset[str]:
    """CUDA's functions that only compute."""
    data = resources.files("optimas_lsp.rewrite.catalogue").joinpath("pure_functions.toml").read_text("utf-8")
    return frozenset(tomllib.loads(data)["words"].split())


@dataclass(frozen=True)
class Access:
    """One read or write of memory through ``root``: the outermost subscript, dereference or shared scalar."""

    root: str
    node: Node
    index: tuple[Node, ...]
    write: bool
    read: bool
    atomic: bool = False


class Effects(Names):
    """Names with what is done to the memory behind them."""

    def assigned(self, node: Node) -> frozenset[str]:
        """Names of values that may change in ``node``: assigned, stepped, declared, or their address taken."""
        found = {root for target in changed(node) if (root := self.root(target)) is not None}
        starts = {each.start_byte for each in within(node, "declaration", "parameter_declaration")}
        found |= {v.name for group in self.variables.values() for v in group if v.node.start_byte in starts}
        return frozenset(found)

    def assigned_values(self, node: Node) -> frozenset[str]:
        """Like ``assigned``, but writing an element, or handing its address on, does not change its array's name."""
        return frozenset(
            name
            for name in self.assigned(node)
            if not any(variable.memory for variable in self.variables.get(name, ())) or self._moved(node, name)
        )

    def assigned_after(self, *names: str) -> frozenset[str]:
        """Those of ``names`` whose value changes after their declaration."""
        return frozenset(n for n in names if (v := self.one(n)) is None or not self.steady(v))

    def _moved(self, node: Node, name: str) -> bool:
        for each in within(node, "assignment_expression", "update_expression"):
            target = bare(field(each, "left" if each.type == "assignment_expression" else "argument"))
            variable = self.one(name)
            scalar = variable is not None and variable.shared and not variable.dims and not variable.pointer
            if target.type == "identifier" and self.text(target) == name and not scalar:
                return True
        return False

    def accesses(self, node: Node) -> list[Access]:
        """Reads and writes of memory in ``node``: through pointers and arrays, and of shared scalars."""
        found: list[Access] = []
        for each in walk(node):
            if each.type == "subscript_expression" and not self._inner_subscript(each):
                index: list[Node] = []
                inner = each
                while inner.type == "subscript_expression":
                    index = [*field(inner, "indices").named_children, *index]
                    inner = bare(field(inner, "argument"))
                found.append(self._access(each, self.root(inner) or "?", tuple(index)))
            elif (each.type == "pointer_expression" and each.children[0].type == "*") or (
                each.type == "field_expression" and self.text(each).find("->") > 0
            ):
                found.append(self._access(each, self.root(each) or "?", ()))
            elif each.type == "identifier" and self._shared_scalar(each):
                found.append(self._access(each, self.text(each), ()))
        return found

    def _inner_subscript(self, node: Node) -> bool:
        return (
            node.parent is not None
            and node.parent.type == "subscript_expression"
            and (node.parent.child_by_field_name("argument") == node)
        )

    def _shared_scalar(self, node: Node) -> bool:
        variable = self.one(self.text(node))
        if variable is None or not variable.shared or variable.dims or variable.pointer:
            return False
        outer = node.parent
        return outer is None or not (
            outer.type in {"declaration", "init_declarator"} and outer.child_by_field_name("declarator") == node
        )

    def _access(self, node: Node, root: str, index: tuple[Node, ...]) -> Access:
        inner, outer = node, node.parent
        while outer is not None and outer.type in {"parenthesized_expression", "field_expression"}:
            inner, outer = outer, outer.parent
        write, read, atomic = False, True, False
        if outer is not None and outer.type == "assignment_expression" and outer.child_by_field_name("left") == inner:
            operator = field(outer, "operator").type
            write, read = True, operator != "="
        elif outer is not None and outer.type == "update_expression":
            write = True
        elif outer is not None and outer.type == "pointer_expression" and outer.children[0].type == "&":
            write = True
            call = self.call_around(outer)
            atomic = call is not None and bool(ATOMICS.fullmatch(self.callee(call)))
        return Access(root, node, index, write, read, atomic)

    def impure(self, node: Node) -> str | None:
        """The first called name in ``node`` that may do more than compute from its arguments; atomics count."""
        return next((name for name, _ in self.calls(node) if not self.pure(name)), None)

    def pure(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a function only computes: CUDA's mathematics, or one in reach without writes and pointers."""
        if name in pure_functions() or name in _CASTS:
            return True
        source = self.functions.get(name)
        if source is None or name in seen:
            return False
        head, _, body = source.partition("{")
        if re.search(r"[*&\[]", head.partition("(")[2]) or re.search(
            r"__shared__|\bstatic\b|\basm\b|->|\*\s*\w+\s*=", body
        ):
            return False
        called = set(re.findall(r"\b([A-Za-z_]\w*)\s*\(", body)) - {"if", "for", "while", "switch", "return", "sizeof"}
        return all(self.pure(each, seen | {name}) for each in called)

    def barriers(self, node: Node) -> bool:
        """Whether threads wait for each other, or order memory, in ``node``."""
        return any(BARRIERS.fullmatch(name) for name, _ in self.calls(node))

    def leaves(self, node: Node, *, own_loop: bool = True) -> bool:
        """Whether something in ``node`` jumps out of it; ``own_loop`` counts breaks and continues too."""
        kinds = {"return_statement", "goto_statement", "labeled_statement"}
        if own_loop:
            kinds |= {"break_statement", "continue_statement"}
        return any(True for _ in within(node, *kinds))

    def invariant(self, node: Node, region: Node, but: frozenset[str] = frozenset()) -> bool:
        """Whether ``node`` has one value throughout ``region``: no name in it changes there, no memory is read."""
        if self.impure(node) is not None or self.accesses(node) or any(self._changes(node)):
            return False
        return not ((self.names(node) - but) & self.assigned(region))

    def _changes(self, node: Node) -> Iterable[bool]:
        return (True for _ in within(node, "assignment_expression", "update_expression", "lambda_expression"))
