"""What a file and the project's headers offer to a function: macros, functions, variables, types, every word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimas_lsp.rewrite.guard.names import names
from optimas_lsp.rewrite.guard.side import Side
from optimas_lsp.rewrite.guard.state import LASTING, state_in
from optimas_lsp.rewrite.guard.tokens import Token, code_of, lex
from optimas_lsp.source.syntax import Syntax, parse
from optimas_lsp.source.text import SourceText

_DEFINE = re.compile(r"#\s*define\s+(\w+)(\([^)]*\))?(.*)", re.DOTALL)
_ALIAS = re.compile(r"\b(?:using\s+(\w+)\s*=\s*([^;]+)|typedef\s+([^;]+?)\s*\b(\w+))\s*;")
_TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+class)?)\s+(?:__align__\([^)]*\)\s*|alignas\([^)]*\)\s*)?(\w+)")


@dataclass(frozen=True, slots=True)
class Macro:
    """One ``#define``: the words of its parameters, its body's tokens."""

    parameters: frozenset[str]
    body: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Names by what they are. ``hosts`` are functions that run on the host only, ``devices`` those a kernel can call.

    ``state`` are variables in device memory that outlive a launch, ``constants`` those in constant memory; ``aliases``
    maps a type's other name to its text.
    """

    words: frozenset[str]
    macros: dict[str, tuple[Macro, ...]]
    hosts: frozenset[str]
    devices: frozenset[str]
    kernels: frozenset[str]
    state: frozenset[str]
    constants: frozenset[str]
    types: frozenset[str]
    aliases: dict[str, str]

    def expansion(self, words: Iterable[str]) -> frozenset[str]:
        """``words`` with everything that macros and type aliases among them stand for."""
        found = set(words)
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            inside = {token.text for macro in self.macros.get(name, ()) for token in macro.body if token.kind == "word"}
            inside.update(re.findall(r"[^\W\d]\w*", self.aliases.get(name, "")))
            waiting += inside - found
            found |= inside
        return frozenset(found)


def surroundings_of(syntax: Syntax, headers: Sequence[str] = ()) -> Surroundings:
    """What the file of ``syntax`` and the texts of the project's headers it includes offer."""
    parsed = [syntax, *(parse(SourceText.of(header), "cuda") for header in headers)]
    texts = [each.text.text for each in parsed]
    functions = [function for each in parsed for function in each.functions]
    macros: dict[str, tuple[Macro, ...]] = {}
    words: set[str] = set()
    lexed = [lex(text) for text in texts]
    for tokens in lexed:
        words |= {token.text for token in tokens if token.kind == "word"}
        for token in tokens:
            match = _DEFINE.match(token.text) if token.kind == "directive" else None
            if match:
                body = code_of(lex((match.group(3) or "").replace("\\\n", " ").replace("\\\r\n", " ")))
                parameters = frozenset(re.findall(r"\w+", match.group(2) or ""))
                macros[match.group(1)] = (*macros.get(match.group(1), ()), Macro(parameters, body))
    aliases: dict[str, str] = {}
    for text in texts:
        for match in _ALIAS.finditer(text):
            aliases[match.group(1) or match.group(4)] = match.group(2) or match.group(3)
    devices = {function.name for function in functions if function.kind == "device"}
    lasting = LASTING | {name for name, known in macros.items() if any(LASTING & _words_of(macro) for macro in known)}
    return Surroundings(
        words=frozenset(words),
        macros=macros,
        hosts=frozenset({function.name for function in functions if function.kind == "host"} - devices),
        devices=frozenset(devices),
        kernels=frozenset(function.name for function in functions if function.kind == "kernel"),
        state=frozenset(name for tokens in lexed for name in state_in(code_of(tokens), lasting)),
        constants=frozenset(
            name for tokens in lexed for name in state_in(code_of(tokens), frozenset({"__constant__"}))
        ),
        types=frozenset(match.group(1) for text in texts for match in _TYPE.finditer(text)) | frozenset(aliases),
        aliases=aliases,
    )


def _words_of(macro: Macro) -> frozenset[str]:
    return frozenset(token.text for token in macro.body if token.kind == "word")


@dataclass(frozen=True, slots=True)
class Callee:
    """A word that stands before an opening bracket as a call would: its scopes, outermost first, name and place."""

    scopes: tuple[str, ...]
    name: str
    line: int
    start: int = 0
    """Offset of the name's first character."""

    @property
    def path(self) -> str:
        """As written, without template arguments."""
        return "::".join((*self.scopes, self.name))


def callees(side: Side) -> tuple[Callee, ...]:
    """Everything that may be a call of a function by name; types, keywords and members are left out."""
    known = names()
    found: list[Callee] = []
    code = side.code
    for at, token in enumerate(code):
        if token.kind != "word" or at + 1 >= len(code):
            continue
        following = code[at + 1].text
        if following != "(" and not (following == "<" and _template_call(code, at + 1)):
            continue
        if token.text in known.bracketed or token.text in known.types or token.text in known.keywords:
            continue
        if at and code[at - 1].text in {".", "->"}:
            continue
        found.append(Callee(_scopes(code, at), token.text, token.line, token.start))
    return tuple(found)


def _scopes(code: Sequence[Token], at: int) -> tuple[str, ...]:
    """The words joined by ``::`` before the one at index ``at``, outermost first."""
    found: list[str] = []
    while at >= 2 and code[at - 1].text == "::" and code[at - 2].kind == "word":
        at -= 2
        found.append(code[at].text)
    return tuple(reversed(found))


def _template_call(code: Sequence[Token], at: int) -> bool:
    """Whether the ``<`` at index ``at`` closes right before an opening bracket."""
    depth = 0
    for place in range(at, min(at + 40, len(code) - 1)):
        text = code[place].text
        if text in {";", "{", "}", "&&", "||"}:
            return False
        depth += (text == "<") - text.count(">") * (text in {">", ">>", ">>>"})
        if depth <= 0:
            return code[place + 1].text == "("
    return False
