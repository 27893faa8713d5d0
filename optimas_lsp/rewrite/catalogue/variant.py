"""What a transformation found: a way to apply it, or the sentence that says why it does not apply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from optimas_lsp.rewrite.catalogue.patch import Edit
from optimas_lsp.rewrite.catalogue.site import Site


@dataclass(frozen=True)
class Variant:
    """One way to apply a transformation.

    ``lines`` are the first and last line that it is about; ``preference`` ranks variants of one transformation among
    each other (1 is the most promising); ``exact`` is False where results may differ in the last bits.
    """

    label: str
    edits: tuple[Edit, ...]
    lines: tuple[int, int]
    reason: str
    preference: float = 1.0
    exact: bool = True


@dataclass(frozen=True)
class Refusal:
    """Why a transformation does not apply, in one sentence, at ``line`` (0: anywhere in the function)."""

    reason: str
    line: int = 0


Found = Iterator[Variant | Refusal]


class Finder(Protocol):
    """A transformation: looks at a site and yields variants and refusals, deterministically."""

    def __call__(self, site: Site, /) -> Found: ...
