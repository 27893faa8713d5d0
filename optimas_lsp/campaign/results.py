"""The campaign's own results: one file an experiment, named by its key, written in one step; the truth for resuming.

A file is JSON lines compressed with Zstandard: first the row of the dataset, then everything (optimas.rewrite/1).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import zstandard

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.replace import write_atomically

try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind
    fcntl = None

SUFFIX = ".jsonl.zst"

NO_RESULT = "this is no result of an experiment"
RUN_AGAIN = "optimas campaign run runs its experiment again"


class ResultsError(OptimasError):
    """Results cannot be read or written."""


@dataclass(frozen=True)
class Results:
    """A folder of results."""

    folder: Path

    @property
    def _files(self) -> Path:
        return self.folder / "experiments"

    @property
    def programs(self) -> Path:
        """The folder of what is known of programs without any change (``faults.py``)."""
        return self.folder / "programs"

    def place(self, key: str) -> Path:
        """The file of an experiment, whether it is there or not."""
        return self._files / key[:2] / f"{key}{SUFFIX}"

    def keys(self) -> set[str]:
        """Keys of all experiments that are finished; leavings of a killed writer do not count."""
        return {path.name.removesuffix(SUFFIX) for path in self._paths()}

    def keep(self, key: str, row: dict[str, Any], outcome: dict[str, Any] | None) -> None:
        """Write a result in one step; raises ResultsError."""
        lines = [row] if outcome is None else [row, outcome]
        text = "".join(json.dumps(each, separators=(",", ":"), allow_nan=False) + "\n" for each in lines)
        place = self.place(key)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, zstandard.ZstdCompressor(level=3).compress(text.encode()))
        except OSError as error:
            raise ResultsError(
                f"cannot be written: {error.strerror}",
                where=place,
                remedy="the results folder must be writable wherever experiments run",
            ) from None

    def row(self, key: str) -> dict[str, Any]:
        """The row of one experiment; raises ResultsError."""
        return self._first(self.place(key))

    def sound(self, key: str) -> dict[str, Any] | None:
        """The row of one experiment; None where its file is none, such as after a disk or a node broke."""
        try:
            row = self.row(key)
        except ResultsError:
            return None
        return row if row.get("key") == key and "ending" in row else None

    def outcome(self, key: str) -> dict[str, Any] | None:
        """Everything about one experiment; None when it failed before there was an outcome."""
        lines = self._read(self.place(key))
        next(lines)
        return next(lines, None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows, ordered by key."""
        for path in sorted(self._paths()):
            yield self._first(path)

    def drop(self, key: str) -> None:
        """Forget a result, so that its experiment runs again."""
        with contextlib.suppress(FileNotFoundError):
            self.place(key).unlink()

    def _paths(self) -> Iterator[Path]:
        with contextlib.suppress(FileNotFoundError):
            for shard in os.scandir(self._files):
                if shard.is_dir():
                    yield from (
                        Path(each.path)
                        for each in os.scandir(shard.path)
                        if each.name.endswith(SUFFIX) and not each.name.startswith(".")
                    )

    @classmethod
    def _first(cls, path: Path) -> dict[str, Any]:
        row = next(cls._read(path), None)
        if row is None:
            raise ResultsError(NO_RESULT, where=path, remedy=RUN_AGAIN)
        return row

    @staticmethod
    def _read(path: Path) -> Iterator[dict[str, Any]]:
        try:
            with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
                for line in io.TextIOWrapper(stream, "utf-8"):
                    yield dict(cast("dict[str, Any]", json.loads(line)))
        except FileNotFoundError:
            raise ResultsError("there is no such result", where=path) from None
        except (OSError, ValueError, TypeError, zstandard.ZstdError):
            raise ResultsError(NO_RESULT, where=path, remedy=RUN_AGAIN) from None

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """Hold the folder for one campaign at a time; raises ResultsError while another process holds it.

        The system takes the lock back when the process ends, however it ends.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("wb")
        except OSError as error:
            raise ResultsError(f"cannot be written: {error.strerror}", where=self.folder) from None
        with lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise ResultsError(
                        "this campaign is running already", where=self.folder, remedy="optimas campaign status shows it"
                    ) from None
            for parts in (self._files.glob("*/.*.part"), self.programs.glob(".*.part")):
                for part in parts:  # of writers that were killed
                    part.unlink(missing_ok=True)
            yield
