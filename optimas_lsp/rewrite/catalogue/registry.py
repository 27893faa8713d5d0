"""The catalogue's entries: a module that finds, and a data file that says what it is for."""

from __future__ import annotations

import functools
import tomllib
from importlib import import_module, resources
from typing import Any, Literal, cast

from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.catalogue.variant import Finder

PACKAGE = "optimas_lsp.rewrite.catalogue.entries"

Exactness = Literal["exact", "exact-integers", "contraction", "inexact"]
"""``exact``: the same operations on the same values in the same order for every result. ``exact-integers``: sums of
integers in another order. ``contraction``: the same operations, but the compiler may fuse others than before.
``inexact``: last bits may differ."""


class Entry(Frozen):
    """One transformation as data. ``rules`` are the rules of evidence it answers; ``weight`` its worth against others.

    ``metrics`` are what it should move down beside the stall reasons it cites; ``after`` names entries whose result it
    may be applied to.
    """

    name: str
    title: str
    rules: tuple[str, ...]
    whole_kernel: bool = False
    precondition: str
    exactness: Exactness
    references: tuple[str, ...]
    weight: float
    after: tuple[str, ...] = ()
    allowance: str | None = None

    @property
    def find(self) -> Finder:
        """The module's search."""
        return cast("Finder", import_module(f"{PACKAGE}.{self.name.replace('-', '_')}").find)


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every entry, by name."""
    found: list[Entry] = []
    for item in sorted(resources.files(PACKAGE).iterdir(), key=lambda each: each.name):
        if item.name.endswith(".toml"):
            table: dict[str, Any] = tomllib.loads(item.read_text("utf-8"))
            found.append(Entry.model_validate({"name": item.name.removesuffix(".toml").replace("_", "-"), **table}))
    return tuple(found)


def entry(name: str) -> Entry:
    """The entry called ``name``; raises KeyError."""
    for each in entries():
        if each.name == name:
            return each
    raise KeyError(name)
