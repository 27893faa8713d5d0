"""What a corpus holds, counted."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from optimas_lsp.corpus.imported import Dataset, datasets_of
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
    """One corpus. ``size_bytes`` is the file's with its log; tables hold the most frequent first.

    ``own`` attempts were made here, those of ``datasets`` came from elsewhere; one may be both.
    """

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
    own: int = 0
    own_proven: int = 0
    datasets: tuple[Dataset, ...] = ()


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
}


_OWN_PROVEN = (
    "SELECT count(*) FROM members m JOIN attempts a ON a.key = m.attempt WHERE m.dataset = '' AND a.ending = 'proven'"
)


def stats_of(store: Store) -> Stats:
    """The counts of ``store``; raises CorpusError."""
    path = store.database.path

    def work(base: sqlite3.Connection) -> list[Any]:
        numbers = [
            base.execute(text).fetchone()[0]
            for text in (
                "SELECT count(*) FROM attempts",
                "SELECT count(DISTINCT mangled || char(0) || kernel) FROM attempts",
                "SELECT count(*) FROM (SELECT DISTINCT attempt, kind, reason FROM noes)",
                "SELECT count(*) FROM members WHERE dataset = ''",
                _OWN_PROVEN,
            )
        ]
        tables = {
            name: tuple(
                Count(name=str(each), attempts=attempts, proven=proven)
                for each, attempts, proven in base.execute(f"{text} ORDER BY 2 DESC, 1 LIMIT {MOST}").fetchall()
            )
            for name, text in _TABLES.items()
        }
        found = Stats(path=str(path), size_bytes=_size(path), attempts=numbers[0], kernels=numbers[1], noes=numbers[2],
                      own=numbers[3], own_proven=numbers[4])  # fmt: skip
        return [found.model_copy(update=tables)]

    found = store.query(work)
    return (
        found[0].model_copy(update={"datasets": datasets_of(store)}) if found else Stats(path=str(path), size_bytes=0)
    )


def _size(path: Path) -> int:
    files = (path, path.with_name(path.name + "-wal"))
    return sum(each.stat().st_size for each in files if each.exists())
