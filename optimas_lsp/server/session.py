"""One client's session: what it has open, where its folders are, what the reports say; makes a snapshot of it all.

Everything here runs on the event loop and is short; looking at disks, reading reports and comparing long texts happen
elsewhere and come back as events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types

from optimas_lsp.server.background import Background
from optimas_lsp.server.client import resolve
from optimas_lsp.server.documents import Document, changed, opened
from optimas_lsp.server.editor import Editor
from optimas_lsp.server.features.diagnostics import publish_params, published
from optimas_lsp.server.hardening import HardenedServer
from optimas_lsp.server.loading import Loader
from optimas_lsp.server.locations import path_of, same_place, uri_of
from optimas_lsp.server.positions import changes_of
from optimas_lsp.server.snapshot import Folder, Snapshot, frozen
from optimas_lsp.server.views import FileIndex, FileView, index

if TYPE_CHECKING:
    from optimas_lsp.server.rewrites import Rewrites
    from optimas_lsp.source.anchors import Anchors, Measured
    from optimas_lsp.source.text import Splice

logger = logging.getLogger(__name__)

LINES_ON_LOOP = 1_500
"""Texts of more lines than this are compared with the profiled text off the loop."""

HOTSPOTS_SECONDS = 1.0
"""Edits within this time are one change to whoever lists the hot spots."""


class Session:
    """The mutable centre; features never see it, only ``snapshot``."""

    def __init__(self, server: HardenedServer) -> None:
        self.editor = Editor(server)
        self.background = Background()
        self.loader = Loader(
            self.editor, self.background, self._reports_changed, self._explain_nothing, self._folders_looked_at
        )
        self.snapshot = Snapshot()
        self.ready = asyncio.Event()
        self.rewrites: Rewrites | None = None
        self.on_text: list[Callable[[Document, list[Splice] | None], None]] = []
        """Told of every text that was opened (None) or edited, before anything about it is shown."""
        self.on_view: list[Callable[[str], None]] = []
        """Told of every document (by URI) that shows another report now, or was saved."""
        self._published: set[str] = set()
        self._indices: dict[tuple[int, Path], FileIndex | None] = {}
        self._aligning: dict[str, list[Splice]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._hotspots: asyncio.TimerHandle | None = None
        self._explained: set[str] = set()

    # -- life ---------------------------------------------------------------------------------------------------------

    def initialize(self, params: types.InitializeParams, encoding: str) -> None:
        """Learn who the client is and which folders it has open."""
        self.editor.client = resolve(params, encoding)
        options: object = params.initialization_options
        wishes: Mapping[str, Any] = cast("Mapping[str, Any]", options) if isinstance(options, Mapping) else {}
        self.editor.hotspots = bool(wishes.get("hotspots"))
        self.editor.jobs = bool(wishes.get("jobs"))
        self.editor.announce = bool(wishes.get("announce", True))
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        elif not folders and params.root_path:
            folders = [uri_of(Path(params.root_path))]
        self.snapshot = replace(
            self.snapshot,
            client=self.editor.client,
            folders=tuple(folder for uri in folders if (folder := _folder(uri)) is not None),
        )

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Run ``work`` beside everything else; a failure is logged, never lost."""
        self.adopt(asyncio.ensure_future(work))

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Keep a task until it is over, and log its failure."""
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("background work failed", exc_info=error)

    def close(self) -> None:
        """Stop everything that runs; workers are killed with their tasks."""
        self.loader.cancel_all()
        if self.rewrites is not None:
            self.rewrites.close()
        for task in list(self._tasks):
            task.cancel()

    async def finish(self) -> None:
        """Wait a moment until the jobs that ``close`` ended are gone."""
        if self.rewrites is not None:
            await self.rewrites.finish()

    @property
    def settled(self) -> bool:
        """Whether nothing is being read or compared."""
        return not (self.loader.busy or self._aligning)

    async def step(self) -> None:
        """Wait until one of the tasks that run now is over."""
        if tasks := self._tasks | self.loader.tasks():
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

    # -- documents ----------------------------------------------------------------------------------------------------

    def _folders_looked_at(self) -> list[Path]:
        """Folders of the open files."""
        return [each.path.parent for each in self.snapshot.documents.values() if each.path is not None]

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take over a text the client has opened."""
        item = params.text_document
        document = opened(item.uri, item.language_id, item.version, item.text)
        self._aligning.pop(item.uri, None)
        self._set_document(document)
        self._set_view(item.uri, None)
        self._tell_text(document, None)
        if self.ready.is_set():
            self._look_at(document)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Follow an edit: text, anchors, and what is shown."""
        uri = params.text_document.uri
        document = self.snapshot.documents.get(uri)
        if document is None:
            logger.warning("a change of a document that is not open: %s", uri)
            return
        version = params.text_document.version
        document, splices = changed(document, version, changes_of(params.content_changes), self.editor.client.encoding)
        self._set_document(document)
        self.snapshot = replace(self.snapshot, unsaved=self.snapshot.unsaved | {uri})
        self._tell_text(document, splices)
        if uri in self._aligning:
            self._aligning[uri] += splices
        view = self.snapshot.views.get(uri)
        if view is None:
            return
        anchors = view.anchors
        for splice in splices:
            anchors = anchors.apply(splice)
        self._set_view(uri, FileView(document, view.index, anchors))
        self.publish(uri)
        self._hotspots_soon()

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a text and take its findings away."""
        uri = params.text_document.uri
        self._aligning.pop(uri, None)
        documents = {key: value for key, value in self.snapshot.documents.items() if key != uri}
        unsaved = self.snapshot.unsaved - {uri}
        self.snapshot = replace(self.snapshot, documents=frozen(documents), unsaved=unsaved)
        self._set_view(uri, None)
        self.publish(uri)
        if self.rewrites is not None:
            self.rewrites.closed()

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """A text is on disk as it is here."""
        uri = params.text_document.uri
        self.snapshot = replace(self.snapshot, unsaved=self.snapshot.unsaved - {uri})
        for told in self.on_view:
            told(uri)

    def _tell_text(self, document: Document, splices: list[Splice] | None) -> None:
        for told in self.on_text:
            told(document, splices)

    def _set_document(self, document: Document) -> None:
        documents = {**self.snapshot.documents, document.uri: document}
        self.snapshot = replace(self.snapshot, documents=frozen(documents))

    def _set_view(self, uri: str, view: FileView | None) -> None:
        views = {key: value for key, value in self.snapshot.views.items() if key != uri}
        if view is not None:
            views[uri] = view
        self.snapshot = replace(self.snapshot, views=frozen(views))

    # -- what is shown ------------------------------------------------------------------------------------------------

    def publish(self, uri: str) -> None:
        """Push the diagnostics of one document, unless the client pulls; nothing where nothing is or was shown."""
        if self.editor.client.pull_diagnostics:
            return
        diagnostics = published(self.snapshot, uri)
        if not diagnostics and uri not in self._published:
            return
        document = self.snapshot.documents.get(uri)
        stamped = document is not None and self.editor.client.diagnostic_version
        self.editor.publish(publish_params(uri, document.version if document and stamped else None, diagnostics))
        (self._published.add if diagnostics else self._published.discard)(uri)

    def show_all_again(self) -> None:
        """Push every document and have the client pull the rest."""
        for uri in self.snapshot.documents:
            self.publish(uri)
        self.editor.refresh()

    def _look_at(self, document: Document) -> None:
        """Decide what a document shows; comparing a long text happens off the loop."""
        found = self._index(document)
        view = self.snapshot.views.get(document.uri)
        if found is None:
            self._aligning.pop(document.uri, None)
            self._set_view(document.uri, None)
            self.publish(document.uri)
            return
        if view is not None and view.index is found:
            self.publish(document.uri)
            return
        from optimas_lsp.source.anchors import Measured, align

        measured = Measured.of(found.source) or Measured.assume(document.text)
        if document.text.line_count <= LINES_ON_LOOP and len(measured.keys) <= LINES_ON_LOOP:
            self._aligned(document, found, align(measured, document.text))
        else:
            splices: list[Splice] = []
            self._aligning[document.uri] = splices
            self.spawn(self._align(document, found, measured, splices))

    async def _align(self, document: Document, found: FileIndex, measured: Measured, splices: list[Splice]) -> None:
        from optimas_lsp.source.anchors import align

        mine = False
        try:
            anchors = await self.background.run(align, measured, document.text)
        finally:
            if mine := self._aligning.get(document.uri) is splices:
                del self._aligning[document.uri]
        current = self.snapshot.documents.get(document.uri)
        if not mine or current is None:
            return  # closed, opened again, or another report was chosen meanwhile
        for splice in splices:
            anchors = anchors.apply(splice)
        self._aligned(current, found, anchors)
        self.editor.refresh()

    def _aligned(self, document: Document, found: FileIndex, anchors: Anchors) -> None:
        self._set_view(document.uri, FileView(document, found, anchors))
        for told in self.on_view:
            told(document.uri)
        self.publish(document.uri)
        self._hotspots_soon()

    def _index(self, document: Document) -> FileIndex | None:
        if document.path is None:
            return None
        report = self.snapshot.report_for(document.path)
        if report is None:
            return None
        key = (id(report), document.path)
        if key not in self._indices:
            self._indices[key] = index(report, document.path)
        return self._indices[key]

    def look_again(self) -> None:
        """Decide anew what every open document shows."""
        kept = {id(report) for report in self.snapshot.reports.values()}
        self._indices = {key: value for key, value in self._indices.items() if key[0] in kept}
        for document in self.snapshot.documents.values():
            self._look_at(document)
        self.editor.refresh()

    def _reports_changed(self) -> None:
        self.snapshot = replace(
            self.snapshot, reports=frozen(self.loader.reports), failures=frozen(self.loader.failures)
        )
        self.look_again()

    def _explain_nothing(self) -> None:
        """Reports are open and none can show a line: say why, once, instead of leaving the user to wonder."""
        reports = self.snapshot.reports.values()
        if not reports or any(report.shows for report in reports):
            return
        newest = max(reports, key=lambda report: (report.stamp.modified_ns, str(report.path)))
        notes = newest.loaded.analysis.notes
        absent = "none of its source files was found in the open folders; the command optimas.whyMapped says why"
        reason = notes[0].text if notes and not newest.sampled else absent
        sentence = f"{newest.path}: nothing can be shown on source lines: {reason}"
        if sentence not in self._explained:
            self._explained.add(sentence)
            self.editor.tell(sentence)

    def _hotspots_soon(self) -> None:
        if self.editor.hotspots and self._hotspots is None:
            self._hotspots = asyncio.get_running_loop().call_later(HOTSPOTS_SECONDS, self._tell_hotspots)

    def _tell_hotspots(self) -> None:
        self._hotspots = None
        self.editor.hotspots_changed()


def _folder(uri: str) -> Folder | None:
    path = path_of(uri)
    return None if path is None else Folder(uri, same_place(path))
