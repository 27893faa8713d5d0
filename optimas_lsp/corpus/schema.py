"""The tables of the store and how each version becomes the next.

A version is one migration; a new file is made by running them all, so that each is run every time. They run in one
transaction: a process killed on the way leaves the file as it was.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from optimas_lsp.corpus.model import Entry, Source
from optimas_lsp.corpus.shape import sketch_of

APPLICATION = 0x0A71A5C0
"""SQLite's ``application_id`` of a corpus."""


_FIRST = """
CREATE TABLE codes (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE attempts (
  key TEXT PRIMARY KEY, date TEXT NOT NULL, ending TEXT NOT NULL, kernel TEXT NOT NULL, mangled TEXT NOT NULL,
  file TEXT NOT NULL, device TEXT NOT NULL, backend TEXT NOT NULL, model TEXT NOT NULL, speedup REAL, low REAL,
  high REAL, code TEXT NOT NULL REFERENCES codes(sha256), body TEXT NOT NULL);
CREATE TABLE findings (
  attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, rule TEXT NOT NULL, share REAL NOT NULL);
CREATE TABLE steps (
  attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, transformation TEXT NOT NULL, rule TEXT NOT NULL);
CREATE INDEX attempts_code ON attempts(code);
CREATE INDEX findings_attempt ON findings(attempt);
CREATE INDEX findings_rule ON findings(rule);
CREATE INDEX steps_attempt ON steps(attempt);
CREATE INDEX steps_rule ON steps(rule, transformation)"""


def _first(base: sqlite3.Connection) -> None:
    """Version 1: attempts with their evidence and steps; the code of a kernel once, however often it was tried."""
    for statement in _FIRST.split(";"):
        base.execute(statement)


def _second(base: sqlite3.Connection) -> None:
    """Version 2: the shape of each kernel's code, where an attempt came from, what people said no to.

    Steps repeat how their attempt ended, so that counting them reads one index and no attempt.
    """
    base.execute("ALTER TABLE codes ADD COLUMN sketch BLOB NOT NULL DEFAULT x''")
    base.execute("ALTER TABLE attempts ADD COLUMN generation TEXT NOT NULL DEFAULT ''")
    base.execute("ALTER TABLE attempts ADD COLUMN source TEXT NOT NULL DEFAULT ''")
    base.execute(
        "CREATE TABLE noes (attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, kind TEXT NOT NULL,"
        " reason TEXT NOT NULL, date TEXT NOT NULL, UNIQUE (attempt, kind, reason))"
    )
    base.execute("ALTER TABLE steps ADD COLUMN ending TEXT NOT NULL DEFAULT ''")
    base.execute("ALTER TABLE steps ADD COLUMN speedup REAL")
    base.execute(
        "UPDATE steps SET (ending, speedup) = (SELECT a.ending, a.speedup FROM attempts a WHERE a.key = steps.attempt)"
    )
    base.execute("DROP INDEX steps_rule")
    base.execute("CREATE INDEX steps_rule ON steps(rule, transformation, ending, speedup, attempt)")
    for digest, text in base.execute("SELECT sha256, text FROM codes").fetchall():
        base.execute("UPDATE codes SET sketch = ? WHERE sha256 = ?", (sketch_of(text), digest))
    for key, body in base.execute("SELECT key, body FROM attempts").fetchall():
        capability = json.loads(body).get("device", {}).get("compute_capability")
        if capability:
            base.execute("UPDATE attempts SET generation = ? WHERE key = ?", (f"sm_{capability[0]}", key))


_KEYED = (("attempts", "key"), ("findings", "attempt"), ("steps", "attempt"), ("noes", "attempt"))


def _third(base: sqlite3.Connection) -> None:
    """Version 3: ids for which fields that are as by default do not count, so that later fields change none.

    An attempt that cannot be read keeps the id it has.
    """
    base.execute("PRAGMA defer_foreign_keys = ON")
    whole = "SELECT a.date, a.body, c.text FROM attempts a JOIN codes c ON c.sha256 = a.code WHERE a.key = ?"
    for (key,) in base.execute("SELECT key FROM attempts").fetchall():
        date, body, code = base.execute(whole, (key,)).fetchone()
        try:
            found = Entry.model_validate({**json.loads(body), "date": date, "code": code}).digest()
        except (ValueError, TypeError, RecursionError):
            continue
        for table, column in _KEYED:
            base.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (found, key))  # noqa: S608 - ours


_FOURTH = """
CREATE TABLE datasets (id TEXT PRIMARY KEY, title TEXT NOT NULL, date TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE members (
  attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, dataset TEXT NOT NULL,
  PRIMARY KEY (attempt, dataset)) WITHOUT ROWID;
CREATE INDEX members_dataset ON members(dataset);
ALTER TABLE noes RENAME TO noes_before;
CREATE TABLE noes (
  attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, kind TEXT NOT NULL, reason TEXT NOT NULL,
  date TEXT NOT NULL, dataset TEXT NOT NULL, UNIQUE (attempt, kind, reason, dataset));
INSERT INTO noes SELECT attempt, kind, reason, date, '' FROM noes_before;
DROP TABLE noes_before;
INSERT INTO members SELECT key, '' FROM attempts WHERE source = ''"""


def _fourth(base: sqlite3.Connection) -> None:
    """Version 4: every dataset that an attempt, or a no, came with; the empty one stands for this user.

    Before, an attempt had the title of the first dataset it came with, and a no came from nowhere: it counts as the
    user's. ``attempts.source`` is empty from here on (SQLite before 3.35 drops no column).
    """
    for statement in _FOURTH.split(";"):
        base.execute(statement)
    for (title,) in base.execute("SELECT DISTINCT source FROM attempts WHERE source <> ''").fetchall():
        keys = [key for (key,) in base.execute("SELECT key FROM attempts WHERE source = ?", (title,)).fetchall()]
        made = Source.of(keys, title)
        base.execute("INSERT INTO datasets VALUES (?, ?, '')", (made.id, made.title))
        base.executemany("INSERT INTO members VALUES (?, ?)", [(key, made.id) for key in keys])
    base.execute("UPDATE attempts SET source = ''")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _second, _third, _fourth)
VERSION = len(MIGRATIONS)


def migrate(base: sqlite3.Connection, version: int = VERSION) -> None:
    """Bring an open transaction's file to ``version``; a new file starts at 0."""
    [(found,)] = base.execute("PRAGMA user_version").fetchall()
    for step in MIGRATIONS[found:version]:
        step(base)
    if found < version:
        base.execute(f"PRAGMA user_version = {version}")
        base.execute(f"PRAGMA application_id = {APPLICATION}")
