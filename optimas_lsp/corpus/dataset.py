"""The published form of the corpus (schema ``optimas.corpus/1``): its rows, its manifest, how both are read.

A dataset is a folder: ``dataset.json`` (manifest), ``README.md`` (data card), ``data/SPLIT.jsonl`` and, where pyarrow
was there, ``data/SPLIT.parquet`` with the same rows. What is read was written by others: every row is
checked before it is believed, and a failure names the file and the row.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ConfigDict, Field, ValidationError

from optimas_lsp.corpus.families import Split
from optimas_lsp.corpus.model import Entry, canonical
from optimas_lsp.corpus.scrub import leaks
from optimas_lsp.corpus.store import No, Row
from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Frozen

SCHEMA: Literal["optimas.corpus/1"] = "optimas.corpus/1"
MANIFEST = "dataset.json"
LONGEST_LINE = 4 * 1024 * 1024
"""Bytes of one row of JSON lines."""

MOST_UNPACKED, MOST_TIMES = 256 << 20, 200
"""A Parquet file that unpacks to more than this many bytes and times its size is no honest one."""


class DatasetError(OptimasError):
    """A dataset cannot be written, or what should be one is none."""


class Published(Entry):
    """One row: an attempt, the family of its kernel, its split, and what people said no to."""

    family: str = Field(pattern=r"^f-[0-9a-f]{12}$")
    split: Split
    noes: tuple[No, ...] = ()

    @property
    def entry(self) -> Entry:
        """The attempt alone."""
        return Entry.model_validate(self.model_dump(by_alias=True, exclude={"family", "split", "noes"}))

    @property
    def line(self) -> str:
        """The row as JSON, the same for the same content."""
        return canonical(self.model_dump(mode="json", by_alias=True))


class File(Frozen):
    """One file of a dataset; ``name`` is relative to its folder."""

    name: str
    split: Split
    rows: int
    sha256: str


class Manifest(Frozen):
    """``dataset.json``."""

    schema_: Literal["optimas.corpus/1"] = Field(default=SCHEMA, alias="schema")
    title: str
    rows: int
    families: int
    splits: dict[Split, int]
    endings: dict[str, int]
    licences: dict[str, int] = Field(description="SPDX expression, or 'unknown', to rows")
    files: tuple[File, ...]

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Problem(Frozen):
    """Something wrong with a dataset, at a row (from 1) of a file where it is about one."""

    file: str
    row: int | None = None
    what: str

    def sentence(self) -> str:
        """For a person: file, row, what."""
        return f"{self.file}{f':{self.row}' if self.row else ''}: {self.what}"


def published(row: Row, family: str, split: Split) -> Published:
    """A row of the store as a row of a dataset."""
    data = row.entry.model_dump(by_alias=True)
    return Published.model_validate({**data, "family": family, "split": split, "noes": row.noes})


def checked(row: Published) -> str:
    """What is wrong with one row by itself, in words; empty: nothing."""
    found = next(leaks(row.model_dump(mode="json", by_alias=True)), None)
    if found is not None:
        return f"'{found[0]}' holds {found[1]}"
    try:
        row.line.encode()
        same = row.key == row.entry.digest()
    except ValueError:
        return "it holds a number or a character that cannot be written"
    return _implausible(row) if same else "its key is not the digest of its content"


def _implausible(row: Published) -> str:
    failed = [gate.name for gate in row.gates if gate.status == "fail"]
    effects = [each for each in (row.timing.kernel, row.timing.gpu, row.timing.program) if each] if row.timing else []
    if row.ending == "proven" and (failed or row.effect is None):
        return (
            f"it says proven, but {'gates failed: ' + ', '.join(failed) if failed else 'no kernel time was measured'}"
        )
    if effects and row.ending not in {"proven", "refuted", "not-proven"}:
        return f"it has times, but ended as {row.ending}"
    if effects and {"build", "run", "compare", "determinism"} & set(failed):
        return "it has times of a run that failed its checks"
    for each in effects:
        if not 0 < each.low <= each.speedup <= each.high or each.before_ns <= 0 or each.after_ns <= 0:
            return "a speed-up does not lie within its interval, or a time is not positive"
        if abs(each.before_ns / each.after_ns / each.speedup - 1) > 0.01:
            return "a speed-up is not the ratio of its times"
    return ""


def files_of(place: Path) -> list[Path]:
    """The files to read of a dataset: JSON lines, or Parquet where there are none; ``place`` itself if it is a file."""
    if place.is_file():
        return [place]
    for ending in ("jsonl", "parquet"):
        found = sorted((place / "data").glob(f"*.{ending}"))
        if found:
            return found
    raise DatasetError(
        "there is no dataset here", where=place, remedy="give a folder that optimas corpus export wrote, or its file"
    )


def as_file(place: Path) -> Path:
    """``place`` if it is a plain file or leads to one; raises DatasetError for devices, pipes and what is not there.

    A dataset is a folder that others made: reading a device or a pipe would not end.
    """
    try:
        plain = stat.S_ISREG(place.stat().st_mode)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no name of a file"
        raise DatasetError(f"cannot be read: {said}", where=place, remedy="export it again") from None
    if not plain:
        raise DatasetError("is no file", where=place, remedy="export it again")
    return place


def rows_of(file: Path) -> Iterator[tuple[int, Published | str]]:
    """Each row of a file with its number from 1, or in words what is wrong with it.

    Raises DatasetError for a file that cannot be read at all, MissingExtraError for Parquet without pyarrow.
    """
    as_file(file)
    if file.suffix == ".parquet":
        from optimas_lsp.corpus.parquet import read

        unpacked, packed = 0, file.stat().st_size
        for number, data in enumerate(read(file), 1):
            size = _size(data)
            unpacked += size
            if unpacked > max(MOST_UNPACKED, MOST_TIMES * packed):
                raise DatasetError(f"unpacks to more than {MOST_TIMES} times its size", where=file)
            yield number, _row(data) if size <= LONGEST_LINE else f"it is longer than {LONGEST_LINE:,} bytes"
        return
    for number, line in enumerate(_lines(file), 1):
        yield number, line if isinstance(line, str) else _row(line)


def _size(data: object) -> int:
    """About as many bytes as plain data takes as JSON."""
    if isinstance(data, dict):
        return sum(len(key) + _size(value) for key, value in cast("dict[str, Any]", data).items())
    if isinstance(data, list):
        return sum(map(_size, cast("list[Any]", data)))
    return len(data) if isinstance(data, str) else 4


def _lines(file: Path) -> Iterator[bytes | str]:
    try:
        with file.open("rb") as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    yield f"it is longer than {LONGEST_LINE:,} bytes; what follows was not read"
                    return
                yield line
    except OSError as error:
        raise DatasetError(f"cannot be read: {error.strerror}", where=file) from None


def _row(data: bytes | dict[str, Any]) -> Published | str:
    try:
        row = Published.model_validate_json(data) if isinstance(data, bytes) else Published.model_validate(data)
        return checked(row) or row
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])[:80]
        return f"'{place}': {first['msg']}"[:300] if place else f"{first['msg']}"[:300]
    except (RecursionError, ValueError):
        return "it cannot be read as JSON"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a dataset; raises DatasetError."""
    place = folder / MANIFEST
    if folder.is_dir() and not place.exists():
        remedy = "give a folder that optimas corpus export wrote"
        raise DatasetError(f"there is no dataset here (no {MANIFEST})", where=folder, remedy=remedy)
    try:
        return Manifest.model_validate_json(as_file(place).read_bytes())
    except OSError as error:
        raise DatasetError(f"cannot be read: {error.strerror}", where=place, remedy="export it again") from None
    except ValidationError as error:
        first = error.errors()[0]
        place_ = ".".join(str(part) for part in first["loc"])
        raise DatasetError(
            f"is no manifest: '{place_}': {first['msg']}", where=place, remedy="export it again"
        ) from None


def digest_of(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return sha256(data).hexdigest()


def digest_of_file(file: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal; raises DatasetError."""
    try:
        with as_file(file).open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DatasetError(f"cannot be read: {error.strerror}", where=file) from None


def first_sentences(problems: Iterable[Problem], most: int = 5) -> str:
    """The first problems in one sentence, and how many more there are."""
    found = list(problems)
    more = f" (and {len(found) - most} more)" if len(found) > most else ""
    return "; ".join(each.sentence() for each in found[:most]) + more
