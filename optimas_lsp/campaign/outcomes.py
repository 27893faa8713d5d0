"""When the outcome of an experiment is known and what was gained; rows by what they have in common.

An outcome is *known* when the experiment answers whether it made its kernel faster on its input: it was proven and
timed there, or it ended before (refuted, not built, refused, unusable, nothing to change). *Not proven*, decided by the
time of another input, failed (the experiment, or the program unchanged), and without evidence are not known and never
counted as one or the other. A *gain* is the old kernel time over the new, minus one; where nothing was offered it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeVar

from optimas_lsp.campaign.ending import Ending
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.statistics import Interval
from optimas_lsp.campaign.table import Value

ENDED: tuple[Ending, ...] = ("refuted", "not-built", "refused", "unusable", "nothing")
"""Endings without an offer whose outcome is known."""

WRONG = ("build", "determinism", "run", "compare", "sanitize")
"""Gates of the proof that a wrong candidate fails."""


BOOTSTRAP = "bootstrap over kernels; none for fewer than 4 kernels, or where all are equal"
"""How tables say where an interval is from (``statistics.mean`` and ``median``)."""

Of = TypeVar("Of", float, bool)


def elsewhere(row: Row) -> bool:
    """Whether what ended the experiment is a time of another input than its own."""
    decided = row.ending == "proven" or (row.ending == "refuted" and row.gate in {"time", "plausible"})
    return decided and bool(row.input and row.timed_input) and row.timed_input != row.input and row.speedup is None


def known(row: Row) -> bool:
    """Whether the experiment says if its kernel got faster on its input."""
    if elsewhere(row):
        return False
    return row.ending in ENDED or (row.ending == "proven" and row.speedup is not None)


def improved(row: Row) -> bool:
    """Proven right, and faster on the experiment's own input."""
    return row.ending == "proven" and row.speedup is not None


def gain(row: Row) -> float:
    """Of a row whose outcome is known."""
    return row.speedup - 1 if improved(row) and row.speedup is not None else 0.0


def kernel_of(row: Row) -> str:
    """Program and kernel, for a heading."""
    return row.program + (f" · {row.kernel}" if row.kernel else "")


def model_of(row: Row) -> str:
    """Backend and model, for a heading."""
    return row.backend + (f" · {row.model}" if row.model and row.model != row.backend else "")


def grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> list[tuple[str, list[Row]]]:
    """Rows that share a key, ordered by it."""
    return [(name, list(each)) for name, each in groupby(sorted(rows, key=key), key)]


def together(rows: Iterable[Row], *axes: str) -> tuple[str, ...]:
    """The note of a table that counts several values of these axes together, if there are several."""
    values = {axis: {getattr(row, axis) for row in rows} for axis in axes}
    words = {"backend": "backends", "device": "devices", "evidence": "subsets of evidence"}
    several = [f"{len(each)} {words[axis]}" for axis, each in values.items() if len(each) > 1]
    return (f"Counted together: {', '.join(several)}.",) if several else ()


def clusters(rows: Iterable[Row], value: Callable[[Row], Of | None]) -> list[list[Of]]:
    """Values by kernel."""
    return [[each for row in group if (each := value(row)) is not None] for _, group in grouped(rows, kernel_of)]


def ends(found: Interval | None) -> tuple[Value, Value, Value]:
    """A value and its interval as three cells."""
    return (None, None, None) if found is None else (found.value, found.low, found.high)
