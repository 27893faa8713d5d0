"""What a function may call or name: what it called before, CUDA's device functions, the file's own device functions."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from optimas_lsp.rewrite.guard.branches import Guards, guards_of, words_by_guard
from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.declared import Declared, declarations, members, template_heads
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import declaring, line_of
from optimas_lsp.rewrite.guard.surroundings import Callee, callees
from optimas_lsp.rewrite.guard.tokens import Token


def _forbidden(rule: str, rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    """Words of one forbidden list, wherever they stand: called, passed on, or behind a macro or an alias."""
    known = names()
    group = next(each for each in known.forbidden if each.rule == rule)
    variables = _variables(rewrite)
    had = words_by_guard(rewrite.before.code)
    for (token, member), guards in zip(_words(rewrite), _guards(rewrite), strict=True):
        had[token.text, guards] -= 1
        if token.text in variables or member:
            continue
        if token.text in rewrite.before.words:
            if had[token.text, guards] < 0 and known.forbidding(token.text) is group and not _is_local(rewrite, token):
                yield rewrite.found(token.line, f"'{token.text}' {group.what}, and there is more of it than before")
            continue
        if known.forbidding(token.text) is group:
            yield rewrite.found(token.line, f"'{token.text}' {group.what}")
        elif rule == "host-call" and token.text in case.around.hosts and token.text not in rewrite.after.declared:
            yield rewrite.found(token.line, f"'{token.text}' is a function of the host")
        elif token.text in case.around.macros or token.text in case.around.aliases:
            for word in sorted(case.around.expansion({token.text}) - rewrite.before.words):
                if known.forbidding(word) is group or (rule == "host-call" and word in case.around.hosts):
                    yield rewrite.found(token.line, f"'{token.text}' stands for '{word}', which {group.what}")
                    break


def _guards(rewrite: Rewrite) -> Iterator[Guards]:
    """What the preprocessor demands for each word of the new code."""
    code = rewrite.after.code
    return (guards for token, guards in zip(code, guards_of(code), strict=True) if token.kind == "word")


def _is_local(rewrite: Rewrite, token: Token) -> bool:
    """Whether a word was and is the name of a variable."""
    return token.text in rewrite.before.declared & rewrite.after.declared


def _variables(rewrite: Rewrite) -> frozenset[str]:
    """Forbidden words that are mere names of variables here: see ``names.toml``."""
    if "__host__" in rewrite.heading.spaces:
        return frozenset()
    called = {callee.name for callee in callees(rewrite.after)}
    return frozenset((rewrite.after.declared & names().variables) - called)


def _opened(rewrite: Rewrite) -> bool:
    """Whether the text opens one of CUDA's own namespaces, so that its names need no scope."""
    code = rewrite.after.code
    return any(
        [token.text for token in code[at : at + 2]] == ["using", "namespace"] and code[at + 2].text in names().scopes
        for at in range(len(code) - 2)
    )


def _words(rewrite: Rewrite) -> Iterator[tuple[Token, bool]]:
    """Words of the new code, and whether each is a member after ``.`` or ``->``."""
    code = rewrite.after.code
    for at, token in enumerate(code):
        if token.kind == "word":
            yield token, bool(at) and code[at - 1].text in {".", "->"}


def _called(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    before = {callee.path for callee in callees(rewrite.before)}
    own = {segment.name for segment in rewrite.after.segments if segment.kind == "function"}
    local = _declarations(rewrite, case)
    for callee in callees(rewrite.after):
        if callee.path in before or callee.name in own or _may_call(callee, rewrite, case):
            continue
        if callee.scopes or not any(one.covers(callee.start) for one in local.get(callee.name, ())):
            yield rewrite.found(
                callee.line,
                f"'{callee.path}' is called, and neither CUDA nor this file gives a device function of that name",
            )
    yield from _members(rewrite, case)


def _may_call(callee: Callee, rewrite: Rewrite, case: Case) -> bool:
    """Whether a call that the old text did not have is fine, or another rule's business."""
    known = names()
    name, around = callee.name, case.around
    if known.forbidding(name) is not None or name in around.hosts:
        return True
    if name in around.macros and name not in rewrite.before.words:
        return True
    if name in around.devices or name in around.types:
        return True
    if callee.scopes:
        return callee.scopes[0] in known.scopes and (name in known.scoped or name in known.calls)
    given = name in known.calls or name in known.assumptions or (name in known.scoped and _opened(rewrite))
    return given or known.fast_math.holds(name) or known.narrow_types.holds(name)


def _declarations(rewrite: Rewrite, case: Case) -> Mapping[str, tuple[Declared, ...]]:
    """What the new text declares, by name."""
    known = names()
    local = {rewrite.after.source(child) for node in rewrite.after.nodes(*_TYPES) for child in declaring(node)}
    types = known.types | known.scoped | case.around.types | local | template_heads(rewrite.before.code)
    return declarations(rewrite.after, lambda word: word in types and word not in known.calls)


def _members(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    """Calls of methods, and calls of what is no name at all."""
    known = names()
    methods = known.methods | case.around.devices | members(rewrite.after)
    before = {rewrite.before.source(node) for node in rewrite.before.nodes("field_identifier")}
    indirect = {rewrite.before.source(node) for node in _indirect(rewrite, before=True)}
    for node in rewrite.after.nodes("call_expression"):
        called = node.child_by_field_name("function")
        if called is None or called.type != "field_expression":
            continue
        field = called.child_by_field_name("field")
        name = "" if field is None else rewrite.after.source(field).split("<")[0]
        if name.removeprefix("template ").strip() not in methods | before:
            yield rewrite.found(line_of(node), f"the method '{name}' is called, and it is not known")
    for node in _indirect(rewrite, before=False):
        text = rewrite.after.source(node)
        if text not in indirect:
            yield rewrite.found(line_of(node), f"'{text[:40]}' is called, which is no name")


def _indirect(rewrite: Rewrite, *, before: bool) -> Iterator[Node]:
    side = rewrite.before if before else rewrite.after
    for node in side.nodes("call_expression"):
        called = node.child_by_field_name("function")
        if called is not None and called.type in {
            "parenthesized_expression",
            "subscript_expression",
            "pointer_expression",
        }:
            inner = called.named_children[0] if called.named_children else called
            if inner.type != "lambda_expression":
                yield called


def _named(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    known = names()
    code = rewrite.after.code
    called = {callee.name for callee in callees(rewrite.after)}
    opened = _opened(rewrite)
    local = rewrite.after.declared | _declarations(rewrite, case).keys()
    seen: set[str] = set()
    for at, token in enumerate(code):
        name = token.text
        if token.kind != "word" or name in seen or name in called:
            continue
        before = code[at - 1].text if at else ""
        if before in {".", "->", "goto", "[["} or (before == "[" and at > 1 and code[at - 2].text == "["):
            continue
        seen.add(name)
        if before == "::" and at > 1 and code[at - 2].text in known.scopes and name in known.scoped:
            continue
        if (
            name not in rewrite.before.words
            and not known.known(name)
            and name not in local
            and name not in case.around.words
            and name not in case.around.macros
            and known.forbidding(name) is None
            and not (name in known.scoped and (before == "::" or opened))
        ):
            yield rewrite.found(token.line, f"'{name}' is declared neither here nor in the file, nor is it CUDA's")


_TYPES = ("alias_declaration", "type_definition", "struct_specifier", "class_specifier", "union_specifier")
_TYPE_DEFINITIONS = (*_TYPES, "enum_specifier")
_BUILT_IN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"})


def _shadowed(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    known = names()
    called = {callee.name for callee in callees(rewrite.after)}
    given = known.calls | case.around.devices
    for name in sorted(rewrite.after.declared - rewrite.before.declared - {rewrite.function.name}):
        hides = name in _BUILT_IN or name in case.around.macros or name.startswith("__")
        if hides or (name in called and name in given):
            line = next((token.line for token in rewrite.after.code if token.text == name), 0)
            yield rewrite.found(line, f"'{name}' is declared anew and hides what had that name")


def _types(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    """Types of the language, of CUDA or of the file that the text gives another meaning."""
    taken = names().types | (case.around.types - rewrite.before.declared)
    for node in rewrite.after.nodes(*_TYPE_DEFINITIONS):
        for child in (*node.children_by_field_name("name"), *node.children_by_field_name("declarator")):
            name = rewrite.after.source(child)
            if name in taken and node.child_by_field_name("body" if "specifier" in node.type else "type"):
                yield rewrite.found(line_of(node), f"the type '{name}' is given another meaning")
    code = rewrite.after.code
    for word, named, after in zip(code, code[1:], code[2:], strict=False):
        if word.text in {"typename", "class"} and named.text in taken and after.text in {",", ">", "="}:
            yield rewrite.found(named.line, f"the type '{named.text}' is given another meaning")


def _hidden(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    yield from _shadowed(rewrite, case)
    yield from _types(rewrite, case)


def _groups() -> tuple[Rule, ...]:
    return tuple(
        Rule(group.rule, f"nothing that {group.what}", "fail", each(functools.partial(_forbidden, group.rule)))
        for group in names().forbidden
    )


RULES = (
    *_groups(),
    Rule("unknown-call", "only known device functions and those called before are called", "fail", each(_called)),
    Rule("unknown-name", "every name is declared in the text, in the file or by CUDA", "fail", each(_named)),
    Rule("shadowing", "no name of CUDA or of the file is given another meaning", "fail", each(_hidden)),
)
