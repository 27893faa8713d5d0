"""The sentences people read: a share with its denominator and margin, what waits, what it means."""

from __future__ import annotations

from optimas_lsp.insight.stalls import StallReason


def percent(share: float, digits: int = 1) -> str:
    """A share (0 to 1) as a person reads it, e.g. ``86.0 %``."""
    return f"{100 * share:.{digits}f} %"


def share_of(share: float, margin: float, total: int) -> str:
    """A share with its 95 % margin and denominator, e.g. ``86.0 ± 0.5 % of 17,802 samples``."""
    return f"{100 * share:.1f} ± {100 * margin:.1f} % of {total:,} samples"


def kernel_title(name: str) -> str:
    """A demangled kernel name without return type and parameters, e.g. ``a::update`` or ``mix_tiles<double>``."""
    depth = 0
    start, end = 0, len(name)
    for at, char in enumerate(name):
        if char == "(" and depth == 0 and not name.startswith("(anonymous", at):
            end = at
            break
        if char in "<([":
            depth += 1
        elif char in ">)]":
            depth -= 1
        elif char == " " and depth == 0:
            start = at + 1
    return name[start:end] or name


def duration(nanoseconds: float | None) -> str:
    """A time in the unit that fits, e.g. ``1.28 ms``."""
    if nanoseconds is None:
        return "unknown time"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= 0.9995 * size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def stall_text(reason: StallReason, *, share: float, margin: float, total: int, few: bool, busy: float | None) -> str:
    """What one stall reason on one line says.

    ``few``: the kernel has too few samples to rank lines. ``busy``: the share of cycles with an issue (0 to 1) where
    it is so high that stalls are noise, else None.
    """
    start = f"{share_of(share, margin, total)}: warps wait here for {reason.waits_for} ({reason.name})"
    if few:
        return f"{start}; too few samples to rely on, profile a longer run or more launches."
    if busy is not None:
        return f"{start}; schedulers issue in {percent(busy, 0)} of cycles, so other warps hide it: noise, not a lever."
    if not reason.remedies:
        return f"{start}; changing the source rarely moves it."
    if not reason.actionable:
        return f"{start}; every kernel has some. If it dominates: {reason.remedies[0]}."
    return f"{start}; usually helps: {', '.join(reason.remedies[:2])}."
