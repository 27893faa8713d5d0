"""Sums of a kernel's PC samples over source lines, with sampling errors and what could not be attributed.

The line of an instruction is, unless a caller chooses otherwise, the innermost frame of its inline chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from optimas_lsp.profile.generated import is_generated
from optimas_lsp.profile.model import NOT_STALLED, Frame, Kernel, Profile

Ints = NDArray[np.int64]
Chain = tuple[Frame, ...]
Pick = Callable[[Chain], Frame | None]
Why = Literal["no-lineinfo", "line-0", "generated", "no-file"]

WHYS: tuple[Why, ...] = ("no-lineinfo", "line-0", "generated", "no-file")
WORDS: dict[Why, str] = {
    "no-lineinfo": "no line information; compile with -lineinfo",
    "line-0": "the compiler gave these instructions line 0 (no source line)",
    "generated": "generated at run time, its source is not in the report; profile with --import-source yes",
    "no-file": "the line table names no file",
}
Z95 = 1.96
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class ReasonSum:
    """Samples of one stall reason (index into ``Profile.reasons``): all, and those in cycles without an issue."""

    reason: int
    samples: int
    not_issued: int


@dataclass(frozen=True, slots=True)
class LineSum:
    """Everything sampled on one line. ``file`` indexes ``Profile.files``, ``line`` is 1-based.

    ``stalled`` leaves out ``selected`` and ``not_selected``. ``share`` is of all samples of the kernel, ``margin`` its
    95 % half-width (0 to 1). ``reasons`` come with most samples first.
    """

    file: int
    line: int
    samples: int
    stalled: int
    not_issued: int
    share: float
    margin: float
    reasons: tuple[ReasonSum, ...]


@dataclass(frozen=True, slots=True)
class Unattributed:
    """Samples that no line can be given, with the reason as a code and in words."""

    why: Why
    text: str
    samples: int


@dataclass(frozen=True, slots=True)
class KernelSums:
    """All samples of one kernel; ``lines`` most samples first, ties by path and line."""

    total: int
    stalled: int
    not_issued: int
    unattributed: int
    why_unattributed: tuple[Unattributed, ...]
    reasons: tuple[ReasonSum, ...]
    lines: tuple[LineSum, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """Which line each instruction of a kernel belongs to.

    ``slot[k]`` indexes ``lines`` for instruction k, or is ``-1 - WHYS.index(why)`` where there is no line.
    ``lines`` holds (index into ``Profile.files``, 1-based line), in order of first appearance.
    """

    slot: Ints
    lines: tuple[tuple[int, int], ...]


def margin(share: float, samples: int) -> float:
    """95 % half-width of a share (0 to 1) of ``samples`` samples: 1.96·√(p(1−p)/N), normal approximation."""
    return Z95 * math.sqrt(max(share * (1.0 - share), 0.0) / samples) if samples > 0 else 0.0


def innermost(chain: Chain) -> Frame | None:
    """The location the instruction itself was written at."""
    return chain[0] if chain else None


def outermost(chain: Chain) -> Frame | None:
    """The call site in the kernel's own body."""
    return chain[-1] if chain else None


def locate(profile: Profile, kernel: Kernel, pick: Pick = innermost) -> Located:
    """Give each instruction of ``kernel`` the line of the frame that ``pick`` chooses from its inline chain.

    ``pick`` is called once a distinct chain; where it answers None the instruction has no line information.
    """
    lines: dict[tuple[int, int], int] = {}
    # One slot a chain, and a last one that index -1 (no chain) reaches.
    slots = np.full(len(kernel.code.chains) + 1, _missing("no-lineinfo"), np.int64)
    for at, chain in enumerate(kernel.code.chains):
        frame = pick(chain)
        why = _why_not(profile, frame)
        if frame is None or why is not None:
            slots[at] = _missing(why or "no-lineinfo")
        else:
            slots[at] = lines.setdefault((frame.file, frame.line), len(lines))
    return Located(slots[np.asarray(kernel.code.chain, np.int64)], tuple(lines))


def sum_by_line(located: Located, values: Sequence[int] | Ints) -> dict[tuple[int, int], int]:
    """Per-instruction ``values`` (e.g. execution counts) summed over each line; unattributed ones are left out."""
    has_line = located.slot >= 0
    sums = _sum_at(located.slot[has_line], np.asarray(values, np.int64)[has_line], len(located.lines))
    return {key: int(value) for key, value in zip(located.lines, sums, strict=True)}


def aggregate(profile: Profile, kernel: int, pick: Pick = innermost) -> KernelSums:
    """Sum the PC samples of ``Profile.kernels[kernel]`` by line and reason; see :func:`locate` for ``pick``."""
    subject = profile.kernels[kernel]
    instruction = np.asarray(subject.samples.instruction, np.int64)
    reason = np.asarray(subject.samples.reason, np.int64)
    both = np.stack(
        [np.asarray(subject.samples.all_, np.int64), np.asarray(subject.samples.not_issued, np.int64)], axis=1
    ).reshape(-1, 2)
    located = locate(profile, subject, pick)
    slot = located.slot[instruction]
    names = len(profile.reasons)
    total = int(both[:, 0].sum())
    # table[slot, reason] = (all, not issued); rows after the lines hold the unattributed, one row a why.
    rows = len(located.lines) + len(WHYS)
    row = np.where(slot >= 0, slot, len(located.lines) - 1 - slot)
    cells = row * names + reason
    table = np.stack([_sum_at(cells, both[:, part], rows * names) for part in (0, 1)], axis=1).reshape(rows, names, 2)
    stalls = np.array([name not in NOT_STALLED for name in profile.reasons], np.bool_)
    found = [
        _line(located.lines[at], cast("Ints", table[at]), stalls, total)
        for at in range(len(located.lines))
        if table[at].any()
    ]
    found.sort(key=lambda item: (-item.samples, profile.files[item.file].path, item.line))
    missing = [
        Unattributed(why, WORDS[why], int(table[len(located.lines) + at, :, 0].sum())) for at, why in enumerate(WHYS)
    ]
    missing = sorted((item for item in missing if item.samples), key=lambda item: -item.samples)
    over_lines = cast("Ints", table.sum(axis=0))
    return KernelSums(
        total=total,
        stalled=int(over_lines[stalls, 0].sum()),
        not_issued=int(over_lines[:, 1].sum()),
        unattributed=sum(item.samples for item in missing),
        why_unattributed=tuple(missing),
        reasons=_reasons(over_lines),
        lines=tuple(found),
    )


def by_not_issued(sums: KernelSums) -> tuple[LineSum, ...]:
    """The lines ranked by not-issued samples (where waiting really costs issue slots), most first."""
    return tuple(sorted(sums.lines, key=lambda item: (-item.not_issued, -item.samples, item.file, item.line)))


def _missing(why: Why) -> int:
    return -1 - WHYS.index(why)


def _why_not(profile: Profile, frame: Frame | None) -> Why | None:
    if frame is None:
        return "no-lineinfo"
    if not 0 <= frame.file < len(profile.files) or not profile.files[frame.file].path:
        return "no-file"
    if is_generated(profile.files[frame.file]):
        return "generated"
    return "line-0" if frame.line <= 0 else None


def _sum_at(index: Ints, values: Ints, length: int) -> Ints:
    sums = np.zeros(length, np.int64)
    np.add.at(sums, index, values)
    return sums


def _reasons(cells: Ints) -> tuple[ReasonSum, ...]:
    found = [ReasonSum(int(at), int(cells[at, 0]), int(cells[at, 1])) for at in np.flatnonzero(cells.any(axis=1))]
    return tuple(sorted(found, key=lambda item: (-item.samples, -item.not_issued, item.reason)))


def _line(key: tuple[int, int], cells: Ints, stalls: NDArray[np.bool_], total: int) -> LineSum:
    samples = int(cells[:, 0].sum())
    share = samples / total if total else 0.0
    return LineSum(
        file=key[0],
        line=key[1],
        samples=samples,
        stalled=int(cells[stalls, 0].sum()),
        not_issued=int(cells[:, 1].sum()),
        share=share,
        margin=margin(share, total),
        reasons=_reasons(cells),
    )
