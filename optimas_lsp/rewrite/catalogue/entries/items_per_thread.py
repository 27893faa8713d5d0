"""Give each thread several elements of an element-wise kernel, their loads issued together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.catalogue.nodes import field, statements, within
from optimas_lsp.rewrite.catalogue.patch import Edit, applied, indent_at
from optimas_lsp.rewrite.catalogue.scope import Access
from optimas_lsp.rewrite.catalogue.site import Site
from optimas_lsp.rewrite.catalogue.types import size_of
from optimas_lsp.rewrite.catalogue.variant import Found, Refusal, Variant


@dataclass(frozen=True)
class Wise:
    """An element-wise kernel: ``item`` and its bound, the guarded action, and the memory used at ``item``."""

    item: str
    kind: str
    bound: str
    guard: Node
    action: Node
    accesses: tuple[Access, ...]


def find(site: Site) -> Found:
    """Striped variants of two and four elements, and one of whole 16-byte vectors."""
    wise = element_wise(site)
    if isinstance(wise, str):
        yield Refusal(wise)
        return
    for count, preference in ((2, 0.9), (4, 0.8)):
        yield _striped(site, wise, count, preference)
    yield _vector(site, wise)


def element_wise(site: Site) -> Wise | str:
    """The kernel as one guarded action on the elements of one number, or why it is none."""
    scope = site.scope
    if site.function.kind != "kernel":
        return "only a kernel's threads can share out its elements anew"
    body = statements(scope.body)
    if len(body) != 2 or body[0].type != "declaration" or body[1].type != "if_statement":
        return "the kernel is not one guarded action on one element a thread"
    guard = body[1]
    match = re.fullmatch(r"\((\w+)<(\w+)\)|(\w+)<(\w+)", scope.squeezed(field(guard, "condition")))
    if match is None or guard.child_by_field_name("alternative") is not None:
        return "the guard is not 'item < count'"
    item, bound = (match.group(1), match.group(2)) if match.group(1) else (match.group(3), match.group(4))
    variable, limit = scope.one(item), scope.one(bound)
    if variable is None or variable.value is None or not scope.is_global_thread(variable.value):
        return f"'{item}' is not the thread's number in the grid"
    if variable.type != "int" or limit is None or limit.type != "int" or limit.memory or not limit.parameter:
        return "the number and its bound are not both int"
    action = field(guard, "consequence")
    why = _more_than_elements(site, action, item)
    return Wise(item, variable.type, bound, guard, action, tuple(scope.accesses(action))) if why is None else why


def _more_than_elements(site: Site, action: Node, item: str) -> str | None:
    """What the action does besides one plain store computed from elements ``item``; None if nothing."""
    scope = site.scope
    if scope.impure(action) is not None or scope.barriers(action) or scope.assigned_values(action):
        return "the action does more than compute and store"
    if any(each.type != "expression_statement" for each in statements(action)):
        return "the action is more than plain statements"
    accesses = scope.accesses(action)
    for access in accesses:
        if not site.is_global(access.root) or len(access.index) != 1 or scope.squeezed(access.index[0]) != item:
            return f"'{scope.text(access.node)}' is not the element '{item}' of a global array"
    stores = [access for access in accesses if access.write]
    if len(stores) != 1 or stores[0].read:
        return "it is not exactly one plain store that is made"
    used = [scope.text(node) for node in within(action, "identifier")]
    if used.count(item) != len(accesses) or {"threadIdx", "blockIdx"} & set(used):
        return f"'{item}' is used for more than finding the element"
    return None


def _loads(site: Site, wise: Wise) -> dict[str, tuple[str, str]]:
    """For each array that is read: the name of the value loaded ahead, and its type."""
    scope = site.scope
    return {
        access.root: (scope.fresh(f"{access.root}_item"), site.element(access.root) or "auto")
        for access in wise.accesses
        if access.read
    }


def _action(site: Site, wise: Wise, names: dict[str, str], store: str) -> str:
    """The action with loads and the store put in other words."""
    data = site.syntax.code.data
    start, end = wise.action.start_byte, wise.action.end_byte
    edits = [
        Edit(a.node.start_byte - start, a.node.end_byte - start, store if a.write else names[a.root])
        for a in wise.accesses
    ]
    text = applied(data[start:end], edits).decode("utf-8", "replace").strip()
    return text[1:-1].strip() if text.startswith("{") else text


def _striped(site: Site, wise: Wise, count: int, preference: float) -> Variant:
    scope = site.scope
    k, at, limit, base = (scope.fresh(name) for name in ("k", f"{wise.item}_k", "limit", "base"))
    loads = _loads(site, wise)
    stored = next(access.root for access in wise.accesses if access.write)
    lines = [
        f"const long long {limit} = min((long long){wise.bound}, (long long)gridDim.x * blockDim.x);",
        f"const long long {base} = (long long)blockIdx.x * blockDim.x * {count} + threadIdx.x;",
    ]
    lines += [f"{kind} {name}[{count}];" for name, kind in loads.values()]
    if loads:
        lines += [
            "#pragma unroll",
            f"for (int {k} = 0; {k} < {count}; ++{k}) {{",
            f"    const long long {at} = {base} + (long long){k} * blockDim.x;",
            f"    if ({at} < {limit}) {{",
            *(f"        {name}[{k}] = {root}[{at}];" for root, (name, _) in loads.items()),
            "    }",
            "}",
        ]
    lines += [
        "#pragma unroll",
        f"for (int {k} = 0; {k} < {count}; ++{k}) {{",
        f"    const long long {at} = {base} + (long long){k} * blockDim.x;",
        f"    if ({at} < {limit}) {{",
        f"        {_action(site, wise, {r: f'{n}[{k}]' for r, (n, _) in loads.items()}, f'{stored}[{at}]')}",
        "    }",
        "}",
    ]
    return Variant(
        f"{count} a thread",
        (_replace(site, lines),),
        site.lines(scope.body),
        f"each thread handles {count} elements a block apart, so that {count} loads are in flight at once; "
        "blocks left without elements end at once",
        preference=preference,
    )


def _vector(site: Site, wise: Wise) -> Variant | Refusal:
    scope = site.scope
    kinds = {site.element(access.root) for access in wise.accesses}
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if kind not in {"float", "double", "int", "unsigned"}:
        return Refusal("the arrays are not all of one type that has 16-byte vectors")
    width = 16 // (size_of(kind) or 16)
    vector = {"float": "float4", "double": "double2", "int": "int4", "unsigned": "uint4"}[kind]
    limit, rest, at = (scope.fresh(name) for name in ("limit", "whole", f"{wise.item}_k"))
    loads = {root: (scope.fresh(f"{root}_vector"), kind) for root, _ in _loads(site, wise).items()}
    roots = list(dict.fromkeys(access.root for access in wise.accesses))
    stored = next(access.root for access in wise.accesses if access.write)
    result = scope.fresh(f"{stored}_result")
    aligned = " | ".join(f"(size_t){root}" for root in roots)
    members = "xyzw"[:width]
    lines = [
        f"const int {limit} = (int)min((long long){wise.bound}, (long long)gridDim.x * blockDim.x);",
        f"const int {wise.item} = blockIdx.x * blockDim.x + threadIdx.x;",
        f"if ((({aligned}) & 15) == 0) {{",
        f"    const int {rest} = {limit} / {width};",
        f"    if ({wise.item} < {rest}) {{",
        *(
            f"        const {vector} {name} = reinterpret_cast<const {vector}*>({root})[{wise.item}];"
            for root, (name, _) in loads.items()
        ),
        f"        {vector} {result};",
        *(
            "        " + _action(site, wise, {r: f"{name}.{m}" for r, (name, _) in loads.items()}, f"{result}.{m}")
            for m in members
        ),
        f"        reinterpret_cast<{vector}*>({stored})[{wise.item}] = {result};",
        "    }",
        f"    const int {at} = {rest} * {width} + {wise.item};",
        f"    if ({wise.item} < {width} && {at} < {limit}) {{",
        f"        {_action(site, wise, {r: f'{r}[{at}]' for r in loads}, f'{stored}[{at}]')}",
        "    }",
        f"}} else if ({wise.item} < {limit}) {{",
        f"    {_action(site, wise, {r: f'{r}[{wise.item}]' for r in loads}, f'{stored}[{wise.item}]')}",
        "}",
    ]
    return Variant(
        f"{vector} a thread",
        (_replace(site, lines),),
        site.lines(scope.body),
        f"each thread loads and stores {width} elements with one 16-byte access where all arrays are aligned so; "
        "checked at run time, with single elements for the rest",
    )


def _replace(site: Site, lines: list[str]) -> Edit:
    body = statements(site.scope.body)
    indent = indent_at(site.syntax.code.data, body[0].start_byte)
    text = "\n".join([lines[0], *(indent + line if not line.startswith("#") else line for line in lines[1:])])
    return Edit(body[0].start_byte, body[-1].end_byte, text)
