"""Counts what the store knows of each transformation on each rule of evidence, for ranking and for explaining."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection
from typing import Any

from optimas_lsp.corpus.query import Query
from optimas_lsp.corpus.shape import NEAR, likeness, sketch_of
from optimas_lsp.corpus.store import Store
from optimas_lsp.rewrite.experience import Again, Experience, Record

_OWN = """
JOIN attempts a ON a.key = s.attempt AND a.mangled <> :kernel AND a.code NOT IN (SELECT value FROM json_each(:codes))
"""
_COUNTED = """
SELECT s.transformation, s.rule,
  sum(s.ending IN ('proven', 'refuted', 'not-built', 'refused') OR n.attempt IS NOT NULL) AS tries,
  sum(s.ending = 'proven' AND n.attempt IS NULL), sum(s.ending = 'proven' AND n.attempt IS NULL AND s.speedup NOTNULL)
FROM steps s {own} LEFT JOIN (SELECT DISTINCT attempt FROM noes) n ON n.attempt = s.attempt
WHERE :rules IS NULL OR s.rule IN (SELECT value FROM json_each(:rules))
GROUP BY s.rule, s.transformation HAVING tries > 0
"""
_MEDIAN = """
SELECT avg(speedup) FROM (
  SELECT s.speedup FROM steps s {own}
  WHERE s.rule = :rule AND s.transformation = :name AND s.ending = 'proven' AND s.speedup NOTNULL
    AND s.attempt NOT IN (SELECT attempt FROM noes)
  ORDER BY s.speedup LIMIT 2 - :timed % 2 OFFSET (:timed - 1) / 2)
"""


_SAME = """
SELECT a.body, a.ending = 'proven' AND n.attempt IS NULL, a.speedup FROM attempts a
LEFT JOIN (SELECT DISTINCT attempt FROM noes) n ON n.attempt = a.key
WHERE a.code = :code AND a.generation = :generation AND (a.ending IN ('proven', 'refuted') OR n.attempt NOTNULL)
ORDER BY n.attempt IS NULL, a.date DESC, a.key LIMIT 200
"""


def experience_of(
    store: Store, rules: Collection[str] | None = None, *, without: Query | None = None, own: Query | None = None
) -> Experience:
    """Records of all attempts, or of those on ``rules`` and on any; raises CorpusError.

    ``own`` asks, too, what became of changes to exactly that query's code on that generation of GPU.

    An attempt of several transformations counts for each. Attempts that nobody judged do not count, a person's no does.
    ``without`` leaves out attempts on that kernel and on near-duplicates of it.
    """

    def work(base: sqlite3.Connection) -> list[Any]:
        values: dict[str, Any] = {"rules": None if rules is None else json.dumps(sorted({*rules, ""}))}
        own = ""
        if without is not None:
            own = _OWN
            values |= {"kernel": without.mangled or "-", "codes": json.dumps(_near(base, without))}
        found: list[Record] = []
        for name, rule, tries, proven, timed in base.execute(_COUNTED.format(own=own), values).fetchall():
            effect = None
            if timed:
                asked = {**values, "name": name, "rule": rule, "timed": timed}
                (effect,) = base.execute(_MEDIAN.format(own=own), asked).fetchone()
            found.append(Record(transformation=name, rule=rule, tries=tries, proven=proven, effect=effect))
        return found

    again = () if own is None else tuple(store.query(lambda base: _again(base, own)))
    return Experience(records=tuple(store.query(work)), again=again)


def _again(base: sqlite3.Connection, query: Query) -> list[Again]:
    """A person's no counts before any proof, then the latest."""
    digest = hashlib.sha256(query.code.encode("utf-8", "surrogatepass")).hexdigest()
    rows = base.execute(_SAME, {"code": digest, "generation": query.generation}).fetchall()
    found: list[Again] = []
    for body, held, speedup in rows:
        texts = {each["function"]: each["text"] for each in json.loads(body).get("functions", [])}
        if texts and all(each.functions != texts for each in found):
            found.append(Again(functions=texts, held=bool(held), effect=speedup))
    return found


def _near(base: sqlite3.Connection, query: Query) -> list[str]:
    """Digests of the codes that are near-duplicates of the query's."""
    rows = base.execute("SELECT sha256, sketch FROM codes").fetchall()
    alike = likeness(sketch_of(query.code), [sketch for _, sketch in rows])
    return [digest for (digest, _), value in zip(rows, alike, strict=True) if value >= NEAR]
