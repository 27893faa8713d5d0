"""The store of attempts: added once by content, found by id, rule or kernel, pruned without losing what was proven."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optimas_lsp.corpus.database import Database
from optimas_lsp.corpus.failures import RefusedError, UnknownAttemptError
from optimas_lsp.corpus.model import Entry, NoKind, Source, canonical, slug
from optimas_lsp.corpus.scrub import Scrubber, leaks
from optimas_lsp.corpus.shape import sketch_of
from optimas_lsp.profile.limits import MB
from optimas_lsp.profile.model import Frozen, Note

LIMIT_MB = 512
LARGEST_ATTEMPT = 2 * 1024 * 1024
"""Bytes of JSON; a larger attempt is refused."""

SHORTEST_ID = 6
DAMAGED_ROW = "corpus-row"
"""Code of the note about an attempt that cannot be read."""
LOW_WATER = 0.9
"""Pruning stops at this share of the limit."""


class No(Frozen):
    """A person's no to an attempt's edit."""

    kind: NoKind
    reason: str
    date: str


class Row(Frozen):
    """An entry as it lies in the store: what people said no to, whether it was made here, the datasets it came with."""

    entry: Entry
    noes: tuple[No, ...] = ()
    own: bool = True
    datasets: tuple[str, ...] = ()


class Kept(Frozen):
    """What became of entries that were to be kept."""

    new: int = 0
    known: int = 0
    refused: tuple[str, ...] = ()
    pruned: int = 0


@dataclass
class Store:
    """Attempts in one folder. Reading an empty or missing store gives nothing; every failure is a CorpusError."""

    folder: Path
    limit_mb: int = LIMIT_MB
    scrubber: Scrubber = field(default_factory=Scrubber.of_machine)
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        self.database = Database(self.folder)

    def add(self, entries: Iterable[Entry], *, source: Source | None = None) -> Kept:
        """Keep what is new. Entries made here are scrubbed first; those of a dataset (``source``) have to be clean.

        What is known belongs to that dataset, or to this user, from then on, too. What still holds a path or a key is
        refused, the rest is kept in one transaction; then the size is looked at.
        """
        ready: list[tuple[Entry, str]] = []
        refused: list[str] = []
        for entry in entries:
            try:
                ready.append(self._clean(entry, foreign=source is not None))
            except RefusedError as error:
                refused.append(error.what)
        if not ready:
            return Kept(refused=tuple(refused))
        title = "" if source is None else self.scrubber.prose(source.title)

        def work(base: sqlite3.Connection) -> int:
            if source is not None:
                base.execute("INSERT OR IGNORE INTO datasets VALUES (?, ?, ?)", (source.id, title, _now()))
            return sum(_insert(base, entry, body, source.id if source else "") for entry, body in ready)

        new = self.database.write(work)
        pruned = self.prune() if new else 0
        return Kept(new=new, known=len(ready) - new, refused=tuple(refused), pruned=pruned)

    def key_of(self, entry: Entry, scrubber: Scrubber) -> str:
        """The id under which an entry is kept after ``scrubber`` has gone over it."""
        data = entry.model_dump(mode="json", by_alias=True, exclude={"key"})
        return Entry.model_validate(scrubber.scrubbed(data)).digest()

    def prune(self, limit_mb: int | None = None) -> int:
        """Drop the oldest attempts that were not proven until the limit is kept; returns how many went."""
        limit = (self.limit_mb if limit_mb is None else limit_mb) * MB
        used = self.database.read(_used) or 0
        if used <= limit:
            return 0
        gone = self.database.write(lambda base: _prune(base, int(limit * LOW_WATER)))
        self.database.shrink()
        return gone

    def say_no(self, chosen: str, reason: str, kind: NoKind) -> Entry:
        """Record that a person did not want an attempt's edit, or took it back; the same no counts once."""
        found = self.find(chosen).entry
        words = self.scrubber.prose(" ".join(reason.split()))[:2000]

        def work(base: sqlite3.Connection) -> None:
            base.execute("INSERT OR IGNORE INTO noes VALUES (?, ?, ?, ?, '')", (found.key, kind, words, _now()))

        self.database.write(work)
        return found

    def merge_noes(self, key: str, noes: Sequence[No], source: Source) -> None:
        """Add a dataset's noes to an attempt that is kept here."""
        rows = [(key, each.kind, each.reason, each.date, source.id) for each in noes]

        def work(base: sqlite3.Connection) -> None:
            base.executemany(
                "INSERT OR IGNORE INTO noes SELECT ?1, ?2, ?3, ?4, ?5"
                " WHERE EXISTS (SELECT 1 FROM attempts WHERE key = ?1)",
                rows,
            )

        if rows:
            self.database.write(work)

    def find(self, chosen: str) -> Row:
        """The attempt whose id starts with ``chosen`` (six characters or more); raises UnknownAttemptError."""
        wanted = chosen.strip().lower()
        if len(wanted) < SHORTEST_ID or not set(wanted) <= set("0123456789abcdef"):
            raise UnknownAttemptError(
                f"'{chosen[:80]}' is no id of an attempt", remedy="optimas corpus search lists attempts with their ids"
            )
        condition, bounds = "a.key >= ? AND a.key < ?", (wanted, wanted + "g")
        found = self.rows(condition, bounds, limit=2)
        damaged = [note for note in self.database.notes if note.code == DAMAGED_ROW]
        if not found and damaged:
            raise UnknownAttemptError(damaged[-1].text.removeprefix("corpus: "), remedy="import or make it again")
        if len(found) != 1:
            many = "several attempts have ids that start" if found else "there is no attempt whose id starts"
            raise UnknownAttemptError(
                f"{many} with '{wanted}'",
                where=self.database.path,
                remedy="give more of the id, or optimas corpus search",
            )
        return found[0]

    def rows(self, where: str = "1", values: Sequence[Any] = (), *, order: str = "a.key", limit: int = -1) -> list[Row]:
        """Attempts that a condition on ``attempts a`` holds for; one that cannot be read is a note, and left out."""
        text = f"{_SELECT} WHERE {where} ORDER BY {order} LIMIT {int(limit)}"

        def work(base: sqlite3.Connection) -> list[Row]:
            return [row for each in base.execute(text, tuple(values)).fetchall() if (row := self._row(base, each))]

        return self.database.read(work) or []

    def _row(self, base: sqlite3.Connection, values: tuple[str, str, str, str]) -> Row | None:
        try:
            return _row(base, values)
        except (ValueError, TypeError, RecursionError):
            said = f"attempt {str(values[0])[:12]} in {self.database.path} is damaged, or of a newer optimas-lsp"
            note = Note(code=DAMAGED_ROW, text=f"corpus: {said}; it is left out")
            if note not in self.database.notes:
                self.database.notes.append(note)
            return None

    def rows_of(self, keys: Sequence[str]) -> list[Row]:
        """The attempts with these keys, in their order; what is gone is left out."""
        wanted = "a.key IN (SELECT value FROM json_each(?))"
        known = {row.entry.key: row for row in self.rows(wanted, (json.dumps(list(keys)),))}
        return [known[key] for key in keys if key in known]

    def each_row(self, batch: int = 200) -> Iterator[Row]:
        """Every attempt by key, a batch at a time; what is added meanwhile may be left out."""
        last = ""
        while keys := self._keys_after(last, batch):
            yield from self.rows_of(keys)
            last = keys[-1]

    def _keys_after(self, last: str, count: int) -> list[str]:
        text = "SELECT key FROM attempts WHERE key > ? ORDER BY key LIMIT ?"
        return [key for (key,) in self.query(lambda base: base.execute(text, (last, count)).fetchall())]

    def query(self, work: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
        """Rows of a reading query; nothing where there is no corpus."""
        return self.database.read(work) or []

    def _clean(self, entry: Entry, *, foreign: bool) -> tuple[Entry, str]:
        data = entry.model_dump(mode="json", by_alias=True, exclude={"key"})
        name = f"attempt {entry.number} on {entry.base_name or entry.kernel[:60]}"
        if not foreign:
            data = self.scrubber.scrubbed(data)
        for path, found in leaks(data) if foreign else self.scrubber.leaks(data):
            raise RefusedError(f"{name} holds {found} in '{path}' and was not kept", where=self.database.path)
        try:
            clean = Entry.model_validate(data).keyed()
            body = canonical({key: value for key, value in data.items() if key not in {"code", "date"}})
            size = len(body.encode()) + len(clean.code.encode())
        except (ValidationError, ValueError):
            raise RefusedError(f"{name} cannot be written as data and was not kept", where=self.database.path) from None
        if size > LARGEST_ATTEMPT:
            raise RefusedError(f"{name} takes {size / MB:.1f} MB, more than an attempt may", where=self.database.path)
        return clean, body


_SELECT = "SELECT a.key, a.date, a.body, c.text FROM attempts a JOIN codes c ON c.sha256 = a.code"
_NOES = "SELECT kind, reason, min(date) FROM noes WHERE attempt = ? GROUP BY kind, reason ORDER BY 3, kind, reason"
_SOURCES = (
    "SELECT m.dataset, coalesce(d.title, '') FROM members m LEFT JOIN datasets d ON d.id = m.dataset"
    " WHERE m.attempt = ? ORDER BY d.date, d.title, d.id"
)


def _row(base: sqlite3.Connection, values: tuple[str, str, str, str]) -> Row:
    key, date, body, code = values
    noes = base.execute(_NOES, (key,))
    sources: list[tuple[str, str]] = base.execute(_SOURCES, (key,)).fetchall()
    return Row(
        entry=Entry.model_validate({**json.loads(body), "key": key, "date": date, "code": code}),
        noes=tuple(No(kind=kind, reason=reason, date=when) for kind, reason, when in noes.fetchall()),
        own=any(not dataset for dataset, _ in sources),
        datasets=tuple(title for dataset, title in sources if dataset),
    )


def _now() -> str:
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def _insert(base: sqlite3.Connection, entry: Entry, body: str, dataset: str) -> bool:
    """Whether the entry was new; it is of ``dataset`` (empty: of this user) in any case."""
    code = sha256(entry.code.encode("utf-8", "surrogatepass")).hexdigest()
    effect = entry.effect
    base.execute("INSERT OR IGNORE INTO codes VALUES (?, ?, ?)", (code, entry.code, sketch_of(entry.code)))
    added = base.execute(
        "INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')",
        (
            entry.key,
            entry.date,
            entry.ending,
            entry.kernel,
            entry.mangled,
            entry.file,
            entry.device.name,
            entry.author.backend,
            entry.author.model,
            effect.speedup if effect else None,
            effect.low if effect else None,
            effect.high if effect else None,
            code,
            body,
            entry.device.generation,
        ),
    ).rowcount
    base.execute("INSERT OR IGNORE INTO members VALUES (?, ?)", (entry.key, dataset))
    if not added:
        return False
    shares: dict[str, float] = {}
    for finding in entry.findings:
        shares[finding.rule] = min(1.0, shares.get(finding.rule, 0.0) + finding.share)
    base.executemany("INSERT INTO findings VALUES (?, ?, ?)", [(entry.key, *each) for each in shares.items()])
    ended = (entry.ending, effect.speedup if effect else None)
    steps = [(entry.key, *each, *ended) for each in sorted(cited(entry))]
    base.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", steps)
    return True


def cited(entry: Entry) -> set[tuple[str, str]]:
    """Every transformation with each rule that it answers; the empty rule stands for any."""
    rules = {finding.id: finding.rule for finding in entry.findings}
    found: set[tuple[str, str]] = set()
    for step in entry.steps:
        name = slug(step.transformation)
        found |= {(name, "")} | {(name, rules[each]) for each in step.evidence if each in rules}
    return found


def _used(base: sqlite3.Connection) -> int:
    """Bytes of pages in use."""
    sizes = [base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")]
    return (sizes[0] - sizes[1]) * sizes[2]


def _prune(base: sqlite3.Connection, target: int) -> int:
    """Drop unproven attempts, those without a no first, the oldest first."""
    order = (
        "SELECT key FROM attempts a WHERE ending <> 'proven'"
        " ORDER BY EXISTS (SELECT 1 FROM noes WHERE attempt = a.key), date, key"
    )
    doomed = [key for (key,) in base.execute(order).fetchall()]
    gone = 0
    while _used(base) > target and gone < len(doomed):
        batch = doomed[gone : gone + max(1, len(doomed) // 20)]
        base.executemany("DELETE FROM attempts WHERE key = ?", [(key,) for key in batch])
        base.execute("DELETE FROM codes WHERE sha256 NOT IN (SELECT code FROM attempts)")
        gone += len(batch)
    return gone
