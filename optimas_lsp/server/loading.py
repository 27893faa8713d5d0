"""Keeps the open reports equal to what lies on disk: finds, loads, reloads and drops them, with one progress bar.

Which load belongs to which state of a file is settled by a key (the file's stamp, the settings, the folders): a load
whose key is no longer wanted is cancelled and its worker killed.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from optimas_lsp.errors import OptimasError
from optimas_lsp.server.background import Background
from optimas_lsp.server.editor import Editor, Progress
from optimas_lsp.server.jobs import Loaded, LoadRequest, load
from optimas_lsp.server.reports import Search, Stamp, search, stamp
from optimas_lsp.server.snapshot import Folder
from optimas_lsp.server.turns import Turns, nearest
from optimas_lsp.server.views import OpenReport

if TYPE_CHECKING:
    from optimas_lsp.config import Settings

logger = logging.getLogger(__name__)

LOADS_AT_ONCE = 2
"""Worker processes that load reports at a time; each may start reading workers of its own."""

Key = tuple[Stamp, str, tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One report that should be open and the settings it is read under."""

    path: Path
    stamp: Stamp
    settings: Settings


@dataclass(slots=True)
class _Batch:
    """The loads that share one progress bar."""

    total: int = 0
    done: int = 0
    progress: Progress | None = None
    parts: dict[Path, float] = field(default_factory=dict[Path, float])
    shown: int = 0

    def percentage(self) -> int:
        """How much of all loads is done (0 to 100); never goes back, also when loads are added."""
        self.shown = max(self.shown, int(100 * (self.done + sum(self.parts.values())) / max(self.total, 1)))
        return min(self.shown, 100)


@dataclass(slots=True)
class Loader:
    """The open reports and the loads in flight.

    ``on_change`` is called on the loop after every change, ``on_settled`` when the last of several loads is over.
    """

    editor: Editor
    background: Background
    on_change: Callable[[], None]
    on_settled: Callable[[], None]
    looked_at: Callable[[], Iterable[Path]] = tuple
    """Folders of the open files: what lies near them is read first."""
    cache: Path | None = None
    reports: dict[Path, OpenReport] = field(default_factory=dict[Path, OpenReport])
    failures: dict[Path, str] = field(default_factory=dict[Path, str])
    former: dict[Path, list[str]] = field(default_factory=dict[Path, list[str]])
    """What each report's file held before, as SHA-256, oldest first: the cache may still have it."""
    search_seconds: float = 0.0
    cut_short: bool = False
    _keys: dict[Path, Key] = field(default_factory=dict[Path, Key])
    _tasks: dict[Path, asyncio.Task[None]] = field(default_factory=dict[Path, "asyncio.Task[None]"])
    _turns: Turns = field(init=False)
    _batch: _Batch = field(default_factory=_Batch)

    def __post_init__(self) -> None:
        self._turns = Turns(LOADS_AT_ONCE, lambda path: nearest(path, self.looked_at()))

    async def find(self, folders: Iterable[Folder]) -> list[Wanted]:
        """Every report in the folders, newest first; looking happens off the loop."""
        found: dict[Path, Wanted] = {}
        began = time.monotonic()
        self.cut_short = False
        for folder in folders:
            settings = folder.settings
            if settings is None:
                continue
            patterns, exclude = settings.profiles.reports, settings.profiles.exclude
            result: Search = await self.background.run(search, folder.path, patterns, exclude)
            self.cut_short |= result.cut_short
            for path, state in result.reports.items():
                found.setdefault(path, Wanted(path, state, settings))
        self.search_seconds = time.monotonic() - began
        return sorted(found.values(), key=lambda each: (-each.stamp.modified_ns, str(each.path)))

    def want(self, wanted: Iterable[Wanted], folders: tuple[Path, ...], *, again: bool = False) -> None:
        """Make these the open reports: load what is new or changed, drop what is gone. ``again`` reloads every one."""
        from optimas_lsp.server.configuration import reading

        wishes = {each.path: each for each in wanted}
        gone = [path for path in self._keys if path not in wishes]
        for path in gone:
            self._drop(path)
        for path, wish in wishes.items():
            key = (wish.stamp, reading(wish.settings), folders)
            if self._keys.get(path) == key and not again:
                continue
            if (running := self._tasks.pop(path, None)) is not None:
                running.cancel()
            self._keys[path] = key
            self._batch.total += 1
            self._tasks[path] = asyncio.ensure_future(self._load(wish, folders))
        if gone:
            self.editor.log("no longer there: " + ", ".join(str(path) for path in gone))
            self.on_change()

    def reload(self, path: Path) -> None:
        """Forget in which state a report was read, so that the next ``want`` loads it again."""
        self._keys.pop(path, None)

    def cancel_all(self) -> None:
        """Stop every load; what is open stays open."""
        for task in self._tasks.values():
            task.cancel()

    @property
    def busy(self) -> bool:
        """Whether any load is in flight."""
        return bool(self._tasks)

    def tasks(self) -> set[asyncio.Task[None]]:
        """The loads in flight."""
        return set(self._tasks.values())

    def stamps(self) -> Mapping[Path, Stamp]:
        """The reports known on disk and the state each was last seen in."""
        return {path: key[0] for path, key in self._keys.items()}

    def _drop(self, path: Path) -> None:
        del self._keys[path]
        if (running := self._tasks.pop(path, None)) is not None:
            running.cancel()
        self.reports.pop(path, None)
        self.failures.pop(path, None)

    async def _load(self, wish: Wanted, folders: tuple[Path, ...]) -> None:
        path = wish.path
        task = asyncio.current_task()
        try:
            async with self._turns.of(path):
                await self._begin(path)
                loaded = await load(self._request(wish, folders), lambda read, total: self._step(path, read, total))
            self._opened(path, wish.stamp, loaded)
        except OptimasError as error:
            self._failed(path, error)
        except asyncio.CancelledError:
            if self._tasks.get(path) is task:
                self.failures[path] = f"{path}: reading was cancelled; run optimas.reloadReports to read it"
        finally:
            if self._tasks.get(path) is task:
                del self._tasks[path]
            self.on_change()
            self._finish(path)

    def _request(self, wish: Wanted, folders: tuple[Path, ...]) -> LoadRequest:
        return LoadRequest(wish.path, wish.settings.model_dump(mode="json", by_alias=True), folders, self.cache)

    def _opened(self, path: Path, state: Stamp, loaded: Loaded) -> None:
        if (old := self.reports.get(path)) is not None:
            self.former.setdefault(path, []).append(old.loaded.analysis.report.sha256)
        self.reports[path] = OpenReport(path, state, loaded)
        gc.freeze()  # a report is large, lives long and holds no cycles
        self.failures.pop(path, None)
        kernels = len(loaded.analysis.kernels)
        mapped = sum(1 for match in loaded.matches if match.path is not None)
        self.editor.log(f"{path}: {loaded.launches} launches of {kernels} kernels, {mapped} source files here")
        for note in loaded.analysis.notes:
            self.editor.log(f"{path}: {note.text}")

    def _failed(self, path: Path, error: OptimasError) -> None:
        """The old content is dropped: what is on disk now is not what it was measured from."""
        self.reports.pop(path, None)
        sentence = str(error)
        if self.failures.get(path) != sentence:
            if stamp(path) is None:
                self.editor.log(sentence)
            else:
                self.editor.tell(sentence, "warning")
        self.failures[path] = sentence

    async def _begin(self, path: Path) -> None:
        batch = self._batch
        if batch.progress is None:
            batch.progress = Progress(self.editor.server)
            batch.progress = await self.editor.progress("Reading GPU profiles")
            batch.progress.on_cancel(self.cancel_all)
        batch.progress.report(path.name, batch.percentage())

    def _step(self, path: Path, read: int, total: int) -> None:
        batch = self._batch
        if batch.progress is not None and total:
            batch.parts[path] = read / total
            batch.progress.report(f"{path.name}: {read} of {total} launches", batch.percentage())

    def _finish(self, path: Path) -> None:
        self._batch.done += 1
        self._batch.parts.pop(path, None)
        if self._batch.done >= self._batch.total:
            batch, self._batch = self._batch, _Batch()
            if batch.progress is not None:
                batch.progress.end(f"{len(self.reports)} open")
            self.on_settled()
