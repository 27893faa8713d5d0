"""The names of a function: what each stands for, where it is used, how expressions are spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.nodes import bare, field, walk, within
from optimas_lsp.source.code_bytes import CodeBytes


@dataclass(frozen=True)
class Variable:
    """One declared name. ``dims`` are the texts of its array bounds; ``pointer`` counts its stars."""

    name: str
    type: str
    pointer: int
    const: bool
    dims: tuple[str, ...]
    shared: bool
    parameter: bool
    node: Node
    value: Node | None

    @property
    def memory(self) -> bool:
        """Whether the name stands for memory rather than for a value."""
        return bool(self.pointer or self.dims or self.shared)


class Names:
    """The names of one function.

    ``functions`` are the texts of device functions that may be called, by name; ``taken`` the names that mean something
    outside of functions.
    """

    def __init__(
        self,
        code: CodeBytes,
        node: Node,
        constants: Mapping[str, int],
        functions: Mapping[str, str],
        taken: frozenset[str] = frozenset(),
    ) -> None:
        self.code = code
        self.node = node
        self.body = field(node, "body")
        self.constants = constants
        self.functions = functions
        self.taken = taken

    def text(self, node: Node) -> str:
        """The source of ``node``."""
        return self.code.text(node)

    @cached_property
    def variables(self) -> Mapping[str, tuple[Variable, ...]]:
        """Every declaration of each name, parameters first."""
        found: dict[str, list[Variable]] = {}
        for node in within(self.node, "parameter_declaration", "declaration"):
            kind = node.child_by_field_name("type")
            if kind is None:
                continue
            head = self.code.data[node.start_byte : kind.end_byte].decode("utf-8", "replace")
            for child in node.children_by_field_name("declarator"):
                variable = self._variable(child, node, self.text(kind), head)
                if variable is not None:
                    found.setdefault(variable.name, []).append(variable)
        return {name: tuple(items) for name, items in found.items()}

    def _variable(self, declarator: Node, node: Node, kind: str, head: str) -> Variable | None:
        value: Node | None = None
        pointer = 0
        dims: list[str] = []
        inner = declarator
        while inner.type not in {"identifier", "field_identifier"}:
            if inner.type == "init_declarator":
                value = inner.child_by_field_name("value")
            elif inner.type == "pointer_declarator":
                pointer += 1
            elif inner.type == "reference_declarator":
                pointer += 1
                inner = inner.named_children[-1]
                continue
            elif inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                dims.insert(0, "" if size is None else self.text(size))
            deeper = inner.child_by_field_name("declarator")
            if deeper is None:
                return None
            inner = deeper
        return Variable(
            self.text(inner),
            types.plain(kind),
            pointer,
            bool(re.search(r"\b(?:const|constexpr)\b", head)),
            tuple(dims),
            "__shared__" in head,
            node.type == "parameter_declaration",
            node,
            value,
        )

    def one(self, name: str) -> Variable | None:
        """The declaration of ``name`` if there is exactly one."""
        found = self.variables.get(name, ())
        return found[0] if len(found) == 1 else None

    def fresh(self, wanted: str) -> str:
        """``wanted``, or it with a number, such that nothing in the function or around it has that name."""
        name, count = wanted, 1
        while name in self.taken or name in self.words:
            count += 1
            name = f"{wanted}_{count}"
        return name

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the function's text."""
        return frozenset(re.findall(r"[A-Za-z_]\w*", self.text(self.node)))

    def root(self, node: Node) -> str | None:
        """The name that an lvalue or address starts from."""
        node = bare(node)
        while True:
            if node.type == "identifier":
                return self.text(node)
            if node.type in {"subscript_expression", "field_expression", "pointer_expression"}:
                node = bare(field(node, "argument"))
            elif node.type == "binary_expression":
                node = bare(field(node, "left"))
            elif node.type == "cast_expression":
                node = bare(field(node, "value"))
            else:
                return None

    def names(self, node: Node) -> frozenset[str]:
        """Identifiers in ``node``, members and callees aside."""
        found: set[str] = set()
        for each in within(node, "identifier"):
            outer = each.parent
            if outer is not None and outer.type == "call_expression" and outer.child_by_field_name("function") == each:
                continue
            found.add(self.text(each))
        return frozenset(found)

    def steady(self, variable: Variable) -> bool:
        """Whether a name keeps what it is declared with; a pointer does where only what it points to is written."""
        targets = [bare(target) for target in changed(self.body)]
        if variable.pointer:
            targets = [target for target in targets if target.type == "identifier"]
        return all(self.root(target) != variable.name for target in targets)

    def calls(self, node: Node) -> Iterable[tuple[str, Node]]:
        """Every call in ``node`` with the called name."""
        return ((self.callee(call), call) for call in within(node, "call_expression"))

    def callee(self, call: Node) -> str:
        """The called name, without scopes and template arguments."""
        name = self.text(field(call, "function"))
        return re.split(r"::|\.|->", name.split("<")[0])[-1].strip()

    def call_around(self, node: Node) -> Node | None:
        """The call that ``node`` is an argument of."""
        outer = node.parent
        if outer is not None and outer.type == "argument_list" and outer.parent is not None:
            return outer.parent if outer.parent.type == "call_expression" else None
        return None

    def squeezed(self, node: Node) -> str:
        """The source of ``node`` without blanks, brackets around it left out: for comparing expressions."""
        return re.sub(r"\s+", "", self.text(bare(node)))


def changed(node: Node) -> Iterator[Node]:
    """What is assigned or stepped in ``node``, and what has its address taken."""
    for each in walk(node):
        if each.type == "assignment_expression":
            yield field(each, "left")
        elif each.type == "update_expression" or (
            each.type == "pointer_expression" and each.children and each.children[0].type == "&"
        ):
            yield field(each, "argument")
