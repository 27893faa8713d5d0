"""What the parent asks of worker processes: the job, said once, and orders, one line of JSON each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, cast

MEMORY_EXIT = 77
"""Exit status of a worker that reached its memory limit."""

ORPHAN_EXIT = 78
"""Exit status of a worker whose parent went away."""

FEWEST = 8
"""Slices are not cut smaller than this many launches, and a worker reads at least as many before it is full."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker of one report needs to know.

    ``path`` is what the native reader opens, ``shown`` the path the user knows it by, ``name`` its last part.
    ``sha256``, ``size`` (bytes) and ``mtime`` (seconds) are of the report. ``plain`` and ``whole`` are where the
    merged profile goes before and after ``enrich`` (``module:function``).
    """

    path: str
    shown: str
    name: str
    sha256: str
    size: int
    mtime: float
    plain: str
    whole: str
    workers: int
    slice_mb: int
    memory_limit_mb: int
    enrich: str | None = None

    def line(self) -> bytes:
        """The job as one line of ASCII JSON; paths that are not UTF-8 survive as surrogate escapes."""
        return json.dumps(asdict(self)).encode("ascii") + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Job:
        """The job in one line that :meth:`line` wrote."""
        return cls(**cast("dict[str, Any]", json.loads(line)))


@dataclass(frozen=True, slots=True)
class Order:
    """One thing to do, then wait for the next.

    ``plan``: open the report, answer with the slices, read the first. ``open``: open it, no more. ``slice``: read
    launches ``start`` to ``stop`` (exclusive) and keep what they hold. ``flush``: write all that is kept to the file
    ``part``. ``finish``: merge ``parts`` and what is kept, enrich, write. ``end``: leave.
    """

    kind: Literal["plan", "open", "slice", "flush", "finish", "end"]
    part: str = ""
    start: int = 0
    stop: int = 0
    parts: tuple[str, ...] = ()

    def line(self) -> bytes:
        """The order as one line of ASCII JSON."""
        return json.dumps(asdict(self)).encode("ascii") + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Order:
        """The order in one line that :meth:`line` wrote."""
        fields = cast("dict[str, Any]", json.loads(line))
        fields["parts"] = tuple(fields["parts"])
        return cls(**fields)


def slice_count(workers: int) -> int:
    """How many slices ``workers`` share: many, so that both are busy to the end though the first one disassembles and
    launches differ; one worker alone reads everything in one go."""
    return 1 if workers == 1 else 8 * workers


def cut(start: int, stop: int, pieces: int, fewest: int = FEWEST) -> list[tuple[int, int]]:
    """Launches ``start`` to ``stop`` (exclusive) as ``pieces`` equal runs, fewer if they fell below ``fewest``."""
    total = stop - start
    count = max(1, min(pieces, total // fewest))
    edges = [start + total * at // count for at in range(count + 1)]
    return list(pairwise(edges))
