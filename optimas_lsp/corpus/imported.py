"""The datasets that a store's attempts came with: which there are, and taking one out again."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from optimas_lsp.corpus.failures import UnknownDatasetError
from optimas_lsp.corpus.store import SHORTEST_ID, Store
from optimas_lsp.profile.model import Frozen

_LISTED = """
SELECT d.id, d.title, d.date, count(a.key), coalesce(sum(a.ending = 'proven'), 0),
  coalesce(sum(a.key NOTNULL AND NOT EXISTS
    (SELECT 1 FROM members o WHERE o.attempt = a.key AND o.dataset <> d.id)), 0)
FROM datasets d LEFT JOIN members m ON m.dataset = d.id LEFT JOIN attempts a ON a.key = m.attempt
GROUP BY d.id ORDER BY d.date, d.title, d.id
"""
_GONE = """
SELECT attempt FROM members m WHERE dataset = ?1 AND NOT EXISTS
  (SELECT 1 FROM members o WHERE o.attempt = m.attempt AND o.dataset <> ?1) ORDER BY attempt
"""
_NOES = """
SELECT count(*) FROM noes WHERE dataset = '' AND attempt IN (SELECT value FROM json_each(?))
"""
_COUNTS = """
SELECT count(*), coalesce(sum(EXISTS (SELECT 1 FROM members o WHERE o.attempt = m.attempt AND o.dataset = '')), 0)
FROM members m WHERE dataset = ?
"""


class Dataset(Frozen):
    """One imported dataset: how many of its attempts are here, and how many of them came with nothing else.

    ``date`` is that of the first import, UTC; empty where a version that did not keep it imported it.
    """

    id: str
    title: str
    date: str = ""
    attempts: int = 0
    proven: int = 0
    alone: int = 0


class Removal(Frozen):
    """What taking a dataset out means: the attempts that go, and how many of its attempts stay for which reason.

    ``own`` were made here, too; ``shared`` came with another dataset, too. ``noes`` are what this user said of those
    that go.
    """

    dataset: Dataset
    gone: tuple[str, ...] = ()
    own: int = 0
    shared: int = 0
    noes: int = 0


def datasets_of(store: Store) -> tuple[Dataset, ...]:
    """The datasets in ``store``, the first imported first; raises CorpusError."""
    rows = store.query(lambda base: base.execute(_LISTED).fetchall())
    names = ("id", "title", "date", "attempts", "proven", "alone")
    return tuple(Dataset.model_validate(dict(zip(names, row, strict=True))) for row in rows)


def find(store: Store, chosen: str) -> Dataset:
    """The dataset of this title, or whose id starts with ``chosen`` (six characters or more).

    Raises UnknownDatasetError where none or several are meant, CorpusError.
    """
    known = datasets_of(store)
    wanted = chosen.strip()
    found = [each for each in known if each.title == wanted]
    if not found and len(wanted) >= SHORTEST_ID:
        found = [each for each in known if each.id.startswith(wanted.lower())]
    if len(found) != 1:
        ids = ", ".join(each.id[:12] for each in found)
        raise UnknownDatasetError(
            f"several datasets are called '{wanted[:80]}': {ids}" if found else f"there is no dataset '{wanted[:80]}'",
            where=store.database.path,
            remedy="give its id" if found else "optimas corpus stats lists the datasets with their ids",
        )
    return found[0]


def plan(store: Store, dataset: Dataset) -> Removal:
    """What ``remove`` would do now; changes nothing. Raises CorpusError."""
    (found,) = store.query(lambda base: [_plan(base, dataset)]) or (Removal(dataset=dataset),)
    return found


def remove(store: Store, dataset: Dataset) -> Removal:
    """Take a dataset out in one transaction: all that came with it alone goes, also what was proven.

    What this user made, and what another dataset brought, stays without this dataset's noes. Raises CorpusError.
    """

    def work(base: sqlite3.Connection) -> Removal:
        found = _plan(base, dataset)
        base.execute("DELETE FROM noes WHERE dataset = ?", (dataset.id,))
        base.executemany("DELETE FROM attempts WHERE key = ?", [(key,) for key in found.gone])
        base.execute("DELETE FROM members WHERE dataset = ?", (dataset.id,))
        base.execute("DELETE FROM datasets WHERE id = ?", (dataset.id,))
        base.execute("DELETE FROM codes WHERE sha256 NOT IN (SELECT code FROM attempts)")
        return found

    found = store.database.write(work)
    store.database.shrink()
    return found


def _plan(base: sqlite3.Connection, dataset: Dataset) -> Removal:
    gone: list[str] = [key for (key,) in base.execute(_GONE, (dataset.id,)).fetchall()]
    values: tuple[Any, ...] = base.execute(_COUNTS, (dataset.id,)).fetchone()
    held, own = values
    (noes,) = base.execute(_NOES, (json.dumps(gone),)).fetchone()
    return Removal(dataset=dataset, gone=tuple(gone), own=own, shared=held - own - len(gone), noes=noes)
