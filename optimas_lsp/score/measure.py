"""A share with its interval, or the reason why it cannot be measured: never a zero that stands for "unknown"."""

from __future__ import annotations

import math
from typing import Self

from pydantic import Field, model_validator

from optimas_lsp.profile.model import Frozen

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def wilson(hits: float, of: float, z: float = Z95) -> tuple[float, float]:
    """The score interval of a share (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927), both ends within 0 to 1.

    ``hits`` may be a fraction: samples that are shared out over several lines. Raises ValueError unless
    0 ≤ ``hits`` ≤ ``of`` and ``of`` > 0.
    """
    if not 0 <= hits <= of or of <= 0:
        raise ValueError(f"{hits} of {of} is no share")
    share = hits / of
    centre = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


class Measure(Frozen):
    """``hits`` of ``of`` as a share with its 95 % Wilson interval; all None where ``why_not`` says why not."""

    value: float | None = Field(default=None, description="the share, 0 to 1")
    low: float | None = None
    high: float | None = None
    hits: float | None = Field(default=None, description="a fraction where samples are shared out over lines")
    of: int | None = None
    why_not: str = Field(default="", description="why it cannot be measured; empty where it is")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        missing = [each is None for each in (self.value, self.low, self.high, self.hits, self.of)]
        if any(missing) != all(missing) or all(missing) != bool(self.why_not):
            raise ValueError("a measure has a value with its interval and counts, or a reason why it has none")
        return self

    @classmethod
    def share(cls, hits: float, of: int, *, nothing: str) -> Measure:
        """``hits`` of ``of``; of nothing there is no share, and ``nothing`` says so."""
        if not of:
            return cls.unknown(nothing)
        low, high = wilson(hits, of)
        return cls(value=hits / of, low=low, high=high, hits=hits, of=of)

    @classmethod
    def unknown(cls, why: str) -> Measure:
        """Not measurable, for this reason."""
        return cls(why_not=why)

    def words(self, what: str = "") -> str:
        """For a person: ``62.5 % (5 of 8 findings; 30.6 to 86.3 %)``, or ``not measurable: …``."""
        if self.value is None or self.low is None or self.high is None or self.hits is None or self.of is None:
            return f"not measurable: {self.why_not}"
        hits = f"{round(self.hits):,}"
        kind = f" {what}" if what else ""
        return (
            f"{100 * self.value:.1f} % ({hits} of {self.of:,}{kind}; {100 * self.low:.1f} to {100 * self.high:.1f} %)"
        )
