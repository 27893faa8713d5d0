"""Per source line: which samples fall on it and why, and the samples that no line can be given.

Nothing is lost: the samples of all lines and the unattributed ones sum to the kernel's total.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from optimas_lsp.insight.evidence import LineHeat, LineReason, SampleTotals, UnattributedCause
from optimas_lsp.insight.locate import Locator, Place
from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.aggregate import WORDS, Why, margin
from optimas_lsp.profile.model import Kernel, Profile


@dataclass
class Line:
    """What was sampled on one line of one kernel. ``all_`` and ``not_issued`` count per reason name.

    Samples of one line that are shown at different call sites are different ``Line``s. ``place`` is that of the chain
    with the most samples. ``instructions`` holds, per reason, the kernel's instruction indices the samples fell on.
    """

    place: Place
    all_: Counter[str] = field(default_factory=Counter[str])
    not_issued: Counter[str] = field(default_factory=Counter[str])
    instructions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    heaviest: int = 0

    @property
    def samples(self) -> int:
        """All samples on the line."""
        return self.all_.total()

    @property
    def stalled(self) -> int:
        """Samples of warps that could not issue."""
        return sum(count for reason, count in self.all_.items() if is_stall(reason))

    def heat(self, total: int) -> LineHeat:
        """The line in the words of the analysis; ``total`` is the kernel's samples."""
        share = self.samples / total if total else 0.0
        return LineHeat(
            location=self.place.location,
            inlined_at=self.place.inlined_at,
            shown=self.place.shown,
            samples=self.samples,
            stalled=self.stalled,
            not_issued=self.not_issued.total(),
            share=share,
            margin=margin(share, total),
            reasons=tuple(
                LineReason(reason=reason, samples=count, not_issued=self.not_issued[reason])
                for reason, count in sorted(self.all_.items(), key=lambda item: (-item[1], item[0]))
            ),
        )


def order(line: Line) -> tuple[int, int, str, int, str, int]:
    """Sort key: costliest line first (not-issued samples), then by place, so that equal runs give equal order."""
    location, shown = line.place.location, line.place.shown
    shown_file, shown_line = (shown.file, shown.line) if shown else ("", 0)
    return (-line.not_issued.total(), -line.samples, location.file, location.line, shown_file, shown_line)


def lines_of(profile: Profile, kernel: Kernel, locator: Locator) -> tuple[list[Line], SampleTotals]:
    """Every sampled line of ``kernel``, costliest first, and the kernel's totals."""
    places, without_chain = locator.places(kernel)
    by_chain: dict[int, Line] = {}
    unattributed: Counter[Why] = Counter()
    total = stalled = not_issued = 0
    samples = kernel.samples
    columns = zip(samples.instruction, samples.reason, samples.all_, samples.not_issued, strict=True)
    for instruction, reason_index, count, idle in columns:
        reason = profile.reasons[reason_index]
        total += count
        not_issued += idle
        stalled += count if is_stall(reason) else 0
        chain = kernel.code.chain[instruction]
        place = places[chain] if chain >= 0 else without_chain
        if isinstance(place, str):
            unattributed[place] += count
            continue
        line = by_chain.setdefault(chain, Line(place))
        line.all_[reason] += count
        line.not_issued[reason] += idle
        line.instructions.setdefault(reason, []).append(instruction)
    totals = SampleTotals(
        total=total,
        stalled=stalled,
        not_issued=not_issued,
        unattributed=unattributed.total(),
        why_unattributed=tuple(
            UnattributedCause(why=why, text=WORDS[why], samples=count)
            for why, count in sorted(unattributed.items(), key=lambda item: (-item[1], item[0]))
        ),
    )
    return sorted(_merge(by_chain), key=order), totals


def _merge(by_chain: dict[int, Line]) -> list[Line]:
    """Chains with the same line and the same place to show it are one line."""
    merged: dict[tuple[str, int, str, int], Line] = {}
    for line in by_chain.values():
        location, shown = line.place.location, line.place.shown
        key = (location.file, location.line, shown.file if shown else "", shown.line if shown else 0)
        into = merged.setdefault(key, Line(line.place))
        if line.samples > into.heaviest:
            into.heaviest, into.place = line.samples, line.place
        into.all_.update(line.all_)
        into.not_issued.update(line.not_issued)
        for reason, instructions in line.instructions.items():
            into.instructions.setdefault(reason, []).extend(instructions)
    return list(merged.values())
