"""Past attempts on like kernels, found by evidence, code and device: what was measured, failures as warnings."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optimas_lsp.corpus.index import Index
from optimas_lsp.corpus.query import Query
from optimas_lsp.corpus.shape import NEAR, likeness, sketch_of
from optimas_lsp.corpus.store import Row, Store
from optimas_lsp.corpus.vectors import Vectors, vectors_of
from optimas_lsp.profile.model import Frozen
from optimas_lsp.rewrite.prompt import PastCase

POOL = 24
"""Attempts looked at for each case shown."""

LEAST_LIKENESS = 0.35
"""Below this an attempt has too little to do with the query to be shown."""

ALL_BUT_EQUAL = 0.8
"""From this Jaccard index of two codes on, telling of the one tells little that the other does not."""

LONGEST_CODE = 6000
"""Characters of a case's diff."""


class Hit(Frozen):
    """One attempt that was found; ``likeness`` is 0 to 1.

    ``same``: it is on the query's own kernel or a near-duplicate. ``own``: its code is all but the query's.
    """

    key: str
    likeness: float
    ending: str
    transformations: tuple[str, ...]
    same: bool
    own: bool
    unwanted: bool = False

    @property
    def warns(self) -> bool:
        """Whether it tells what not to do."""
        return self.ending != "proven" or self.unwanted


@dataclass
class Searcher:
    """Searches a store. The index is loaded once and looked at again when the store's file has changed."""

    store: Store
    folder: Path | None = None
    _index: Index | None = field(default=None, init=False)
    _seen: tuple[tuple[int, int], ...] = field(default=(), init=False)

    def load(self) -> Index:
        """The index as the store is now; raises CorpusError."""
        state = _state(self.store.database.path)
        if self._index is None or state != self._seen:
            self._index = Index.of(self.store, self.folder)
            self._seen = state
        return self._index

    def nearest(self, query: Query, count: int) -> list[Hit]:
        """The ``count`` judged attempts most alike, best first; raises CorpusError."""
        index = self.load()
        return self._told(query, index.nearest(_vector(query), count)) if len(index.keys) else []

    def cases(self, query: Query, most: int, *, same_kernel: bool = True) -> list[tuple[Row, Hit]]:
        """At most ``most`` attempts to tell of, best first: no two that did the same to the same kernel.

        Where like attempts failed, at least one that did is among them, and at least one that was proven where there
        is any. ``same_kernel`` False leaves out the query's own kernel and near-duplicates of it.
        """
        index = self.load()
        if not len(index.keys):
            return []
        count = POOL * max(1, most)
        chosen: list[Hit] = []
        vector = _vector(query)
        while True:
            found = [each for each in index.nearest(vector, count) if each[1] >= LEAST_LIKENESS]
            hits = [each for each in self._told(query, found) if same_kernel or not each.same]
            chosen = _spread(hits, most)
            if len(chosen) >= most or len(found) < count:
                break
            count *= 4
        rows = {row.entry.key: row for row in self.store.rows_of([each.key for each in chosen])}
        return [(rows[each.key], each) for each in chosen if each.key in rows]

    def _told(self, query: Query, found: Sequence[tuple[str, float]]) -> list[Hit]:
        """What is known of attempts without reading them whole."""
        keys = json.dumps([key for key, _ in found])
        rows: list[_Told] = self.store.query(lambda base: base.execute(_TOLD, (keys,)).fetchall())
        alike = likeness(sketch_of(query.code), [sketch for *_, sketch in rows])
        told = {
            key: Hit(
                key=key,
                likeness=0,
                ending=ending,
                transformations=tuple((steps or "").split()),
                own=bool(near >= ALL_BUT_EQUAL),
                same=bool(near >= NEAR or (mangled and mangled == query.mangled)),
                unwanted=bool(unwanted),
            )
            for (key, ending, mangled, unwanted, steps, _), near in zip(rows, alike, strict=True)
        }
        return [told[key].model_copy(update={"likeness": value}) for key, value in found if key in told]


_Told = tuple[str, str, str, int, str | None, bytes]
_TOLD = """
SELECT a.key, a.ending, a.mangled, EXISTS (SELECT 1 FROM noes WHERE attempt = a.key),
  (SELECT group_concat(transformation, ' ') FROM
    (SELECT DISTINCT transformation FROM steps INDEXED BY steps_attempt
     WHERE attempt = a.key AND rule = '' ORDER BY transformation)),
  c.sketch
FROM attempts a JOIN codes c ON c.sha256 = a.code WHERE a.key IN (SELECT value FROM json_each(?))
"""


def _spread(hits: Sequence[Hit], most: int) -> list[Hit]:
    """The best of ``hits``, each way to change code once with each outcome, both outcomes if there are both."""
    kinds: dict[tuple[tuple[str, ...], bool], Hit] = {}
    for each in hits:
        kinds.setdefault((each.transformations, each.warns), each)
    ordered = list(kinds.values())
    chosen = ordered[:most]
    for warns in (False, True):
        other = next((each for each in ordered[most:] if each.warns is warns), None)
        if most > 1 and other is not None and all(each.warns is not warns for each in chosen):
            chosen = [*chosen[:-1], other]
    return chosen


def past_case(row: Row, *, whole: bool = True) -> PastCase:
    """An attempt as a prompt tells of it; without ``whole`` only what tells nothing of its program."""
    entry = row.entry
    code = entry.patch or "\n\n".join(each.text for each in entry.functions)
    if len(code) > LONGEST_CODE:
        code = code[:LONGEST_CODE].rpartition("\n")[0] + "\n(the rest is left out)"
    return PastCase(
        id=f"attempt {entry.key[:12]}",
        rules=entry.rules,
        transformation=" + ".join(entry.transformations) or "unnamed",
        outcome=outcome_words(row, whole=whole),
        code=code if whole else "",
    )


def outcome_words(row: Row, *, whole: bool = True) -> str:
    """How an attempt ended, with the figures and where they were measured; a warning where it failed."""
    entry = row.entry
    words = entry.ending
    if entry.effect is not None:
        effect = entry.effect
        words += f", kernel time {effect.speedup:.2f}x shorter (95 % interval {effect.low:.2f} to {effect.high:.2f})"
        words += f" on {entry.device.name}" if entry.device.name else ""
    if entry.ending != "proven" and whole and entry.sentence:
        words += f": {entry.sentence}"
    for each in row.noes:
        words += f"; a person {each.kind} it" + (f" ({each.reason})" if whole and each.reason else "")
    return f"warning, it failed: {words}" if row.noes or entry.ending != "proven" else words


def _vector(query: Query) -> Vectors:
    return vectors_of([query.code], [query.rules], [query.generation])[0]


def _state(path: Path) -> tuple[tuple[int, int], ...]:
    """What changes when the store does: size and time of the file and its log."""
    found: list[tuple[int, int]] = []
    for each in (path, path.with_name(path.name + "-wal")):
        try:
            stat = os.stat(each)  # noqa: PTH116
            found.append((stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append((-1, 0))
    return tuple(found)
