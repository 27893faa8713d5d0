"""Keeps the session in step with folders, settings and report files, by the client's watching or by looking.

Opening a folder only looks: nothing of the user's is run, nothing is written into it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

from optimas_lsp.server.locations import path_of, same_place, uri_of
from optimas_lsp.server.reports import Stamp, compile_glob, stamp
from optimas_lsp.server.session import Session
from optimas_lsp.server.snapshot import Folder, RulePages, frozen

if TYPE_CHECKING:
    from optimas_lsp.config import Settings
    from optimas_lsp.server.configuration import Configuration
    from optimas_lsp.server.looking_ahead import LookingAhead

logger = logging.getLogger(__name__)

CONFIG_FILE = "optimas.toml"
POLL_SECONDS = 2.0
"""Until the settings are known."""

SEARCH_SECONDS = 30.0
"""At least this long between two searches of whole folders where the client does not watch files."""

SEARCH_COST = 50.0
"""A search of whole folders may take one part in this many of the time."""

WATCHER = "optimas-watch"
CONFIGURER = "optimas-configuration"


class Workspace:
    """Folders, settings and reports of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.complaints: tuple[str, ...] = ()
        self._configuration: Configuration | None = None
        self._pushed: object = None
        self._look_wanted = False
        self._looking: asyncio.Task[None] | None = None
        self._watching = False
        self._changing = 0
        self._reconfiguring = asyncio.Lock()
        self._chosen: dict[Path | None, Any] = {}
        self.looking_ahead: LookingAhead | None = None
        self._remapped: set[tuple[Path, Path]] = set()

    async def start(self) -> None:
        """After the client is ready: load what is heavy, learn the settings, find and read the reports."""
        session = self.session
        pages = await session.background.run(_warm)
        gc.freeze()  # what was imported stays: the collector need not look through it while somebody types
        session.snapshot = replace(session.snapshot, rule_pages=RulePages(frozen(pages)))
        if session.editor.client.configuration and session.editor.client.register_configuration:
            options = types.DidChangeConfigurationRegistrationOptions(section="optimas")
            session.spawn(session.editor.register(CONFIGURER, types.WORKSPACE_DID_CHANGE_CONFIGURATION, options))
        await self.reconfigure()
        self._take_kept()
        session.ready.set()
        self.look()
        session.look_again()
        for uri in session.snapshot.documents:
            self.opened(uri)
        if session.editor.client.watch_files:
            await self._watch()
        else:
            session.spawn(self._poll())

    # -- settings -----------------------------------------------------------------------------------------------------

    async def reconfigure(self) -> None:
        """Ask for the settings again and let them hold; each complaint is told once."""
        async with self._reconfiguring:
            await self._reconfigure()

    async def _reconfigure(self) -> None:
        from optimas_lsp.server.configuration import Configuration

        session = self.session
        if self._configuration is None:
            self._configuration = Configuration()
        folders = session.snapshot.folders
        scopes = [None, *(folder.uri for folder in folders)]
        answer = await session.editor.configuration(scopes, lambda: session.spawn(self._settings_changed()))
        chosen: list[Any] = answer if answer is not None else [self._pushed] * (len(folders) + 1)
        self._chosen = {None: chosen[0], **{each.path: mine for each, mine in zip(folders, chosen[1:], strict=False)}}
        complaints: list[str] = []
        outside = await session.background.run(self._configuration.resolve, None, chosen[0])
        complaints += outside.complaints
        resolved: dict[str, Folder] = {}
        for folder, mine in zip(folders, chosen[1:], strict=False):
            outcome = await session.background.run(self._configuration.resolve, folder.path, mine)
            resolved[folder.uri] = replace(folder, settings=outcome.settings)
            complaints += [each for each in outcome.complaints if each not in complaints]
        current = session.snapshot.folders  # may have changed while the client was asked
        session.snapshot = replace(
            session.snapshot,
            settings=outside.settings,
            folders=tuple(
                resolved.get(folder.uri, replace(folder, settings=folder.settings or outside.settings))
                for folder in current
            ),
        )
        for complaint in complaints:
            if complaint not in self.complaints:
                session.editor.tell(complaint, "warning")
        self.complaints = tuple(complaints)

    async def settings_of(self, program: Path, folder: Path | None) -> Settings:
        """The settings of a program's folder, which may have an ``optimas.toml`` of its own inside the workspace's."""
        from optimas_lsp.server.configuration import Configuration

        chosen = self._chosen.get(folder, self._chosen.get(None))
        outcome = await self.session.background.run(Configuration().resolve, program, chosen)
        return outcome.settings

    def _take_kept(self) -> None:
        """Have the jobs and the known findings that are kept for the folders."""
        from optimas_lsp.server.kept import take
        from optimas_lsp.server.looking_ahead import LookingAhead

        self.looking_ahead = self.looking_ahead or LookingAhead(self.session)
        take(self.session, [folder.path for folder in self.session.snapshot.folders])

    def configuration_changed(self, params: types.DidChangeConfigurationParams) -> None:
        """Take what the client pushes only from clients that cannot be asked."""
        pushed: object = params.settings
        if isinstance(pushed, Mapping):
            values = cast("Mapping[str, Any]", pushed)
            self._pushed = dict(cast("Mapping[str, Any]", values.get("optimas", values)))
        self.session.spawn(self._settings_changed())

    def initial_settings(self, options: object) -> None:
        """Settings from ``initializationOptions``: under ``settings``, for clients that cannot be asked later."""
        if isinstance(options, Mapping):
            self._pushed = cast("Mapping[str, Any]", options).get("settings")

    async def _settings_changed(self) -> None:
        self._changing += 1
        try:
            await self.session.ready.wait()
            await self.reconfigure()
            self._take_kept()
            if self.session.editor.client.watch_files:
                await self._watch()
            self.session.show_all_again()
            self.look()
        finally:
            self._changing -= 1

    # -- folders and files --------------------------------------------------------------------------------------------

    def folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders were added or removed: their settings and reports come and go with them."""
        removed = {folder.uri for folder in params.event.removed}
        kept = [folder for folder in self.session.snapshot.folders if folder.uri not in removed]
        for added in params.event.added:
            path = path_of(added.uri)
            if path is not None and all(folder.uri != added.uri for folder in kept):
                kept.append(Folder(added.uri, same_place(path)))
        self.session.snapshot = replace(self.session.snapshot, folders=tuple(kept))
        self.session.spawn(self._settings_changed())

    def opened(self, uri: str) -> None:
        """A file was opened: without any workspace its folder is looked at; a file no report knew yet is mapped."""
        session = self.session
        path = session.snapshot.documents[uri].path
        if path is None or not session.ready.is_set():
            return
        inside = any(path.is_relative_to(folder.path) for folder in session.snapshot.folders)
        if not inside and all(folder.implied for folder in session.snapshot.folders):
            parent = path.parent
            if parent not in (Path(parent.anchor), Path.home()):
                folder = Folder(uri_of(parent), parent, session.snapshot.settings, implied=True)
                session.snapshot = replace(session.snapshot, folders=(*session.snapshot.folders, folder))
                session.spawn(self._settings_changed())
            return
        for report in session.snapshot.reports.values():
            missing = (each for each in report.loaded.matches if each.path is None)
            alike = any(each.file.replace("\\", "/").rsplit("/", 1)[-1] == path.name for each in missing)
            if alike and report.match(path) is None and (report.path, path) not in self._remapped:
                self._remapped.add((report.path, path))
                session.loader.reload(report.path)
                self.look()

    def files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        """The client saw files come, change or go."""
        names = [path.name for change in params.changes if (path := path_of(change.uri)) is not None]
        if CONFIG_FILE in names:
            self.session.spawn(self._settings_changed())
        elif names:
            self.look()

    def look(self, *, again: bool = False) -> None:
        """Look for reports and load what changed; looks asked for while one runs are one more look."""
        self._look_wanted = True
        if again:
            for path in list(self.session.loader.stamps()):
                self.session.loader.reload(path)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
            self.session.adopt(self._looking)

    @property
    def looking(self) -> bool:
        """Whether the folders are being searched for reports, or will be as soon as their settings are known."""
        return self._changing > 0 or (self._looking is not None and not self._looking.done())

    async def settled(self) -> None:
        """Wait until the settings are known and nothing is searched, read or compared any more."""
        await self.session.ready.wait()
        while self.looking or not self.session.settled:
            await self.session.step()

    async def _look(self) -> None:
        loader = self.session.loader
        while self._look_wanted:
            self._look_wanted = False
            folders = self.session.snapshot.folders
            wanted = await loader.find(folders)
            loader.want(wanted, tuple(folder.path for folder in folders))
            if loader.cut_short:
                self.session.editor.log(
                    "a folder has too many files to search; name its reports in profiles.reports", "warning"
                )

    # -- watching -----------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        from optimas_lsp.server.configuration import watch_patterns

        session = self.session
        watchers: list[types.FileSystemWatcher] = []
        for folder in session.snapshot.folders:
            if folder.settings is None:
                continue
            for pattern in watch_patterns([folder.settings]):
                if session.editor.client.watch_relative:
                    glob: types.GlobPattern = types.RelativePattern(base_uri=folder.uri, pattern=pattern)
                else:
                    glob = f"{folder.path.as_posix()}/{pattern}"
                watchers.append(types.FileSystemWatcher(glob_pattern=glob))
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        again, self._watching = self._watching, True
        await session.editor.register(WATCHER, types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options, again=again)

    async def _poll(self) -> None:
        """Look at the few files that matter, cheaply and often; at whole folders rarely."""
        session = self.session
        last = await session.background.run(_states, *self._places())
        loop = asyncio.get_running_loop()
        searched = loop.time()
        while True:
            settings = session.snapshot.settings
            await asyncio.sleep(POLL_SECONDS if settings is None else settings.profiles.poll_seconds)
            places = self._places()
            now = await session.background.run(_states, *places)
            old, last = last, now
            changed = {path for path in now.keys() | old.keys() if path in now and now.get(path) != old.get(path)}
            if any(path.name == CONFIG_FILE for path in changed):
                changing = asyncio.ensure_future(self._settings_changed())
                session.adopt(changing)
                await changing
            elif changed or loop.time() - searched > max(SEARCH_SECONDS, SEARCH_COST * session.loader.search_seconds):
                searched = loop.time()
                self.look()

    def _places(self) -> tuple[Path, ...]:
        """Known reports and their folders, workspace folders and their ``optimas.toml``, open files' folders."""
        places: dict[Path, None] = {}
        for folder in self.session.snapshot.folders:
            places[folder.path] = None
            places[folder.path / CONFIG_FILE] = None
        for path in self.session.loader.stamps():
            places[path] = None
            places[path.parent] = None
        for document in self.session.snapshot.documents.values():
            if document.path is not None:
                places[document.path.parent] = None
        return tuple(places)


def _states(*paths: Path) -> dict[Path, Stamp | None]:
    return {path: stamp(path) for path in paths}


def _warm() -> dict[str, str]:
    """Import what requests will need, in a thread; returns the pages that explain the rules."""
    from optimas_lsp.insight import facts, stalls
    from optimas_lsp.server import configuration, kept, looking_ahead, rule_pages
    from optimas_lsp.source import anchors

    compile_glob("**/*")
    ready = (facts, configuration, anchors, kept, looking_ahead)
    logger.debug("ready: %s", ", ".join(each.__name__ for each in ready))
    stalls.table()
    return rule_pages.write()
