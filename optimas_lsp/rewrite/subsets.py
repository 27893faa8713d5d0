"""Which sources of evidence a prompt is made of: stalls (pc), counter importance (ia), roofline (rl), or several.

The seven subsets are those the Optimas study compares (arXiv 2604.23892). Causes and patterns (ids ``BL-n``, ``PT-n``)
are read off the same instructions as the stalls and go with ``pc``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from optimas_lsp.errors import ConfigError
from optimas_lsp.insight.evidence import Evidence, EvidenceSource

Source = Literal["pc", "ia", "rl"]

ORDER: tuple[Source, ...] = ("pc", "rl", "ia")
SEVEN: tuple[str, ...] = ("pc", "ia", "rl", "pc+ia", "pc+rl", "rl+ia", "pc+rl+ia")
"""Every subset, in the study's spelling."""

_MEMBERS: dict[EvidenceSource, Source] = {"pc": "pc", "bl": "pc", "pt": "pc", "rl": "rl", "ia": "ia"}


@dataclass(frozen=True, slots=True)
class Subset:
    """A choice of sources; never empty."""

    sources: frozenset[Source]

    @property
    def name(self) -> str:
        """In the study's spelling, e.g. ``pc+rl``."""
        return next(name for name in SEVEN if frozenset(name.split("+")) == self.sources)

    def holds(self, evidence: Evidence) -> bool:
        """Whether this evidence belongs to the choice."""
        return _MEMBERS[evidence.source] in self.sources

    def of(self, evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
        """The evidence that belongs to the choice, in its order."""
        return tuple(each for each in evidence if self.holds(each))


EVERYTHING = Subset(frozenset(ORDER))


def parse_subset(text: str) -> Subset:
    """A subset from ``pc,rl`` or ``pc+rl`` in any order; ``all`` is everything.

    Raises ConfigError that lists the seven.
    """
    words = [word for word in re.split(r"[,+\s]+", text.strip().lower()) if word]
    if words == ["all"]:
        return EVERYTHING
    found: frozenset[Source] = frozenset(source for source in ORDER if source in words)
    if not words or len(found) != len(set(words)):
        raise ConfigError(
            f"'{text}' is no choice of evidence", remedy=f"choose one of: {', '.join(SEVEN)} (or with commas), or all"
        )
    return Subset(found)
