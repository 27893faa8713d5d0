"""What the names in a function stand for, what a stretch of it reads and writes, and what stays the same in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue import types
from optimas_lsp.rewrite.catalogue.nodes import bare, field, walk, within
from optimas_lsp.rewrite.catalogue.types import Integer
from optimas_lsp.source.code_bytes import CodeBytes

BUILTIN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"})
BARRIERS = re.compile(r"__syncthreads\w*|__syncwarp|__threadfence\w*|sync|__barrier_sync|arrive\w*|wait\w*")
ATOMICS = re.compile(r"atomic\w+")
PURE = frozenset(
    """min max abs labs llabs fabs fabsf fmin fminf fmax fmaxf fma fmaf sqrt sqrtf rsqrt rsqrtf exp expf exp2 exp2f log
    logf log2 log2f log10 log10f pow powf sin sinf cos cosf tan tanf floor floorf ceil ceilf round roundf rint rintf
    trunc truncf __popc __popcll __clz __clzll __ffs __ffsll __brev __ldg umin umax cbrt cbrtf tanh tanhf erf erff
    isnan isinf isfinite copysign copysignf fmod fmodf atan atan2 atanf atan2f asin acos sinh cosh hypot
    __mul24 __umulhi __mulhi""".split()
)
_CASTS = frozenset({"static_cast", "reinterpret_cast", "int", "float", "double", "unsigned", "size_t", "T", "bool"})


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


@dataclass(frozen=True)
class Access:
    """One read or write of memory through ``root``: the outermost subscript, dereference or shared scalar."""

    root: str
    node: Node
    index: tuple[Node, ...]
    write: bool
    read: bool
    atomic: bool = False


class Scope:
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

    # --- what is written and read -----------------------------------------------------------------------------------

    def assigned(self, node: Node) -> frozenset[str]:
        """Names of values that may change in ``node``: assigned, stepped, declared, or their address taken."""
        found: set[str] = set()
        for each in walk(node):
            target: Node | None = None
            if each.type == "assignment_expression":
                target = field(each, "left")
            elif each.type == "update_expression" or (
                each.type == "pointer_expression" and each.children and each.children[0].type == "&"
            ):
                target = field(each, "argument")
            elif each.type in {"declaration", "parameter_declaration"}:
                found.update(
                    v.name for group in self.variables.values() for v in group if v.node.start_byte == each.start_byte
                )
            if target is not None:
                root = self.root(target)
                if root is not None:
                    found.add(root)
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
            elif each.type == "pointer_expression" and each.children[0].type == "*":
                found.append(self._access(each, self.root(each) or "?", ()))
            elif each.type == "field_expression" and self.text(each).find("->") > 0:
                found.append(self._access(each, self.root(each) or "?", ()))
            elif each.type == "identifier" and self._shared_scalar(each):
                found.append(self._access(each, self.text(each), ()))
        return found

    def _inner_subscript(self, node: Node) -> bool:
        return node.parent is not None and node.parent.type == "subscript_expression" and (
            node.parent.child_by_field_name("argument") == node
        )

    def _shared_scalar(self, node: Node) -> bool:
        variable = self.one(self.text(node))
        if variable is None or not variable.shared or variable.dims or variable.pointer:
            return False
        return node.parent is None or node.parent.type not in {"declaration", "init_declarator"}

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

    def call_around(self, node: Node) -> Node | None:
        """The call that ``node`` is an argument of."""
        outer = node.parent
        if outer is not None and outer.type == "argument_list" and outer.parent is not None:
            return outer.parent if outer.parent.type == "call_expression" else None
        return None

    def callee(self, call: Node) -> str:
        """The called name, without scopes and template arguments."""
        name = self.text(field(call, "function"))
        return re.split(r"::|\.|->", name.split("<")[0])[-1].strip()

    def calls(self, node: Node) -> Iterable[tuple[str, Node]]:
        """Every call in ``node`` with the called name."""
        return ((self.callee(call), call) for call in within(node, "call_expression"))

    def impure(self, node: Node) -> str | None:
        """The first called name in ``node`` that may do more than compute from its arguments; atomics count."""
        return next((name for name, _ in self.calls(node) if not self.pure(name)), None)

    def pure(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a function only computes: CUDA's mathematics, or one in reach that writes nothing and has no pointer."""
        if name in PURE or name in _CASTS:
            return True
        source = self.functions.get(name)
        if source is None or name in seen:
            return False
        head, _, body = source.partition("{")
        if re.search(r"[*&\[]", head.partition("(")[2]) or re.search(r"__shared__|\bstatic\b|\basm\b|->|\*\s*\w+\s*=", body):
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

    # --- names and values ---------------------------------------------------------------------------------------------

    def names(self, node: Node) -> frozenset[str]:
        """Identifiers in ``node``, members and callees aside."""
        found: set[str] = set()
        for each in within(node, "identifier"):
            outer = each.parent
            if outer is not None and outer.type == "call_expression" and outer.child_by_field_name("function") == each:
                continue
            found.add(self.text(each))
        return frozenset(found)

    def invariant(self, node: Node, region: Node, but: frozenset[str] = frozenset()) -> bool:
        """Whether ``node`` has one value throughout ``region``: no name in it changes there, no memory is read."""
        if self.impure(node) is not None or self.accesses(node) or any(self._changes(node)):
            return False
        return not ((self.names(node) - but) & self.assigned(region))

    def _changes(self, node: Node) -> Iterable[bool]:
        return (True for _ in within(node, "assignment_expression", "update_expression", "lambda_expression"))

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

    def squeezed(self, node: Node) -> str:
        """The source of ``node`` without blanks, brackets around it left out: for comparing expressions."""
        return re.sub(r"\s+", "", self.text(bare(node)))

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

    def steady(self, variable: Variable) -> bool:
        """Whether a local keeps the value that it is declared with."""
        for each in walk(self.body):
            target: Node | None = None
            if each.type == "assignment_expression":
                target = field(each, "left")
            elif each.type == "update_expression" or (
                each.type == "pointer_expression" and each.children[0].type == "&"
            ):
                target = field(each, "argument")
            if target is not None and self.root(target) == variable.name:
                return False
        return True

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
        return flat in {
            f"{product}+threadIdx.x" for product in ("blockIdx.x*blockDim.x", "blockDim.x*blockIdx.x")
        } | {f"threadIdx.x+{product}" for product in ("blockIdx.x*blockDim.x", "blockDim.x*blockIdx.x")}
