"""The corpus' file: opened, migrated, kept safe from other processes, set aside when it is damaged.

SQLite in WAL mode; a connection lives as long as one piece of work, a write is one ``BEGIN IMMEDIATE`` transaction.
WAL needs shared memory, so the folder has to be on a disk of this machine.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from optimas_lsp.corpus.failures import BusyError, CorpusError, FullError, NewerError, ReadOnlyError
from optimas_lsp.corpus.schema import APPLICATION, VERSION, migrate
from optimas_lsp.profile.model import Note

FILE_NAME = "corpus.sqlite"
ELSEWHERE = "set OPTIMAS_DATA_DIR to another folder"
WAIT_S = 20.0
"""How long one process waits for others."""

LEAST_ROOM = 128 * 1024
"""Bytes that SQLite needs beside the file: its shared memory and a first page of its log."""

_FILES = ("-wal", "-shm", "")
"""In the order of setting aside: a log must never lie beside a file that it is not of."""

TRIES = 4
"""A file that is damaged is set aside once; others that had it open meanwhile find theirs gone."""

_MOVED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""How SQLite fails when its file was renamed, or its log is that of another file."""

_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST}

Result = TypeVar("Result")


class _DamagedError(Exception):
    """The file is no database, or a broken one."""


@dataclass
class Database:
    """One file in ``folder``. ``notes`` gathers what a person has to be told, such as that it was damaged.

    ``page_limit`` bounds the file's pages (tests make a disk full with it).
    """

    folder: Path
    wait_s: float = WAIT_S
    page_limit: int | None = None
    notes: list[Note] = field(default_factory=list[Note])

    @property
    def path(self) -> Path:
        """The file; it may not exist yet."""
        return self.folder / FILE_NAME

    def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """``work`` in one transaction: all of it is kept or nothing. Raises CorpusError."""

        def once() -> Result:
            with self._opened(write=True) as base:
                base.execute("BEGIN IMMEDIATE")
                try:
                    self._check(base)
                    migrate(base)
                    result = work(base)
                    base.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        base.execute("ROLLBACK")
                    raise
                return result

        return self._mended(once)

    def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """``work`` on a consistent state; None where there is no corpus yet. Raises CorpusError."""

        def once() -> Result | None:
            try:
                if not self.path.exists():
                    return None
            except OSError as error:
                raise self._file_error(error) from None
            with self._opened(write=False) as base, self._current(base) as current:
                current.execute("BEGIN")
                return work(current)

        return self._mended(once)

    def shrink(self) -> None:
        """Give pages that nothing uses back to the file system; whoever is busy keeps them."""
        with contextlib.suppress(CorpusError, _DamagedError), self._opened(write=True) as base:
            base.executescript("PRAGMA incremental_vacuum")  # execute() would free one page only
            base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _current(self, base: sqlite3.Connection) -> Generator[sqlite3.Connection]:
        """The connection, or where the file is of an older version a copy in memory that is not."""
        if self._check(base) == VERSION:
            yield base
            return
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            base.backup(copy)
            migrate(copy)
            yield copy

    def _mended(self, once: Callable[[], Result]) -> Result:
        """``once``, and if the file turns out to be damaged, again on a fresh one."""
        for _ in range(TRIES):
            try:
                return once()
            except _DamagedError:
                self._set_aside()
        raise CorpusError("cannot be read, though it looks whole", where=self.path, remedy="move it away")

    @contextmanager
    def _opened(self, *, write: bool) -> Generator[sqlite3.Connection]:
        opened: tuple[int, int] | None = None
        try:
            if write:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            opened = self._identity()
            with closing(self._connection(write=write)) as base:
                yield base
        except sqlite3.Error as error:
            if _code(error) in _MOVED and opened != self._identity():
                raise _DamagedError("another process has set it aside") from None
            raise self._base_error(error) from None
        except OSError as error:
            raise self._file_error(error) from None

    def _identity(self) -> tuple[int, int] | None:
        """Which file lies there now; None: none, or it cannot be told."""
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return (stat.st_dev, stat.st_ino)

    def _connection(self, *, write: bool) -> sqlite3.Connection:
        """A connection; for reading the first way that works, the last needs no other file beside this one."""
        ways = ("mode=rw",) if write else ("mode=rw", "mode=ro", "immutable=1")
        failure: sqlite3.Error | None = None
        for way in ways:
            base: sqlite3.Connection | None = None
            try:
                uri = f"{self.path.absolute().as_uri()}?{way}"
                base = sqlite3.connect(uri, uri=True, timeout=self.wait_s, isolation_level=None)
                self._prepare(base, write=write)
            except (sqlite3.Error, CorpusError) as error:
                if base is not None:
                    base.close()
                if isinstance(error, CorpusError) or _code(error) not in {
                    sqlite3.SQLITE_CANTOPEN,
                    sqlite3.SQLITE_READONLY,
                    sqlite3.SQLITE_IOERR,  # a full disk has no room for the shared memory that WAL needs
                }:
                    raise
                failure = error
            else:
                return base
        raise failure or sqlite3.OperationalError("unable to open database file")

    def _prepare(self, base: sqlite3.Connection, *, write: bool) -> None:
        self._check(base)
        base.execute("PRAGMA foreign_keys = ON")
        base.execute("PRAGMA secure_delete = ON")
        if write:
            base.execute("PRAGMA synchronous = NORMAL")
            base.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._use_log(base)
        if self.page_limit is not None:
            base.execute(f"PRAGMA max_page_count = {int(self.page_limit)}").fetchall()

    def _use_log(self, base: sqlite3.Connection) -> None:
        """Switch to WAL. SQLite does not wait for others here, so this does."""
        end = time.monotonic() + self.wait_s
        while True:
            try:
                base.execute("PRAGMA journal_mode = WAL").fetchall()
            except sqlite3.OperationalError as error:
                if _code(error) not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _check(self, base: sqlite3.Connection) -> int:
        """The file's version; raises NewerError, or CorpusError for somebody else's database."""
        [(version,)] = base.execute("PRAGMA user_version").fetchall()
        [(owner,)] = base.execute("PRAGMA application_id").fetchall()
        [(tables,)] = base.execute("SELECT count(*) FROM sqlite_master").fetchall()
        if owner != APPLICATION and (version or tables):
            raise CorpusError("this is another program's database", where=self.path, remedy=ELSEWHERE)
        if version > VERSION:
            raise NewerError(
                f"it was written by a newer optimas-lsp (version {version}, this one knows {VERSION})",
                where=self.path,
                remedy=f"use that one, or {ELSEWHERE}",
            )
        return int(version)

    def _base_error(self, error: sqlite3.Error) -> Exception:
        code = _code(error)
        if code in _BROKEN:
            return _DamagedError(str(error))
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and self._no_room()):
            return self._full()
        if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
            return ReadOnlyError("nothing can be kept here: the folder cannot be written", where=self.path,
                                 remedy=f"change its permissions, or {ELSEWHERE}")  # fmt: skip
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return BusyError(f"other processes held it for {self.wait_s:.0f} s", where=self.path, remedy="try again")
        return CorpusError(f"cannot be used: {error}", where=self.path, remedy=ELSEWHERE)

    def _file_error(self, error: OSError) -> CorpusError:
        if error.errno in _FULL:
            return self._full()
        if error.errno in _REFUSED:
            return ReadOnlyError(
                f"nothing can be kept here: {error.strerror}", where=self.folder, remedy=f"mend it, or {ELSEWHERE}"
            )
        return CorpusError(f"cannot be used: {error.strerror}", where=self.folder, remedy=ELSEWHERE)

    def _no_room(self) -> bool:
        try:
            return shutil.disk_usage(self.folder).free < LEAST_ROOM
        except OSError:
            return False

    def _full(self) -> FullError:
        return FullError(
            "there is no space left; nothing was kept", where=self.path, remedy=f"make room, or {ELSEWHERE}"
        )

    def _set_aside(self) -> None:
        """Keep a damaged file under another name, unless another process has done so; one process at a time."""
        try:
            with closing(
                sqlite3.connect(self.folder / "corpus.lock", timeout=self.wait_s, isolation_level=None)
            ) as lock:
                lock.execute("BEGIN EXCLUSIVE")
                if self._whole():
                    return
                number = 1
                while (kept := self.path.with_name(f"{FILE_NAME}.corrupt-{number}")).exists():
                    number += 1
                for ending in _FILES:
                    with contextlib.suppress(FileNotFoundError):
                        Path(f"{self.path}{ending}").rename(f"{kept}{ending}")
        except sqlite3.Error as error:
            raise CorpusError(
                f"it is damaged and cannot be set aside: {error}",
                where=self.path,
                remedy=f"move it away, or {ELSEWHERE}",
            ) from None
        except OSError as error:
            raise self._file_error(error) from None
        self.notes.append(
            Note(
                code="corpus-corrupt",
                text=f"corpus: {self.path} was damaged; it is kept as {kept.name} beside a new, empty one",
            )
        )

    def _whole(self) -> bool:
        try:
            with closing(self._connection(write=False)) as base:
                return base.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
        except sqlite3.Error as error:
            return _code(error) not in _BROKEN


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0: unknown."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
