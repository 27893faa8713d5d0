"""The search index: one vector an attempt, kept on disk by content, made anew only for attempts that it lacks."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from optimas_lsp.corpus.model import JUDGED
from optimas_lsp.corpus.store import Store
from optimas_lsp.corpus.vectors import COLUMNS, FORMAT, Vectors, vectors_of
from optimas_lsp.profile.cache import cache_folder
from optimas_lsp.profile.replace import write_atomically

BATCH = 500
KEPT_FROM = 32
"""This many new vectors are worth writing the file again; in a large index, a twentieth of it."""


@dataclass(frozen=True, eq=False)
class Index:
    """Vectors of all judged attempts: ``keys`` ascending, ``vectors`` of shape (attempts, COLUMNS), float32."""

    keys: npt.NDArray[np.bytes_]
    vectors: Vectors

    @classmethod
    def empty(cls) -> Index:
        """Of no attempts."""
        return cls(np.zeros(0, dtype="S64"), np.zeros((0, COLUMNS), dtype=np.float32))

    @classmethod
    def of(cls, store: Store, folder: Path | None = None) -> Index:
        """The index of ``store``, its file in the cache folder brought up to date. Raises CorpusError."""
        file = _file(store, folder)
        found = _read(file)
        wanted = _judged(store)
        if np.array_equal(found.keys, wanted):
            return found
        held = np.isin(found.keys, wanted)
        lacking = sorted({*_texts(wanted)} - {*_texts(found.keys)})
        made = [_made(store, lacking[at : at + BATCH]) for at in range(0, len(lacking), BATCH)]
        keys = np.concatenate([found.keys[held], *(each.keys for each in made)])
        order = np.argsort(keys)
        vectors = np.concatenate([found.vectors[held], *(each.vectors for each in made)])
        index = cls(keys[order], vectors[order])
        changed = len(lacking) + int((~held).sum())
        if changed >= max(KEPT_FROM, len(keys) // 20) or not len(found.keys):
            _write(index, file)
        return index

    def nearest(self, vector: Vectors, count: int) -> list[tuple[str, float]]:
        """Keys of the ``count`` attempts most alike with their likeness (0 to 1), best first, ties by key."""
        if not len(self.keys) or count < 1:
            return []
        likeness = self.vectors @ vector
        count = min(count, len(likeness))
        best = np.argpartition(likeness, len(likeness) - count)[len(likeness) - count :]
        ordered = best[np.lexsort((self.keys[best], -likeness[best]))]
        values: list[float] = likeness[ordered].tolist()
        return list(zip(_texts(self.keys[ordered]), values, strict=True))


def _texts(keys: npt.NDArray[np.bytes_]) -> list[str]:
    return [bytes(each).decode("ascii", "replace") for each in keys.tolist()]


def _file(store: Store, folder: Path | None) -> Path:
    place = sha256(str(store.database.path.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return cache_folder(folder) / f"corpus-{place}-{FORMAT}.index.npz"


def _judged(store: Store) -> npt.NDArray[np.bytes_]:
    text = "SELECT key FROM attempts WHERE ending IN (SELECT value FROM json_each(?)) ORDER BY key"
    rows = store.query(lambda base: base.execute(text, (json.dumps(JUDGED),)).fetchall())
    return np.array([key for (key,) in rows], dtype="S64")


def _made(store: Store, keys: list[str]) -> Index:
    """Vectors of these attempts; those that are gone meanwhile are left out."""
    wanted = json.dumps(keys)

    def work(base: sqlite3.Connection) -> list[Any]:
        attempts = base.execute(
            "SELECT a.key, c.text, a.generation FROM attempts a JOIN codes c ON c.sha256 = a.code"
            " WHERE a.key IN (SELECT value FROM json_each(?))",
            (wanted,),
        ).fetchall()
        rules: dict[str, dict[str, float]] = {key: {} for key, _, _ in attempts}
        for key, rule, share in base.execute(
            "SELECT attempt, rule, share FROM findings WHERE attempt IN (SELECT value FROM json_each(?))", (wanted,)
        ):
            rules.setdefault(key, {})[rule] = share
        return [(key, code, rules[key], generation) for key, code, generation in attempts]

    rows = store.query(work)
    if not rows:
        return Index.empty()
    names, codes, rules, generations = zip(*rows, strict=True)
    return Index(np.array(names, dtype="S64"), vectors_of(codes, rules, generations))


def _read(file: Path) -> Index:
    """The file's index; an empty one where there is none or it cannot be used."""
    try:
        with np.load(file, allow_pickle=False) as data:
            keys, vectors = data["keys"], data["vectors"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return Index.empty()
    fits = keys.dtype == np.dtype("S64") and vectors.dtype == np.float32 and vectors.shape == (len(keys), COLUMNS)
    return Index(keys, vectors) if fits and bool(np.all(keys[:-1] < keys[1:])) else Index.empty()


def _write(index: Index, file: Path) -> None:
    """Keep it for the next process; a full or read-only disk means that it is made again."""
    with contextlib.suppress(OSError):
        data = io.BytesIO()
        np.savez(data, keys=index.keys, vectors=index.vectors)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(file, data.getbuffer().tobytes())
