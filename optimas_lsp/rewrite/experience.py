"""What past attempts say about transformations, as plain data: it ranks the catalogue, whoever gathered it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import cached_property

from optimas_lsp.profile.model import Frozen

PRIOR_TRIES = 4.0
PRIOR_PROVEN = 2.0
"""What is assumed before anything was tried: two proven of four."""

LOWEST, HIGHEST = 0.2, 1.5
"""Bounds of the factor."""

ELSEWHERE = 0.5
"""What a try on other evidence counts beside one on the same rule."""


class Record(Frozen):
    """How one transformation did in answer to one rule of evidence (empty: to any).

    ``tries`` were judged: by the guardrails, the compiler or a proof. A person's no counts as a try that failed.
    ``effect`` is the median speed-up of kernel time of the ``proven`` ones.
    """

    transformation: str
    rule: str = ""
    tries: int
    proven: int
    effect: float | None = None


class Again(Frozen):
    """What became of exactly this change to exactly this code: ``held`` if it was proven and nobody said no.

    ``functions`` maps each changed function to its new text; ``effect`` is the speed-up of kernel time.
    """

    functions: dict[str, str]
    held: bool
    effect: float | None = None


class Experience(Frozen):
    """All records. Without any, or for what was never tried, the factor is 1."""

    records: tuple[Record, ...] = ()
    again: tuple[Again, ...] = ()

    def before(self, functions: Mapping[str, str]) -> Again | None:
        """What became of exactly these new texts; None: never judged."""
        return next((each for each in self.again if each.functions == functions), None)

    @cached_property
    def _known(self) -> dict[tuple[str, str], Record]:
        return {(each.transformation, each.rule): each for each in self.records}

    def of(self, transformation: str, rules: Collection[str] = ()) -> Record | None:
        """The record with most tries on one of ``rules``, else the one on any rule; None: never tried."""
        known = [self._known[key] for rule in sorted(rules) if (key := (transformation, rule)) in self._known]
        return max(known, key=lambda each: each.tries, default=None) or self._known.get((transformation, ""))

    def factor(self, transformation: str, rules: Collection[str] = ()) -> float:
        """What a score is multiplied by, between ``LOWEST`` and ``HIGHEST``.

        The share that was proven, drawn towards the prior while tries are few, over the prior's share; times the
        fourth root of the median speed-up. Tries on other evidence count half.
        """
        record = self.of(transformation, rules)
        if record is None or not record.tries:
            return 1.0
        weight = 1.0 if record.rule else ELSEWHERE
        share = (PRIOR_PROVEN + weight * record.proven) / (PRIOR_TRIES + weight * record.tries)
        gain = math.sqrt(math.sqrt(max(1.0, record.effect or 1.0)))
        return min(HIGHEST, max(LOWEST, share * PRIOR_TRIES / PRIOR_PROVEN * gain**weight))
