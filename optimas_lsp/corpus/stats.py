"""What a corpus holds, counted."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from optimas_lsp.corpus.store import Store
from optimas_lsp.profile.model import Frozen

MOST = 20
"""Lines of one table of counts."""


class Count(Frozen):
    """How many attempts something occurs in, and how many of them were proven."""

    name: str
    attempts: int
    proven: int


class Stats(Frozen):
    """One corpus. ``size_bytes`` is the file's with its log; tables hold the most frequent first."""

    path: str
    size_bytes: int
    attempts: int = 0
    kernels: int = 0
    noes: int = 0
    endings: tuple[Count, ...] = ()
    transformations: tuple[Count, ...] = ()
    rules: tuple[Count, ...] = ()
    authors: tuple[Count, ...] = ()
    devices: tuple[Count, ...] = ()
    sources: tuple[Count, ...] = ()


_TABLES = {
    "endings": "SELECT ending, count(*), sum(ending = 'proven') FROM attempts GROUP BY 1",
    "transformations": (
        "SELECT transformation, count(*), sum(ending = 'proven') FROM steps WHERE rule = '' GROUP BY 1"
    ),
    "rules": (
        "SELECT rule, count(DISTINCT attempt), count(DISTINCT CASE WHEN ending = 'proven' THEN attempt END)"
        " FROM steps WHERE rule <> '' GROUP BY 1"
    ),
    "authors": (
        "SELECT CASE WHEN model IN ('', backend) THEN backend ELSE backend || ' (' || model || ')' END, count(*),"
        " sum(ending = 'proven') FROM attempts GROUP BY 1"
    ),
    "devices": "SELECT device, count(*), sum(ending = 'proven') FROM attempts GROUP BY 1",
    "sources": "SELECT source, count(*), sum(ending = 'proven') FROM attempts GROUP BY 1",
}


def stats_of(store: Store) -> Stats:
    """The counts of ``store``; raises CorpusError."""
    path = store.database.path

    def work(base: sqlite3.Connection) -> list[Any]:
        numbers = [
            base.execute(text).fetchone()[0]
            for text in (
                "SELECT count(*) FROM attempts",
                "SELECT count(DISTINCT mangled || char(0) || kernel) FROM attempts",
                "SELECT count(*) FROM noes",
            )
        ]
        tables = {
            name: tuple(
                Count(name=str(each), attempts=attempts, proven=proven)
                for each, attempts, proven in base.execute(f"{text} ORDER BY 2 DESC, 1 LIMIT {MOST}").fetchall()
            )
            for name, text in _TABLES.items()
        }
        return [Stats(path=str(path), size_bytes=_size(path), attempts=numbers[0], kernels=numbers[1],
                      noes=numbers[2], **tables)]  # fmt: skip

    found = store.query(work)
    return found[0] if found else Stats(path=str(path), size_bytes=0)


def _size(path: Path) -> int:
    files = (path, path.with_name(path.name + "-wal"))
    return sum(each.stat().st_size for each in files if each.exists())
