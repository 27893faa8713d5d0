"""Arithmetic keeps its precision: no approximate intrinsics, no narrower types; what is doubtful goes to the proof."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from optimas_lsp.rewrite.guard.case import Case, Finding, Rewrite, Rule, each
from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import Side
from optimas_lsp.rewrite.guard.surroundings import callees
from optimas_lsp.rewrite.guard.tokens import Token

_FLOAT_LITERAL = re.compile(r"(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][+-]?\d+)?[fF]\Z")
_FLOATING = re.compile(r"(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][+-]?\d+)?[fFlL]?")
_FLOATS = frozenset({"float", "float1", "float2", "float3", "float4"})
_DOUBLES = frozenset({"double", "double1", "double2", "double3", "double4"})
_WIDE_INTEGERS = frozenset(
    {"size_t", "ptrdiff_t", "int64_t", "uint64_t", "longlong", "ulonglong", "intptr_t", "uintptr_t"}
)
_SMALL_TYPES = frozenset({"short", "char", "int8_t", "uint8_t", "int16_t", "uint16_t", "ushort", "uchar", "union"})
_FLOAT_MATHEMATICS = re.compile(
    r"(?:sin|cos|tan|exp|exp2|exp10|log|log2|log10|pow|sqrt|rsqrt|fma|fabs|fmin|fmax|fmod"
    r"|floor|ceil|round|rint|trunc|cbrt|hypot|atan2?|asin|acos|sinh|cosh|tanh|erfc?)f\Z"
)


def _fast(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    if "fast-math" in case.allow:
        return
    known = names()
    for token in rewrite.after.code:
        if token.kind != "word" or token.text in rewrite.before.words:
            continue
        hidden = case.around.expansion({token.text}) if token.text in case.around.macros else {token.text}
        if any(known.fast_math.holds(word) for word in hidden):
            yield rewrite.found(token.line, f"'{token.text}' computes less precisely than what it replaces")


def _lowered(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    known = names()
    before = case.around.expansion(rewrite.before.words)
    was_double = bool(before & _DOUBLES)
    was_float = bool(before & _FLOATS) or any(_is_float(token.text) for token in rewrite.before.code)
    generic = bool(rewrite.heading.template) and not was_float
    yield from _retyped(rewrite, case)
    yield from _squeezed(rewrite, was_float=was_float or was_double)
    code = rewrite.after.code
    for at, token in enumerate(code):
        if token.kind == "number" and _is_float(token.text) and was_double and not was_float:
            yield rewrite.found(token.line, f"{token.text} is a float in a function that computes in double")
        if token.kind != "word" or token.text in rewrite.before.words:
            continue
        if token.text in rewrite.after.declared and not _as_type(code, at):
            continue
        words = case.around.expansion({token.text}) if token.text in case.around.words else {token.text}
        if any(known.narrow_types.holds(word) for word in words) and not any(
            known.narrow_types.holds(word) for word in before
        ):
            yield rewrite.found(token.line, f"'{token.text}' has fewer bits than what the function computed with")
        elif words & _FLOATS and not was_float and (was_double or generic):
            status = "fail" if was_double else "flag"
            yield rewrite.found(token.line, f"'{token.text}' is new in a function that had no float", status)
        elif _FLOAT_MATHEMATICS.fullmatch(token.text) and was_double and not was_float:
            yield rewrite.found(token.line, f"'{token.text}' computes in float what was double")
    old = [kind for kind, _ in _types(rewrite.before).values()]
    new = [kind for kind, _ in _types(rewrite.after).values()]
    lost = _count(old, _DOUBLES, case) - _count(new, _DOUBLES, case)
    gained = _count(new, _FLOATS, case) - _count(old, _FLOATS, case)
    if lost > 0 and gained > 0:
        yield rewrite.found(0, f"{lost} variables fewer are double and {gained} more are float", "flag")
    if rewrite.before.words & _DOUBLES and not case.around.expansion(rewrite.after.words) & _DOUBLES:
        yield rewrite.found(0, "double is gone from the function")


def _retyped(rewrite: Rewrite, case: Case) -> Iterator[Finding]:
    """Variables that were floating-point and are narrower, or of a type that does not say so."""
    declared = _types(rewrite.before)
    for name, (kind, line) in _types(rewrite.after).items():
        old = declared.get(name, (frozenset[str](), 0))[0]
        if not (_is(old, _DOUBLES, case) or _is(old, _FLOATS, case)) or _is(kind, _DOUBLES, case):
            continue
        if _is(old, _DOUBLES, case) and _is(kind, _FLOATS, case):
            yield rewrite.found(line, f"'{name}' was double and is float")
        elif _is(old, _DOUBLES, case) or (_bits(kind) and not _is(kind, _FLOATS, case)):
            yield rewrite.found(line, f"'{name}' was {_said(old)} and is {_said(kind)}", "flag")


def _squeezed(rewrite: Rewrite, *, was_float: bool) -> Iterator[Finding]:
    """Small integers and unions that are new where floating-point numbers are computed: they can hold parts of one."""
    for token in rewrite.after.code if was_float else ():
        if token.text in _SMALL_TYPES and token.text not in rewrite.before.words:
            yield rewrite.found(
                token.line, f"'{token.text}' is new in a function that computes in floating point", "flag"
            )


def _said(words: frozenset[str]) -> str:
    return " ".join(sorted(words)) or "of an unnamed type"


def _as_type(code: Sequence[Token], at: int) -> bool:
    """Whether the word at this index can only be a type here: before a name, in a cast, as a template argument."""
    before = code[at - 1].text if at else ""
    after = code[at + 1] if at + 1 < len(code) else None
    if after is None:
        return False
    cast = before == "(" and after.text == ")" and at + 2 < len(code) and code[at + 2].kind in {"word", "number"}
    argument = before in {"<", ","} and after.text in {">", ","}
    return after.kind == "word" or cast or (argument and before == "<")


def _count(kinds: Sequence[frozenset[str]], wanted: frozenset[str], case: Case) -> int:
    return sum(_is(kind, wanted, case) for kind in kinds)


def _is(words: frozenset[str], wanted: frozenset[str], case: Case) -> bool:
    return bool(case.around.expansion(words) & wanted)


def _is_float(number: str) -> bool:
    return not number.lower().startswith("0x") and _FLOAT_LITERAL.match(number) is not None


def _types(side: Side) -> dict[str, tuple[frozenset[str], int]]:
    """For each declared variable the words of its type, and its line."""
    found: dict[str, tuple[frozenset[str], int]] = {}
    for node in side.nodes("declaration", "parameter_declaration", "field_declaration"):
        kind = node.child_by_field_name("type")
        if kind is None:
            continue
        words = frozenset(re.findall(r"\w+", side.source(kind)))
        for child in node.children_by_field_name("declarator"):
            inner = child
            while (deeper := inner.child_by_field_name("declarator")) is not None:
                inner = deeper
            if inner.type in {"identifier", "field_identifier"}:
                found[side.source(inner)] = (words, node.start_point.row + 1)
    return found


def _bits(words: frozenset[str]) -> int:
    """Bits of an integer type; 0 where it is none or not known."""
    if words & _WIDE_INTEGERS or "long" in words:
        return 64
    if words & {"short", "int16_t", "uint16_t", "ushort"}:
        return 16
    if words & {"char", "int8_t", "uint8_t", "uchar"}:
        return 8
    return 32 if words & {"int", "unsigned", "int32_t", "uint32_t", "uint"} else 0


def _narrowed(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    before = _types(rewrite.before)
    for name, (kind, line) in _types(rewrite.after).items():
        old = before.get(name)
        if old is not None and 0 < _bits(kind) < _bits(old[0]):
            yield rewrite.found(line, f"'{name}' was {' '.join(sorted(old[0]))} and is {' '.join(sorted(kind))}")
    if _wide_casts(rewrite.before) and not _wide_casts(rewrite.after):
        yield rewrite.found(0, "the function no longer computes in 64 bits anywhere: an index may overflow")


def _wide_casts(side: Side) -> int:
    return sum(token.text in _WIDE_INTEGERS or token.text == "long" for token in side.code)


def _literals(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    had = {token.text for token in rewrite.before.code if token.kind == "number"}
    for token in rewrite.after.code:
        if token.kind != "number" or token.text in had or not _is_float(token.text):
            continue
        if token.text.rstrip("fF") in had:
            yield rewrite.found(token.line, f"{token.text} was a double literal: results may differ in the last bits")


def _constants(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    old, new = _values(rewrite.before), _values(rewrite.after)
    for value, (text, line) in new.items():
        near = [
            before for other, (before, _) in old.items() if other not in new and abs(other - value) <= 0.05 * abs(other)
        ]
        if value not in old and near:
            yield rewrite.found(line, f"the constant {near[0]} is gone and {text} is new: results differ")


def _values(side: Side) -> dict[float, tuple[str, int]]:
    """Floating-point literals by value, with the text and the line of one of them."""
    found: dict[float, tuple[str, int]] = {}
    for token in side.code:
        if token.kind == "number" and _FLOATING.fullmatch(token.text):
            found[float(token.text.rstrip("fFlL").replace("'", ""))] = (token.text, token.line)
    return found


def _inexact(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    for callee in callees(rewrite.after):
        if callee.name in names().inexact and callee.name not in rewrite.before.words:
            yield rewrite.found(callee.line, f"'{callee.name}' rounds otherwise than the operations it stands for")
        elif callee.name in names().bits and callee.name not in rewrite.before.words:
            yield rewrite.found(callee.line, f"'{callee.name}' takes a floating-point number for its bits")


def _assumed(rewrite: Rewrite, _: Case) -> Iterator[Finding]:
    for token in rewrite.after.code:
        if token.kind == "word" and token.text in names().assumptions and token.text not in rewrite.before.words:
            yield rewrite.found(token.line, f"'{token.text}' promises the compiler what nothing checks")
        elif token.kind == "word" and token.text in names().gathering and token.text not in rewrite.before.words:
            yield rewrite.found(token.line, f"'{token.text}' takes the threads that happen to be there for all of them")


RULES = (
    Rule(
        "fast-math",
        "no approximate or differently rounded intrinsics unless 'fast-math' is allowed",
        "fail",
        each(_fast),
    ),
    Rule("lowered-precision", "nothing is computed in fewer bits than before", "fail", each(_lowered)),
    Rule("narrowed-index", "integers that became narrower are looked at by the proof", "flag", each(_narrowed)),
    Rule("float-literal", "double literals that became float are looked at by the proof", "flag", each(_literals)),
    Rule("changed-constant", "constants that became others are looked at by the proof", "flag", each(_constants)),
    Rule(
        "inexact-function",
        "other rounding and numbers taken for their bits are looked at by the proof",
        "flag",
        each(_inexact),
    ),
    Rule("assumption", "promises to the compiler and about threads are looked at by the proof", "flag", each(_assumed)),
)
