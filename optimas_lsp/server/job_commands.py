"""The commands that ask for rewrites and deal with them: each checks its arguments and answers with plain data."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pygls.exceptions import JsonRpcInvalidParams

from optimas_lsp.profile.regular import read_regular
from optimas_lsp.server import own_process, rule_pages
from optimas_lsp.server.applying import Applier
from optimas_lsp.server.features.jobs import described, listing, offered
from optimas_lsp.server.features.offers import claim
from optimas_lsp.server.features.outcome import diff_of, outcome_text
from optimas_lsp.server.hardening import token_of_request
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.orders import NoReportError, Target, rewrite_order, target
from optimas_lsp.server.outcome_page import NO_PAGE
from optimas_lsp.server.regions import standing, todays_edits
from optimas_lsp.source.text import SourceText

if TYPE_CHECKING:
    from optimas_lsp.server.job import Job
    from optimas_lsp.server.rewrites import Order, Rewrites
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.workspace import Workspace

logger = logging.getLogger(__name__)

SCHEMA = "optimas.outcome/1"

OUTCOME_LIMIT = 256 * 1024 * 1024
"""Bytes of the largest kept outcome that is read."""

REFUSALS = ("rejected", "reverted")
"""Not wanted; applied and taken back."""

REASONS = ("Hard to read or to keep", "Wrong for how it is used", "Not worth the change", "Another reason")
"""What a user may answer when a client asks why; a command with a text says more."""


class JobCommands:
    """The commands of one session that concern jobs. Each takes the list of arguments the client sent."""

    def __init__(self, session: Session, workspace: Workspace) -> None:
        self._session = session
        self._workspace = workspace
        self._applier = Applier(session)
        self._rewrites_watched = False

    async def rewrites(self) -> Rewrites:
        """The queue, once the server is ready."""
        await self._session.ready.wait()
        rewrites = self._session.rewrites
        if rewrites is None:
            raise JobError("the server is not ready", remedy="try again")
        if not self._rewrites_watched:
            self._rewrites_watched = True
            rewrites.on_end.append(self._announce)
        return rewrites

    # -- asking for a rewrite -----------------------------------------------------------------------------------------

    async def optimize_kernel(self, arguments: list[Any]) -> dict[str, Any]:
        """Rewrite a kernel: a file's URI and a mangled name (none: the costliest of the file)."""
        uri, mangled = words(arguments, "a file's URI", least=1, most=2)
        return await self._rewrite(await self.target(uri, mangled))

    async def optimize_finding(self, arguments: list[Any]) -> dict[str, Any]:
        """Rewrite for one finding: a file's URI and the finding's id."""
        uri, finding = words(arguments, "a file's URI and the id of a finding", least=2, most=2)
        return await self._rewrite(await self.target(uri, None, finding))

    async def try_transformation(self, arguments: list[Any]) -> dict[str, Any] | None:
        """Try a transformation: a file's URI, a mangled name, the transformation (none: the user chooses)."""
        uri, mangled, wish = words(arguments, "a file's URI and a mangled name", least=2, most=3)
        about = await self.target(uri, mangled)
        if wish is None:
            possible = self._session.snapshot.possible.get(uri or "")
            names = [] if possible is None else [each.name for each in possible.of(about.kernel.mangled)]
            if not names:
                raise JobError(f"no transformation of the catalogue is known to apply to {about.kernel.base_name}",
                               where=about.path, remedy="optimas.explain says why")  # fmt: skip
            wish = await self._session.editor.ask("Which transformation should be tried?", names)
            if wish is None:
                return None
        return await self._rewrite(about, wish)

    async def target(self, uri: str | None, mangled: str | None = None, finding: str | None = None) -> Target:
        """What a command points at, once the reports are known."""
        session = self._session
        await session.ready.wait()
        try:
            return target(session.snapshot, uri or "", mangled, finding)
        except NoReportError as error:
            if session.settled and not self._workspace.looking:
                raise
            raise JobError("the reports are still being read", where=error.where,
                           remedy="try again in a moment") from None  # fmt: skip

    async def _rewrite(self, about: Target, transformation: str = "") -> dict[str, Any]:
        return await self.run(await rewrite_order(self._session, self._workspace, about, transformation))

    async def run(self, order: Order) -> dict[str, Any]:
        """Queue a job. With a token for progress it is waited for, and ends when the request is cancelled."""
        from dataclasses import replace

        rewrites, token = await self.rewrites(), token_of_request()
        job = await rewrites.submit(order if token is None else replace(order, token=token))
        if token is not None:
            job = await rewrites.ended(job.id)
        return self._described(job.id)

    def _described(self, identifier: str) -> dict[str, Any]:
        snapshot = self._session.snapshot
        return described(snapshot, snapshot.jobs[identifier])

    # -- dealing with jobs --------------------------------------------------------------------------------------------

    async def jobs(self, arguments: list[Any]) -> dict[str, Any]:
        """Every job."""
        del arguments
        await self.rewrites()
        return listing(self._session.snapshot)

    async def cancel(self, arguments: list[Any]) -> dict[str, Any]:
        """End a job: its id."""
        (identifier,) = words(arguments, "the id of a job", least=1, most=1)
        rewrites = await self.rewrites()
        rewrites.cancel(identifier or "")
        return self._described(identifier or "")

    async def forget(self, arguments: list[Any]) -> None:
        """Remove a job that is over: its id."""
        (identifier,) = words(arguments, "the id of a job", least=1, most=1)
        await (await self.rewrites()).forget(identifier or "")

    async def apply(self, arguments: list[Any]) -> dict[str, Any]:
        """Apply an outcome: a job's id. What became of it is also said to the user."""
        (identifier,) = words(arguments, "the id of a job", least=1, most=1)
        await self.rewrites()
        applied = await self._applier.apply(identifier or "")
        self._session.editor.tell(applied.sentence, "info" if applied.applied else "warning")
        return {"applied": applied.applied, "sentence": applied.sentence}

    async def refuse(self, arguments: list[Any]) -> dict[str, Any]:
        """Keep that a rewrite was not wanted, or was taken back: a job's id, why, and ``rejected`` or ``reverted``.

        Without a reason the user is asked for one; no answer keeps nothing.
        """
        identifier, reason, kind = words(arguments, "a job's id, and why its rewrite is not wanted", least=1, most=3)
        if kind not in (None, *REFUSALS):
            raise JobError(f"a refusal is one of {', '.join(REFUSALS)}", remedy="give one of them, or none")
        rewrites = await self.rewrites()
        job = rewrites.get(identifier or "")
        outcome = rewrites.store.outcome_path(job)
        if job.kind != "rewrite" or job.state != "done":
            raise JobError(f"{job.title} has no rewrite that could be refused", remedy="optimas.jobs lists the jobs")
        editor = self._session.editor
        if reason is None:
            if not editor.client.ask:
                raise JobError("this editor cannot ask why", remedy="give the reason as the second argument")
            reason = await editor.ask(f"Why do you not want this? {job.title}", REASONS)
            if reason is None:
                return {"refused": False, "sentence": "nothing was kept"}
        command = ["-P", "-m", "optimas_lsp.server.refusal", str(outcome), kind or REFUSALS[0]]
        done = await own_process.run(command, (reason or "").encode("utf-8", "replace"))
        if done.status != 0:
            raise JobError(f"this cannot be kept: {done.complaint}", remedy="optimas corpus reject does the same")
        sentence = f"{job.title}: refused, later rewrites will know"
        editor.tell(sentence)
        return {"refused": True, "sentence": sentence}

    # -- outcomes -----------------------------------------------------------------------------------------------------

    async def outcome(self, arguments: list[Any]) -> dict[str, Any]:
        """What became of a job: its id."""
        (identifier,) = words(arguments, "the id of a job", least=1, most=1)
        rewrites = await self.rewrites()
        job = rewrites.get(identifier or "")
        found = rewrites.unkept.get(job.id)
        if found is None:
            found = await self._session.background.run(kept_outcome, rewrites.store.outcome_path(job))
        page = None if not found or job.kind != "rewrite" else await self._page(rewrites.store.outcome_path(job))
        return {
            "schema": SCHEMA,
            "job": self._described(job.id),
            "text": outcome_text(job.title, found or {"sentence": job.sentence}),
            "diff": diff_of(found),
            "edited": self._edited(job),
            "html": None if page is None else str(page),
            "json": None if not found else str(rewrites.store.outcome_path(job)),
        }

    async def open_outcome(self, arguments: list[Any]) -> dict[str, Any]:
        """The same, and shows it: the page outside of the editor where there is one, else the text."""
        answer = await self.outcome(arguments)
        editor = self._session.editor
        if answer["html"] is not None and await editor.open(Path(answer["html"]), external=True):
            return answer
        text = await self._session.background.run(rule_pages.text_file, answer["text"])
        if text is None or not await editor.open(text):
            where = answer["html"] or text
            editor.tell(f"The outcome is at {where}." if where else answer["job"]["sentence"])
        return answer

    def _edited(self, job: Job) -> str | None:
        """The open text with the rewrite in it, when it fits."""
        document = next((each for each in self._session.snapshot.documents.values() if each.path == job.path), None)
        if document is None or not job.edits:
            return None
        stands = standing(document.text, job.blocks, tuple(each.first for each in job.blocks))
        if stands.fit != "before":
            return None
        lines = list(map("".join, zip(document.text.lines, document.text.ends, strict=True)))
        for edit in sorted(todays_edits(job.blocks, stands.firsts, job.edits), key=lambda each: -each.first):
            lines[edit.first - 1 : edit.first - 1 + len(edit.before)] = edit.after
        return SourceText.of("".join(lines)).text

    async def _page(self, outcome: Path) -> Path | None:
        page = rule_pages.folder() / "outcomes" / f"{outcome.name.partition('.')[0]}.html"
        done = await own_process.run(["-P", "-m", "optimas_lsp.server.outcome_page", str(outcome), str(page)])
        if done.status not in (0, NO_PAGE):
            logger.warning("the page about %s could not be made: %s", outcome, done.complaint)
        return page if done.status == 0 else None

    def _announce(self, job: Job) -> None:
        """Say how a job ended, once, unless the client does."""
        editor = self._session.editor
        if not editor.announce or job.state == "cancelled":
            return
        name = f"{job.title}: "
        if job.state != "done":
            editor.tell(name + job.sentence, "warning")
        elif offered(self._session.snapshot, job):
            editor.tell(
                f"{name}{claim(job)}. Apply it with the code action on the kernel; optimas.openOutcome shows it."
            )
        else:
            editor.tell(name + job.sentence)


def words(arguments: list[Any], what: str, *, least: int, most: int) -> list[str | None]:
    """The arguments as texts, with None for what was left out; raises JsonRpcInvalidParams."""
    given = [*arguments[:most], *[None] * (most - len(arguments))]
    for at, each in enumerate(given):
        if not isinstance(each, str) and (each is not None or at < least):
            raise JsonRpcInvalidParams(f"the arguments must be {what}, and texts")
    return given


def kept_outcome(path: Path) -> dict[str, Any]:
    """The outcome as it was kept; empty where there is none, or none that can be read."""
    try:
        found: object = json.loads(read_regular(path, OUTCOME_LIMIT))
    except OSError:
        return {}
    except (ValueError, RecursionError) as error:
        logger.warning("an outcome is not readable: %s: %s", path, error)
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
