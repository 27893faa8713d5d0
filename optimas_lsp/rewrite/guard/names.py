"""Which names device code may use and which it must not, from ``names.toml``."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Names that break the rule ``rule``; ``what`` completes "'name' …"."""

    rule: str
    what: str
    words: frozenset[str]
    prefixes: tuple[str, ...]

    def holds(self, name: str) -> bool:
        """Whether ``name`` is one of them."""
        return name in self.words or (bool(self.prefixes) and name.startswith(self.prefixes))


@dataclass(frozen=True, slots=True)
class Names:
    """The lists of ``names.toml``; ``calls`` are the functions of CUDA that a kernel may call."""

    keywords: frozenset[str]
    bracketed: frozenset[str]
    types: frozenset[str]
    constants: frozenset[str]
    scopes: frozenset[str]
    scoped: frozenset[str]
    methods: frozenset[str]
    calls: frozenset[str]
    assumptions: frozenset[str]
    variables: frozenset[str]
    inexact: frozenset[str]
    bits: frozenset[str]
    gathering: frozenset[str]
    fast_math: Forbidden
    narrow_types: Forbidden
    forbidden: tuple[Forbidden, ...]

    def forbidding(self, name: str) -> Forbidden | None:
        """The list that forbids ``name``, if one does."""
        if name in self.types:
            return None
        return next((each for each in self.forbidden if each.holds(name)), None)

    def known(self, name: str) -> bool:
        """Whether CUDA or the language itself gives the name."""
        return (
            name in self.keywords
            or name in self.types
            or name in self.constants
            or name in self.calls
            or name in self.bracketed
            or name in self.assumptions
            or self.fast_math.holds(name)
            or self.narrow_types.holds(name)
        )


def _words(table: Mapping[str, Any], field: str = "words") -> frozenset[str]:
    return frozenset(str(table.get(field, "")).split())


def _forbidden(rule: str, table: Mapping[str, Any]) -> Forbidden:
    return Forbidden(rule, str(table.get("what", "")), _words(table), tuple(sorted(_words(table, "prefixes"))))


@functools.cache
def names() -> Names:
    """The lists, read once."""
    text = (resources.files("optimas_lsp.rewrite.guard") / "names.toml").read_text("utf-8")
    data = cast("dict[str, dict[str, Any]]", tomllib.loads(text))
    return Names(
        keywords=_words(data["keywords"]),
        bracketed=_words(data["bracketed"]),
        types=_words(data["types"]),
        constants=_words(data["constants"]),
        scopes=_words(data["scopes"]),
        scoped=_words(data["scoped"]),
        methods=_words(data["methods"]),
        calls=frozenset[str]().union(*(_words(table) for table in data["calls"].values())),
        assumptions=_words(data["assumptions"]),
        variables=_words(data["variables"]),
        inexact=_words(data["inexact"]),
        bits=_words(data["bits"]),
        gathering=_words(data["gathering"]),
        fast_math=_forbidden("fast-math", data["fast_math"]),
        narrow_types=_forbidden("lowered-precision", data["narrow_types"]),
        forbidden=tuple(_forbidden(rule, table) for rule, table in data["forbidden"].items()),
    )
