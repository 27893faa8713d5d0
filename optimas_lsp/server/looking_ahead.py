"""After a document was opened, edited or saved: is it as on disk, and what can be tried on it. Both off the loop."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server import own_process
from optimas_lsp.server.possible import Possible
from optimas_lsp.server.snapshot import frozen

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, Location
    from optimas_lsp.server.documents import Document
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.views import FileView
    from optimas_lsp.source.text import Splice

logger = logging.getLogger(__name__)

QUIET_SECONDS = 1.0
"""A document is looked at when it was not edited for this long."""

KERNELS = 4
"""The costliest kernels of a document are looked at."""

SECONDS = 60.0


class LookingAhead:
    """Keeps ``unsaved`` and ``possible`` of the snapshot equal to the open documents; one look at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._turn = asyncio.Lock()
        session.on_text.append(self._text)
        session.on_view.append(self._soon)

    @property
    def busy(self) -> bool:
        """Whether a look is due or under way."""
        return bool(self._timers) or self._turn.locked()

    def _text(self, document: Document, splices: list[Splice] | None) -> None:
        if splices is None:  # another text may have the same version
            snapshot = self._session.snapshot
            kept = {uri: found for uri, found in snapshot.possible.items() if uri != document.uri}
            self._session.snapshot = replace(snapshot, possible=frozen(kept))
        self._soon(document.uri, QUIET_SECONDS if splices else 0.0)

    def _soon(self, uri: str, seconds: float = 0.0) -> None:
        if (timer := self._timers.pop(uri, None)) is not None:
            timer.cancel()
        self._timers[uri] = asyncio.get_running_loop().call_later(seconds, self._begin, uri)

    def _begin(self, uri: str) -> None:
        del self._timers[uri]
        self._session.spawn(self._look(uri))

    async def look(self, uri: str) -> None:
        """Look now, and return when it is done."""
        if (timer := self._timers.pop(uri, None)) is not None:
            timer.cancel()
        await self._look(uri)

    async def _look(self, uri: str) -> None:
        session = self._session
        async with self._turn:
            document = session.snapshot.documents.get(uri)
            if document is None or document.path is None:
                return
            saved = await session.background.run(_as_on_disk, document)
            if session.snapshot.documents.get(uri) is not document:
                return  # edited meanwhile: the next look is due
            unsaved = session.snapshot.unsaved - {uri} if saved else session.snapshot.unsaved | {uri}
            session.snapshot = replace(session.snapshot, unsaved=unsaved)
            view = session.snapshot.views.get(uri)
            if not saved or view is None or document.path.suffix == ".py" or view.document is not document:
                return  # a rewrite starts from what is saved: until then nothing can be tried
            kept = session.snapshot.possible.get(uri)
            if kept is not None and kept.version == document.version and view.index.derived(_Looked, _Looked).done:
                return
            await self._find(uri, view)

    async def _find(self, uri: str, view: FileView) -> None:
        session, document = self._session, view.document
        settings = session.snapshot.settings_for(document.path)
        allow = () if settings is None else settings.rewrite.allow
        request = await session.background.run(_request, view, allow)
        try:
            done = await own_process.run(["-P", "-m", "optimas_lsp.server.possible"], request, SECONDS)
            if done.status != 0:
                logger.warning("which transformations apply to %s was not found out: %s", uri, done.complaint)
                return
            found = Possible.of_json(document.version, done.output)
        except (OptimasError, ValueError) as error:
            logger.warning("which transformations apply to %s was not found out: %s", uri, error)
            return
        if session.snapshot.documents.get(uri) is document:
            view.index.derived(_Looked, _Looked).done = True
            session.snapshot = replace(session.snapshot, possible=frozen({**session.snapshot.possible, uri: found}))


class _Looked:
    """Whether the transformations of one report's kernels were looked for."""

    done = False


def _as_on_disk(document: Document) -> bool:
    from optimas_lsp.server.orders import saved_text

    if document.path is None:
        return False
    try:
        saved_text(document.path, document)
    except OptimasError:
        return False
    return True


def _request(view: FileView, allow: tuple[str, ...]) -> bytes:
    kernels = sorted(view.index.kernels, key=lambda kernel: -(kernel.share or 0.0))[:KERNELS]
    asked: dict[str, Any] = {
        "path": str(view.index.path),
        "text": view.document.text.text,
        "allow": list(allow),
        "capability": view.index.report.loaded.capability,
        "kernels": [_of_today(view, kernel).model_dump(mode="json", by_alias=True) for kernel in kernels],
    }
    return json.dumps(asked).encode()


def _of_today(view: FileView, kernel: KernelAnalysis) -> KernelAnalysis:
    """The kernel with its evidence at today's lines; evidence on changed lines is left out."""
    evidence = [moved for each in kernel.evidence if (moved := _moved(view, each)) is not None]
    return kernel.model_copy(update={"lines": (), "evidence": tuple(evidence)})


def _moved(view: FileView, evidence: Evidence) -> Evidence | None:
    if not view.stale:
        return evidence
    names, today = view.index.names, view.anchors.today

    def there(place: Location) -> Location | None:
        if place.file not in names:
            return place
        line = today(place.line)
        return None if line is None else place.model_copy(update={"line": line})

    def all_there(places: tuple[Location, ...]) -> tuple[Location, ...]:
        return tuple(found for place in places if (found := there(place)) is not None)

    location = None if evidence.location is None else there(evidence.location)
    if evidence.location is not None and location is None:
        return None
    causes = evidence.causes and tuple(
        cause if cause.file not in names else cause.model_copy(update={"line": today(cause.line) or 0})
        for cause in evidence.causes
    )
    return evidence.model_copy(
        update={
            "location": location,
            "shown": None if evidence.shown is None else there(evidence.shown),
            "inlined_at": all_there(evidence.inlined_at),
            "waits": all_there(evidence.waits),
            "causes": causes,
        }
    )
