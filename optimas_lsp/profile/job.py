"""What the parent asks of a worker process, and the lines a worker answers with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, cast

MEMORY_EXIT = 77
"""Exit status of a worker that reached its memory limit."""

ORPHAN_EXIT = 78
"""Exit status of a worker whose parent went away."""


@dataclass(frozen=True, slots=True)
class Job:
    """One worker's work, sent as one line of JSON on its standard input.

    ``kind`` ``first``: open the report, plan the slices, read the first one, and finish if it is the only one.
    ``slice``: read launches ``start`` to ``stop`` (exclusive). ``finish``: merge ``parts`` and enrich the whole.
    ``path`` is what the native reader opens, ``shown`` the path the user knows it by. ``part`` is where a slice goes,
    ``plain`` and ``whole`` are where the merged profile goes before and after ``enrich`` (``module:function``).
    """

    kind: Literal["first", "slice", "finish"]
    path: str
    shown: str
    name: str
    sha256: str
    size: int
    mtime: float
    part: str
    plain: str
    whole: str
    workers: int
    slice_launches: int
    memory_limit_mb: int
    unpacked_mb: int
    start: int = 0
    stop: int = 0
    parts: tuple[str, ...] = ()
    enrich: str | None = None

    def line(self) -> bytes:
        """The job as one line of ASCII JSON; paths that are not UTF-8 survive as surrogate escapes."""
        return json.dumps(asdict(self)).encode("ascii") + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Job:
        """The job in one line of JSON that :meth:`line` wrote."""
        fields = cast("dict[str, Any]", json.loads(line))
        fields["parts"] = tuple(fields["parts"])
        return cls(**fields)


def plan(total: int, workers: int, most: int, fewest: int = 12) -> list[tuple[int, int]]:
    """Cut ``total`` launches into equal slices (start, stop) of at most ``most``.

    There are as many slices as workers, or a multiple, unless slices would fall below ``fewest`` launches, where
    starting a process costs more than it saves.
    """
    if total <= 0:
        return [(0, 0)]
    count = -(-total // max(1, most))
    if count > 1 or total >= workers * fewest:
        count = -(-count // workers) * workers
    count = min(count, total)
    edges = [total * at // count for at in range(count + 1)]
    return list(pairwise(edges))
