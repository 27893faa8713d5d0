"""Writes a dataset, and merges one into a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from optimas_lsp.corpus import parquet
from optimas_lsp.corpus.card import card
from optimas_lsp.corpus.dataset import (
    MANIFEST,
    DatasetError,
    File,
    Manifest,
    Problem,
    Published,
    checked,
    digest_of,
    files_of,
    first_sentences,
    published,
    read_manifest,
    rows_of,
)
from optimas_lsp.corpus.families import SPLITS, families_of, split_of
from optimas_lsp.corpus.model import Source
from optimas_lsp.corpus.scrub import leaks
from optimas_lsp.corpus.store import Kept, Row, Store
from optimas_lsp.profile.model import Frozen
from optimas_lsp.profile.replace import write_atomically

Form = Literal["jsonl", "parquet"]
BATCH = 100


class Imported(Frozen):
    """What became of a dataset's rows."""

    new: int
    known: int


def rows_for(found: Iterable[Row]) -> list[Published]:
    """The rows of a dataset, families and splits decided, in the order of the files."""
    rows = list(found)
    families = families_of(row.entry for row in rows)
    made = [published(row, families[row.entry.key], split_of(families[row.entry.key])) for row in rows]
    return sorted(made, key=lambda row: (row.family, row.mangled, row.key))


def export(rows: Sequence[Published], folder: Path, *, title: str, forms: Sequence[Form]) -> Manifest:
    """Write the dataset into ``folder``, which is empty, missing or holds an earlier one.

    The same rows give the same bytes (Parquet: with the same pyarrow). Raises DatasetError, or MissingExtraError for
    Parquet without pyarrow.
    """
    for row in rows:
        wrong = checked(row)
        if wrong:
            raise DatasetError(f"attempt {row.key[:12]} cannot be published: {wrong}", where=folder)
    if next(leaks({"title": title}), None) is not None:
        raise DatasetError("the title holds a path or a key", where=folder, remedy="give another --title")
    contents: dict[str, bytes] = {}
    files: list[File] = []
    for split in SPLITS:
        chosen = [row for row in rows if row.split == split]
        for form in forms if chosen else ():
            name = f"data/{split}.{form}"
            contents[name] = parquet.write(chosen) if form == "parquet" else _lines(chosen)
            files.append(File(name=name, split=split, rows=len(chosen), sha256=digest_of(contents[name])))
    manifest = Manifest(
        title=title,
        rows=len(rows),
        families=len({row.family for row in rows}),
        splits={split: sum(row.split == split for row in rows) for split in SPLITS},
        endings=dict(sorted(Counter(row.ending for row in rows).items())),
        licences=dict(sorted(Counter(row.origin.licence or "unknown" for row in rows).items())),
        files=tuple(files),
    )
    contents["README.md"] = card(manifest, rows).encode()
    contents[MANIFEST] = manifest.model_dump_json(by_alias=True, indent=1).encode() + b"\n"
    _write(contents, folder)
    return manifest


def _lines(rows: Sequence[Published]) -> bytes:
    return "".join(f"{row.line}\n" for row in rows).encode()


def _write(contents: dict[str, bytes], folder: Path) -> None:
    try:
        for name in _earlier(folder):
            if name not in contents and Path(name).parts[:1] == ("data",) and ".." not in name:
                (folder / name).unlink(missing_ok=True)
        for name, data in contents.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, data)
    except DatasetError:
        raise DatasetError(
            "this folder holds something else", where=folder, remedy="give an empty folder or one with a dataset"
        ) from None
    except OSError as error:
        raise DatasetError(f"cannot be written: {error.strerror}", where=folder) from None


def _earlier(folder: Path) -> list[str]:
    """The files of the dataset that is in ``folder`` already; raises DatasetError where it holds something else."""
    if not folder.exists() or not any(folder.iterdir()):
        return []
    if (folder / "data").is_symlink():  # what that holds may be somebody else's
        raise DatasetError("its folder data is a link", where=folder)
    return [file.name for file in read_manifest(folder).files]


def merge(store: Store, place: Path) -> Imported:
    """Add a dataset's attempts to ``store``; all of it, or nothing where a row is wrong. Doing it again adds nothing.

    Raises DatasetError with files and rows, CorpusError, or MissingExtraError for Parquet without pyarrow.
    """
    files = files_of(place)
    problems: list[Problem] = []
    keys: list[str] = []
    for file in files:
        for number, row in rows_of(file):
            if isinstance(row, str):
                problems.append(Problem(file=file.name, row=number, what=row))
            else:
                keys.append(row.key)
    if problems:
        raise DatasetError(
            f"nothing was imported: {first_sentences(problems)}",
            where=place,
            remedy="optimas corpus validate FOLDER shows everything",
        )
    title = place.name if place.is_file() else read_manifest(place).title
    source = Source.of(keys, title[:200] or "dataset")
    total = Kept()
    for batch in _batches(row for file in files for _, row in rows_of(file) if isinstance(row, Published)):
        kept = store.add((row.entry for row in batch), source=source)
        for row in batch:
            store.merge_noes(row.key, row.noes, source)
        total = Kept(new=total.new + kept.new, known=total.known + kept.known, refused=(*total.refused, *kept.refused))
    if total.refused:
        raise DatasetError(f"some attempts were not kept: {'; '.join(total.refused[:5])}", where=place)
    return Imported(new=total.new, known=total.known)


def _batches(rows: Iterable[Published]) -> Iterator[list[Published]]:
    batch: list[Published] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
