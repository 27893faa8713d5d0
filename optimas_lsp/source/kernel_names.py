"""From a kernel's name in a profile to its definition in a source file.

Instantiations belong to their template; equal base names in different namespaces are told apart by the namespace,
overloads by their parameters, and what is left by which body holds the hot lines. No guess is made between equals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from optimas_lsp.source.functions import Function

_ANONYMOUS = re.compile(r"\(anonymous(?: namespace| class)?\)|<unnamed>|\{anonymous\}|_GLOBAL__N__\w+|_INTERNAL_\w+")
_TRITON_SUFFIX = re.compile(r"(?:_\d+[dc\de]*)+$")
_STOP_WORDS = frozenset({"const", "volatile", "__restrict__", "__restrict", "restrict", "struct", "class", "typename"})


@dataclass(frozen=True, slots=True)
class KernelName:
    """A demangled name taken apart: ``path`` to the name without anonymous namespaces and template arguments.

    ``arguments`` of the last template, or None; ``parameters`` types, or None when the name shows none.
    """

    path: tuple[str, ...]
    arguments: str | None = None
    parameters: tuple[str, ...] | None = None


def parse_name(demangled: str) -> KernelName:
    """Take a name such as ``void ns::triad<float, (int)4>(T1 *, int)`` apart; never fails."""
    text = _ANONYMOUS.sub("\x01", demangled.strip())
    opening = _outermost(text, "(")
    parameters: tuple[str, ...] | None = None
    if opening:
        inside = text[opening[0] + 1 :].rsplit(")", 1)[0]
        parameters = tuple(part.strip() for part in _split(inside, ","))
        parameters = () if parameters in {("",), ("void",)} else parameters
        text = text[: opening[0]]
    spaces = _outermost(text.rstrip(), " ")
    text = text.rstrip()[spaces[-1] + 1 if spaces else 0 :]
    pieces = [piece.strip() for piece in _split(text, "::")]
    last = pieces[-1]
    angle = last.find("<")
    arguments = last[angle + 1 :].rsplit(">", 1)[0] if angle > 0 else None
    path = tuple(piece.split("<")[0] for piece in pieces if piece and piece != "\x01")
    return KernelName(path or (demangled.strip(),), arguments, parameters)


def match_kernel(
    functions: Sequence[Function], demangled: str, mangled: str = "", hint_lines: Iterable[int] = ()
) -> Function | None:
    """The definition of the kernel a profile calls ``demangled`` (``mangled`` where only that is known).

    ``hint_lines`` are today's 1-based lines on which it was sampled. None when no definition fits or several do.
    """
    name = parse_name(demangled or mangled)
    hints = frozenset(hint_lines)
    launched = [function for function in functions if function.kind == "kernel"]
    found = [function for function in launched if _path(function) == name.path]
    if not found:
        found = [function for function in launched if _may_be(function, name, hints)]
    if not found and (short := _TRITON_SUFFIX.sub("", name.path[-1])) != name.path[-1] and name.parameters is None:
        found = [function for function in launched if function.name == short]
    for fits in _preferences(name):
        found = [function for function in found if fits(function)] or found
    if len(found) > 1 and name.parameters is not None:
        found = _best(found, lambda function: _alike(function, name.parameters or ()))
    if len(found) > 1:
        found = _best(found, lambda function: sum(map(function.holds, hints)))
    return found[0] if len(found) == 1 else None


def _path(function: Function) -> tuple[str, ...]:
    return tuple(part for part in function.qualified if part)


def _may_be(function: Function, name: KernelName, hints: Collection[int]) -> bool:
    """A path that leaves some namespaces out (opened by a macro, inline) may be meant, if no hot line denies it."""
    path = _path(function)
    if path[-1] != name.path[-1] or (hints and not any(map(function.holds, hints))):
        return False
    if name.parameters is not None and not function.takes(len(name.parameters)):
        return False
    return _within(path, name.path) or _within(name.path, path)


def _within(some: Sequence[str], all_: Sequence[str]) -> bool:
    rest = iter(all_)
    return all(part in rest for part in some)


def _preferences(name: KernelName) -> Iterable[Callable[[Function], bool]]:
    if name.arguments is not None:
        wanted = _plain_arguments(name.arguments)
        yield lambda f: f.specialization is not None and _plain_arguments(f.specialization) == wanted
        yield lambda f: f.specialization is None
        yield lambda f: f.template or not f.certain
    else:
        yield lambda f: not f.template and f.specialization is None
    if name.parameters is not None:
        count = len(name.parameters)
        yield lambda f: len(f.parameters) == count
        yield lambda f: f.takes(count)


def _plain_arguments(arguments: str) -> str:
    return re.sub(r"\([a-z ]+\)|\s", "", arguments)


def _alike(function: Function, types: Sequence[str]) -> int:
    """How many parameters have the type the profile names, by the words in it and its pointers and references."""
    return sum(
        _same_type(parameter.text, wanted) for parameter, wanted in zip(function.parameters, types, strict=False)
    )


def _same_type(declared: str, wanted: str) -> bool:
    if any(declared.count(mark) != wanted.count(mark) for mark in "*&"):
        return False
    words = set(re.findall(r"\w+", wanted)) - _STOP_WORDS
    return words <= set(re.findall(r"\w+", declared)) and ("const" in wanted) == ("const" in declared)


def _best(found: list[Function], score: Callable[[Function], int]) -> list[Function]:
    scores = [score(function) for function in found]
    best = max(scores)
    return [function for function, value in zip(found, scores, strict=True) if value == best]


def _outermost(text: str, wanted: str) -> list[int]:
    """Where ``wanted`` (one character) stands outside of all brackets."""
    places: list[int] = []
    depth = 0
    for place, char in enumerate(text):
        if char == wanted and depth == 0:
            places.append(place)
        depth += (char in "<([{") - (char in ">)]}" and text[place - 1 : place] != "-")
    return places


def _split(text: str, separator: str) -> list[str]:
    places = [place for place in _outermost(text, separator[0]) if text.startswith(separator, place)]
    pieces: list[str] = []
    last = 0
    for place in places:
        if place >= last:
            pieces.append(text[last:place])
            last = place + len(separator)
    return [*pieces, text[last:]]
