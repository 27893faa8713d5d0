"""Counts what the store knows of each transformation on each rule of evidence, for ranking and for explaining."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from statistics import median
from typing import Any

from optimas_lsp.corpus.query import Query
from optimas_lsp.corpus.shape import NEAR, likeness, sketch_of
from optimas_lsp.corpus.store import Store
from optimas_lsp.rewrite.experience import Experience, Record

_COUNTED = """
SELECT s.transformation, s.rule, count(*), sum(a.ending = 'proven' AND n.attempt IS NULL)
FROM steps s JOIN attempts a ON a.key = s.attempt LEFT JOIN (SELECT DISTINCT attempt FROM noes) n ON n.attempt = a.key
WHERE (a.ending IN ('proven', 'refuted', 'not-built', 'refused') OR n.attempt IS NOT NULL)
  AND (:rules IS NULL OR s.rule IN (SELECT value FROM json_each(:rules)))
  AND a.mangled <> :kernel AND a.code NOT IN (SELECT value FROM json_each(:codes))
GROUP BY s.transformation, s.rule
"""
_EFFECTS = """
SELECT s.transformation, s.rule, a.speedup
FROM steps s JOIN attempts a ON a.key = s.attempt
WHERE a.ending = 'proven' AND a.speedup IS NOT NULL AND NOT EXISTS (SELECT 1 FROM noes WHERE attempt = a.key)
  AND (:rules IS NULL OR s.rule IN (SELECT value FROM json_each(:rules)))
  AND a.mangled <> :kernel AND a.code NOT IN (SELECT value FROM json_each(:codes))
"""


def experience_of(store: Store, rules: Collection[str] | None = None, *, without: Query | None = None) -> Experience:
    """Records of all attempts, or of those on ``rules`` and on any; raises CorpusError.

    An attempt of several transformations counts for each. Attempts that nobody judged do not count, a person's no does.
    ``without`` leaves out attempts on that kernel and on near-duplicates of it.
    """

    def work(base: sqlite3.Connection) -> list[Any]:
        values = {
            "rules": None if rules is None else json.dumps(sorted({*rules, ""})),
            "kernel": (without.mangled if without is not None else "") or "-",
            "codes": json.dumps([] if without is None else _near(base, without)),
        }
        effects: dict[tuple[str, str], list[float]] = {}
        for name, rule, speedup in base.execute(_EFFECTS, values):
            effects.setdefault((name, rule), []).append(speedup)
        return [
            Record(
                transformation=name,
                rule=rule,
                tries=tries,
                proven=proven,
                effect=median(effects[name, rule]) if (name, rule) in effects else None,
            )
            for name, rule, tries, proven in base.execute(_COUNTED, values).fetchall()
        ]

    return Experience(records=tuple(store.query(work)))


def _near(base: sqlite3.Connection, query: Query) -> list[str]:
    """Digests of the codes that are near-duplicates of the query's."""
    rows = base.execute("SELECT sha256, sketch FROM codes").fetchall()
    alike = likeness(sketch_of(query.code), [sketch for _, sketch in rows])
    return [digest for (digest, _), value in zip(rows, alike, strict=True) if value >= NEAR]
