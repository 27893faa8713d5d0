"""Which pointers of a kernel never overlap: proven from every launch in the file, or said why not.

Two arguments are apart when each is a pointer that only one ``cudaMalloc`` sets, and not the same pointer. Elements of
an array of such pointers stay apart under statements that only permute them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import bare, field, within
from optimas_lsp.source.functions import Function
from optimas_lsp.source.syntax import Syntax

_ALLOCATES = re.compile(r"cudaMalloc(?:Managed|Host|Async)?|hipMalloc")


@dataclass(frozen=True)
class Apart:
    """The verdict: ``proven``, or ``why`` not."""

    proven: bool
    why: str = ""


def apart(syntax: Syntax, kernel: Function) -> Apart:
    """Whether all pointers that reach ``kernel`` are different allocations in every launch."""
    if syntax.tree is None:
        return Apart(False, "the file could not be parsed")
    root = syntax.tree.root_node
    pointers = [at for at, parameter in enumerate(kernel.parameters) if "*" in parameter.text]
    if any("&" in parameter.text for parameter in kernel.parameters):
        return Apart(False, "the kernel takes a reference")
    launches = [call for call in within(root, "call_expression") if _launched(syntax, call) == kernel.name]
    shared_name = [each for each in syntax.kernels if each.name == kernel.name]
    if len(shared_name) > 1:
        launches = [call for call in launches if _fits(syntax, call, kernel)]
    if not launches:
        return Apart(False, f"no launch of '{kernel.name}' stands in the file, so its pointers may overlap")
    if _named_elsewhere(syntax, root, kernel):
        return Apart(False, f"'{kernel.name}' is also launched through a pointer, so its pointers may overlap")
    for call in launches:
        why = _overlapping(syntax, root, call, kernel, pointers)
        if why:
            line = syntax.code.place(call.start_byte).line
            return Apart(False, f"at the launch on line {line} {why}, so the kernel's pointers may overlap")
    return Apart(True)


def _launched(syntax: Syntax, call: Node) -> str | None:
    """The kernel's name without scopes, if ``call`` is a launch."""
    if not any(child.type == "kernel_call_syntax" for child in call.children):
        return None
    return re.sub(r"<.*", "", syntax.code.text(field(call, "function")), flags=re.DOTALL).split("::")[-1].strip()


def _fits(syntax: Syntax, call: Node, kernel: Function) -> bool:
    """Whether a launch may mean this kernel among several of one name: by the number of arguments, then by scope."""
    given = [child for child in field(call, "arguments").named_children if child.type != "comment"]
    written = syntax.code.text(field(call, "function")).split("<")[0].split("::")
    scope = [part.strip() for part in written[:-1]]
    return kernel.takes(len(given)) and (not scope or list(kernel.qualified[:-1])[-len(scope) :] == scope)


def _named_elsewhere(syntax: Syntax, root: Node, kernel: Function) -> bool:
    for node in within(root, "identifier"):
        if syntax.code.text(node) != kernel.name or node.start_byte == kernel.name_span.start:
            continue
        outer = node.parent
        while outer is not None and outer.type in {"qualified_identifier", "template_function"}:
            outer = outer.parent
        if outer is None or outer.type in {"function_declarator", "call_expression"}:
            continue
        return True
    return False


def _overlapping(syntax: Syntax, root: Node, call: Node, kernel: Function, pointers: list[int]) -> str | None:
    given = [child for child in field(call, "arguments").named_children if child.type != "comment"]
    if len(given) != len(kernel.parameters):
        return "not every parameter is given"
    host = _host(root, call)
    if host is None:
        return "the launch stands outside of a function"
    seen: set[str] = set()
    for at, argument in enumerate(given):
        if at in pointers:
            found = _allocation(syntax, host, argument)
            if found is None:
                return f"'{syntax.code.text(argument)[:40]}' is not plainly one allocation"
            sources = [found]
        else:
            members = _members(syntax, root, host, argument, kernel.parameters[at].text)
            if members is None:
                return f"'{syntax.code.text(argument)[:40]}' may hold pointers of unknown origin"
            sources = members
        for source in sources:
            if source in seen:
                return f"'{source}' is given twice"
            seen.add(source)
    return None


def _host(root: Node, call: Node) -> Node | None:
    outer = call.parent
    while outer is not None and outer.type != "function_definition":
        outer = outer.parent
    return outer


def _allocation(syntax: Syntax, host: Node, argument: Node) -> str | None:
    """A name for the allocation that an argument is, or None."""
    text = syntax.code.text
    argument = bare(argument)
    if argument.type == "identifier":
        return text(argument) if _allocated_once(syntax, host, text(argument)) else None
    if argument.type == "subscript_expression":
        base = bare(field(argument, "argument"))
        index = re.sub(r"\s", "", text(field(argument, "indices")))
        if base.type == "identifier" and re.fullmatch(r"\[\d+\]", index) and _permuted_only(syntax, host, text(base)):
            return text(base) + index
    return None


def _declarators(syntax: Syntax, host: Node, name: str) -> int:
    """How often ``name`` is declared in ``host``."""
    count = 0
    for node in within(host, "declaration", "parameter_declaration", "for_range_loop"):
        for child in node.children_by_field_name("declarator"):
            inner = child
            while (deeper := inner.child_by_field_name("declarator")) is not None:
                inner = deeper
            if inner.type == "reference_declarator":
                inner = inner.named_children[-1]
            count += syntax.code.text(inner).lstrip("*& ") == name
    return count


def _uses(syntax: Syntax, host: Node, name: str) -> list[Node]:
    return [node for node in within(host, "identifier") if syntax.code.text(node) == name]


def _allocated_once(syntax: Syntax, host: Node, name: str) -> bool:
    if _declarators(syntax, host, name) != 1:
        return False
    allocations = 0
    for node in _uses(syntax, host, name):
        outer = node.parent
        if outer is None:
            return False
        if outer.type == "pointer_expression" and outer.children[0].type == "&":
            if not _in_allocation(syntax, outer):
                return False
            allocations += 1
        elif outer.type in {"update_expression", "lambda_capture_specifier", "reference_declarator"} or (
            outer.type == "assignment_expression" and outer.child_by_field_name("left") == node
        ):
            return False
        elif outer.type == "init_declarator" and outer.child_by_field_name("declarator") == node:
            value = outer.child_by_field_name("value")
            if value is not None and syntax.code.text(value) not in {"nullptr", "NULL", "0"}:
                return False
    return allocations == 1


def _in_allocation(syntax: Syntax, address: Node) -> bool:
    """Whether ``&p`` is what a ``cudaMalloc`` writes to."""
    outer, inner = address.parent, address
    while outer is not None and outer.type in {"cast_expression", "parenthesized_expression"}:
        inner, outer = outer, outer.parent
    if outer is None or outer.type != "argument_list" or outer.named_children[0] != inner or outer.parent is None:
        return False
    called = outer.parent.child_by_field_name("function")
    return called is not None and bool(_ALLOCATES.fullmatch(syntax.code.text(called).split("<")[0]))


def _permuted_only(syntax: Syntax, host: Node, name: str) -> bool:
    """Whether an array of pointers is filled by allocations, one each, and otherwise only permuted."""
    if _declarators(syntax, host, name) != 1:
        return False
    filled, permuted = False, True
    for node in _uses(syntax, host, name):
        outer = node.parent
        if outer is None:
            return False
        if outer.type == "for_range_loop" and outer.child_by_field_name("right") == node:
            filled = _range_fills(syntax, outer) or filled
            if not _range_harmless(syntax, outer):
                return False
        elif outer.type == "subscript_expression" and outer.child_by_field_name("argument") == node:
            above = outer.parent
            if above is not None and above.type == "pointer_expression" and above.children[0].type == "&":
                return False
            assigned = above is not None and above.type == "assignment_expression"
            if above is not None and assigned and above.child_by_field_name("left") == outer:
                permuted = _permutes(syntax, above, name) and permuted
        elif outer.type != "array_declarator":
            return False
    return filled and permuted


def _range_variable(syntax: Syntax, loop: Node) -> str:
    declarator = loop.child_by_field_name("declarator")
    return "" if declarator is None else syntax.code.text(declarator).lstrip("*& ")


def _range_fills(syntax: Syntax, loop: Node) -> bool:
    name = _range_variable(syntax, loop)
    addresses = [
        node for node in within(loop, "pointer_expression") if re.sub(r"\s", "", syntax.code.text(node)) == f"&{name}"
    ]
    return len(addresses) == 1 and _in_allocation(syntax, addresses[0])


def _range_harmless(syntax: Syntax, loop: Node) -> bool:
    name = _range_variable(syntax, loop)
    for node in _uses(syntax, loop, name):
        outer = node.parent
        if outer is None:
            return False
        if outer.type == "assignment_expression" and outer.child_by_field_name("left") == node:
            return False
        if outer.type == "pointer_expression" and outer.children[0].type == "&" and not _in_allocation(syntax, outer):
            return False
    return True


def _permutes(syntax: Syntax, assignment: Node, name: str) -> bool:
    """Whether the run of neighbouring statements that an assignment belongs to only permutes the array's elements."""
    statement = assignment.parent
    block = None if statement is None else statement.parent
    if statement is None or block is None or block.type != "compound_statement":
        return False
    run = _run(syntax, block, statement, name)
    place: dict[str, str] = {}
    touched: set[str] = set()
    for target, source in run:
        place[target] = place.get(source, source)
        touched.update(each for each in (target, source) if each.startswith(f"{name}["))
    after = [place.get(each, each) for each in sorted(touched)]
    return bool(touched) and sorted(after) == sorted(touched)


def _run(syntax: Syntax, block: Node, statement: Node, name: str) -> list[tuple[str, str]]:
    """The moves ``target = source`` in the neighbouring statements around ``statement`` that are nothing else."""
    children = [child for child in block.named_children if child.type != "comment"]
    at = children.index(statement)
    first = at
    while first > 0 and _move(syntax, children[first - 1], name) is not None:
        first -= 1
    found: list[tuple[str, str]] = []
    for child in children[first:]:
        move = _move(syntax, child, name)
        if move is None:
            break
        found.append(move)
    return found


def _move(syntax: Syntax, statement: Node, name: str) -> tuple[str, str] | None:
    text = re.sub(r"\s", "", syntax.code.text(statement))
    element = rf"{re.escape(name)}\[\d+\]"
    match = re.fullmatch(rf"(?:(?:const)?[A-Za-z_]\w*\*)?(\w+|{element})=(\w+|{element});", text)
    return (match.group(1), match.group(2)) if match and name in text else None


def _members(syntax: Syntax, root: Node, host: Node, argument: Node, parameter: str) -> list[str] | None:
    """The allocations that a value parameter brings along: none for numbers, those of a struct's pointers, or None."""
    kind = re.sub(r"\b(?:const|struct|unsigned|signed)\b", "", parameter).strip().rsplit(" ", 1)[0].strip()
    if re.fullmatch(r"(?:int|float|double|bool|char|short|long|long long|size_t|u?int\d+_t|long int)?", kind):
        return []
    fields = _struct_fields(syntax, root, kind)
    if fields is None:
        return None
    if not any("*" in each for each in fields):
        return []
    name = syntax.code.text(argument)
    if argument.type != "identifier" or _declarators(syntax, host, name) != 1:
        return None
    found: list[str] = []
    for node in _uses(syntax, host, name):
        outer = node.parent
        if outer is not None and outer.type == "init_declarator" and outer.child_by_field_name("declarator") == node:
            value = outer.child_by_field_name("value")
            if value is None or value.type != "initializer_list" or len(value.named_children) != len(fields):
                return None
            for each, member in zip(value.named_children, fields, strict=True):
                if "*" not in member:
                    continue
                source = _allocation(syntax, host, each)
                if source is None:
                    return None
                found.append(source)
        elif outer is None or outer.type not in {"argument_list"}:
            return None
    return found or None


def _struct_fields(syntax: Syntax, root: Node, kind: str) -> list[str] | None:
    """The texts of a plain struct's fields; None if it is not defined here or is not plain."""
    for node in within(root, "struct_specifier"):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None or syntax.code.text(name) != kind:
            continue
        fields = [child for child in body.named_children if child.type != "comment"]
        if all(child.type == "field_declaration" for child in fields):
            texts = [syntax.code.text(child) for child in fields]
            plain = (
                r"(?:const )?(?:unsigned )?(?:int|float|double|bool|char|short|long|long long|size_t|u?int\d+_t)[ *].*"
            )
            return texts if all(re.fullmatch(plain, text, re.DOTALL) for text in texts) else None
    return None
