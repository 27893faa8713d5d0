"""Constructs that have no place in a rewrite: each is a word or mark that the old text did not have as often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.model import Allowance
from optimas_lsp.rewrite.guard.side import Side, line_of
from optimas_lsp.rewrite.guard.tokens import Token, closing_of


@dataclass(frozen=True, slots=True)
class Construct:
    """One rule: the words or marks, what is said of them, and the allowance that lifts it."""

    rule: str
    demand: str
    words: frozenset[str]
    why: str
    lifted_by: Allowance | None = None


CONSTRUCTS = (
    Construct("goto", "no new jumps", frozenset({"goto"}), "jumps; state the control flow with loops and branches"),
    Construct(
        "volatile",
        "no new volatile unless 'volatile' is allowed",
        frozenset({"volatile", "__volatile__"}),
        "keeps no other thread's order; use __syncwarp, __syncthreads or atomics",
        "volatile",
    ),
    Construct(
        "extern",
        "no new extern declarations, dynamic shared memory included",
        frozenset({"extern"}),
        "relies on what is outside of the function, such as a launch's dynamic shared memory",
    ),
    Construct(
        "exception",
        "no exceptions, run-time types, virtual functions or coroutines",
        frozenset({"throw", "try", "catch", "typeid", "dynamic_cast", "virtual", "co_await", "co_yield", "co_return"}),
        "has no meaning in device code",
    ),
    Construct(
        "thread-local",
        "no thread-local storage",
        frozenset({"thread_local", "_Thread_local", "__thread"}),
        "keeps state between calls",
    ),
    Construct(
        "space",
        "no execution or memory spaces inside a function but __shared__",
        frozenset({"__global__", "__host__", "__device__", "__constant__", "__managed__"}),
        "declares something that outlives or leaves the function",
    ),
    Construct(
        "namespace-trick",
        "no namespaces, exports or friends",
        frozenset({"export", "friend", "module", "import"}),
        "changes what names mean outside of the function",
    ),
)
_LONGEST_STATEMENT = 400
"""Tokens; more of one are not compared."""

_ASM = frozenset({"asm", "__asm__", "__asm"})
_LAUNCH = frozenset({"<<<"})
_HARMLESS = frozenset({"aligned", "__aligned__", "unused", "__unused__", "may_alias", "__may_alias__", "align"})
_STANDARD = frozenset({"likely", "unlikely", "maybe_unused", "fallthrough", "nodiscard", "unroll", "no_unique_address"})


def _body(rewrite: Rewrite) -> list[Token]:
    """The tokens of the new text without the headings of its functions."""
    found: list[Token] = []
    for segment in rewrite.after.segments:
        found += segment.tokens[segment.body or 0 :]
    return found


def _counted(construct: Construct) -> Callable[[Rewrite, Case], Iterator[Finding]]:
    def look(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
        if construct.lifted_by in case.allow:
            return
        had = Counter(token.text for token in rewrite.before.code if token.text in construct.words)
        had.subtract({word: _in_heading(rewrite, word) for word in construct.words})
        for token in _body(rewrite):
            if token.kind == "word" and token.text in construct.words:
                had[token.text] -= 1
                if had[token.text] < 0:
                    yield rewrite.found(token.line, f"'{token.text}' {construct.why}")

    return look


def _in_heading(rewrite: Rewrite, word: str) -> int:
    return (*rewrite.heading.spaces, *rewrite.heading.linkage).count(word)


def _assembly(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    if "inline-assembly" in case.allow:
        return
    had = Counter(_statements(rewrite.before.code))
    code = rewrite.after.code
    for at, token in enumerate(code):
        if token.kind == "word" and token.text in _ASM:
            text = _statement(code, at)
            had[text] -= 1
            if had[text] < 0:
                yield rewrite.found(token.line, f"'{text[:60]}' is new inline assembly")


def _statements(code: tuple[Token, ...]) -> list[str]:
    return [_statement(code, at) for at, token in enumerate(code) if token.kind == "word" and token.text in _ASM]


def _statement(code: tuple[Token, ...], at: int) -> str:
    limit = min(len(code), at + _LONGEST_STATEMENT)
    end = next((place for place in range(at, limit) if code[place].text == ";"), limit)
    return " ".join(token.text for token in code[at:end])


def _launches(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    had = Counter(_launched(rewrite.before.code, at) for at, _ in _marks(rewrite.before.code))
    for at, token in _marks(rewrite.after.code):
        text = _launched(rewrite.after.code, at)
        had[text] -= 1
        if had[text] < 0:
            yield rewrite.found(token.line, f"'{text[:60]}' launches a kernel in a way the old text did not")
    for text, count in had.items():
        if count > 0:
            yield rewrite.found(0, f"the launch '{text[:60]}' is gone")
    for token in rewrite.after.code:
        if token.kind == "word" and token.text in case.around.kernels - rewrite.before.words:
            yield rewrite.found(token.line, f"the kernel '{token.text}' is named")


def _marks(code: tuple[Token, ...]) -> Iterator[tuple[int, Token]]:
    for at, token in enumerate(code):
        if token.text in _LAUNCH or (token.text == "<<" and at + 1 < len(code) and code[at + 1].text in {"<", "<<"}):
            yield at, token


def _launched(code: tuple[Token, ...], at: int) -> str:
    first = at
    while first and code[first - 1].text not in {";", "{", "}", ")"} and at - first < 12:
        first -= 1
    return " ".join(token.text for token in code[first : at + 1]) + " " + _statement(code, at + 1)


def _static(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = Counter(token.text for token in rewrite.before.code)["static"] - rewrite.heading.linkage.count("static")
    body = _body(rewrite)
    for at, token in enumerate(body):
        if token.kind != "word" or token.text != "static" or _is_constant(body, at):
            continue
        had -= 1
        if had < 0:
            yield rewrite.found(token.line, "a static variable keeps its value from one launch to the next")


def _is_constant(body: Sequence[Token], at: int) -> bool:
    """Whether the declaration with ``static`` at this index is shared memory or can never be assigned."""
    first = at
    while first and at - first < _LONGEST_STATEMENT and body[first - 1].text not in {";", "{", "}"}:
        first -= 1
    limit = min(len(body), at + _LONGEST_STATEMENT)
    last = next((place for place in range(at, limit) if body[place].text in {";", "=", "{", "}"}), limit)
    said = [token.text for token in body[first:last]]
    if "constexpr" in said or "__shared__" in said:
        return True
    stars = [place for place, text in enumerate(said) if text in {"*", "&", "&&"}]
    return "const" in said[stars[-1] if stars else 0 :]


def _prototypes(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    """Declarations of functions in a body; ``float z(a)`` with variables in the brackets is none."""
    side = rewrite.after
    for node in _inner(side):
        yield rewrite.found(line_of(node), "a function is defined inside the function")
    had = {rewrite.before.source(node) for node in rewrite.before.nodes("declaration")}
    for node in side.nodes("declaration"):
        if side.source(node) in had or not _is_inside(node, "compound_statement"):
            continue
        for child in node.children_by_field_name("declarator"):
            inner = child
            while inner.type in {"pointer_declarator", "reference_declarator"} and inner.named_children:
                inner = inner.named_children[-1]
            name = inner.child_by_field_name("declarator")
            parameters = inner.child_by_field_name("parameters")
            if inner.type != "function_declarator" or name is None or parameters is None:
                continue
            if name.type == "identifier" and not _are_values(side, parameters):
                yield rewrite.found(line_of(node), f"'{side.source(name)}' is declared as a function")


def _inner(side: Side) -> Iterator[Node]:
    """Functions defined inside of a function, which is no C++; methods of local types and lambdas are none."""
    for node in side.nodes("function_definition"):
        outer = node.parent
        while outer is not None and outer.type not in {"compound_statement", "field_declaration_list"}:
            outer = outer.parent
        if outer is not None and outer.type == "compound_statement":
            yield node


def _are_values(side: Side, parameters: Node) -> bool:
    """Whether all in the brackets are names of variables."""
    inside = parameters.named_children
    return bool(inside) and all(
        child.type == "parameter_declaration" and child.named_child_count == 1 and side.source(child) in side.declared
        for child in inside
    )


def _is_inside(node: Node, kind: str) -> bool:
    outer = node.parent
    while outer is not None and outer.type != kind:
        outer = outer.parent
    return outer is not None


def _attributes(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    body = _body(rewrite)
    for at, token in enumerate(body):
        following = body[at + 1].text if at + 1 < len(body) else ""
        if token.text == "[" and following == "[" and not _indexes(body, at):
            close = closing_of(body, at) or at
            inside = {each.text for each in body[at:close] if each.kind == "word"}
            if inside - _STANDARD - rewrite.before.words:
                yield rewrite.found(token.line, f"the attribute '{' '.join(sorted(inside))}' is new")
        if token.kind != "word" or token.text in rewrite.before.words:
            continue
        if token.text in {"__attribute__", "__declspec"}:
            close = closing_of(body, at + 1) if following == "(" else None
            inside = {each.text for each in body[at + 1 : close or at + 1] if each.kind == "word"}
            if close is None or not inside & _HARMLESS or inside - _HARMLESS - {"alignof", "sizeof"}:
                yield rewrite.found(token.line, f"'{token.text}' is new and more than alignment")
        elif token.text in {"__launch_bounds__", "__noinline__", "__forceinline__", "__cluster_dims__", "__maxnreg__"}:
            yield rewrite.found(token.line, f"'{token.text}' is new inside the function")


def _indexes(body: Sequence[Token], at: int) -> bool:
    """Whether the bracket at this index follows what can be indexed."""
    before = body[at - 1] if at else None
    return before is not None and (before.kind == "word" or before.text in {")", "]"}) and before.text != "return"


def _nested(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    """``using namespace``, inline namespaces and aliases for namespaces other than CUDA's own."""
    code = rewrite.after.code
    had = Counter(_statements_of(rewrite.before.code, "namespace"))
    for at, token in enumerate(code):
        if token.kind != "word" or token.text != "namespace":
            continue
        text = _statement(code, at)
        had[text] -= 1
        if had[text] >= 0 or text in _CUDA_ALIASES:
            continue
        yield rewrite.found(token.line, f"'{text[:60]}' changes what names mean")


def _statements_of(code: tuple[Token, ...], word: str) -> list[str]:
    return [_statement(code, at) for at, token in enumerate(code) if token.text == word]


_CUDA_ALIASES = frozenset({"namespace cg = cooperative_groups", "namespace cooperative_groups"})


RULES = (
    *(Rule(construct.rule, construct.demand, "fail", each(_counted(construct))) for construct in CONSTRUCTS),
    Rule("inline-assembly", "no new inline assembly", "fail", each(_assembly)),
    Rule("launch", "launches stay as they are; no kernel is named anew", "fail", each(_launches)),
    Rule("static-state", "nothing inside a function outlives a launch", "fail", each(_static)),
    Rule("prototype", "no function is declared inside the function", "fail", each(_prototypes)),
    Rule("inner-attribute", "no new attributes inside the function but alignment", "fail", each(_attributes)),
    Rule(
        "namespace", "no namespace is opened, used or renamed inside a function but CUDA's own", "fail", each(_nested)
    ),
)
