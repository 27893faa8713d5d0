"""The commands that explain, compare, profile and mark as known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.errors import OptimasError
from optimas_lsp.server import known, own_process, rule_pages
from optimas_lsp.server.features import commands
from optimas_lsp.server.features.explanation import explanation
from optimas_lsp.server.job_commands import JobCommands, words
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.orders import rewrite_order
from optimas_lsp.server.profile_orders import plan, profile_order

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence
    from optimas_lsp.server.orders import Target
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.views import Finding, OpenReport
    from optimas_lsp.server.workspace import Workspace

MOST_RULES = 4
"""Rules of a kernel's evidence about which past attempts are asked, the heaviest first."""


class ReadingCommands:
    """The commands of one session about findings and profiles. Each takes the list of arguments the client sent."""

    def __init__(self, session: Session, workspace: Workspace, jobs: JobCommands) -> None:
        self._session = session
        self._workspace = workspace
        self._jobs = jobs

    async def explain(self, arguments: list[Any]) -> str:
        """What a finding or a kernel means and what could be done: a file's URI, and an id or a mangled name."""
        uri, what = words(arguments, "a file's URI, and the id of a finding or a mangled name", least=2, most=2)
        snapshot = self._session.snapshot
        about = await self._jobs.target(uri)
        finding = next((each for kernel in about.index.kernels for each in kernel.evidence if each.id == what), None)
        if finding is not None:
            about = await self._jobs.target(uri, None, what)
            text = commands.finding_text(snapshot, what or "", uri)
        else:
            about = await self._jobs.target(uri, what)
            text = commands.kernel_text(snapshot, uri, what or "")
        if self._workspace.looking_ahead is not None:
            await self._workspace.looking_ahead.look(uri or "")
        possible = self._session.snapshot.possible.get(uri or "")
        past = await self._past(about, finding)
        more = await self._session.background.run(explanation, about.kernel, finding, possible, past)
        return await self.show(f"{text}\n\n{more}".rstrip() + "\n")

    async def _past(self, about: Target, finding: Evidence | None) -> tuple[str, ...]:
        """What past attempts say about the finding's rule, or about the kernel's heaviest; nothing if that fails."""
        settings = await self._workspace.settings_of(about.path.parent, about.folder)
        if not settings.corpus.enable:
            return ()
        ordered = [finding] if finding is not None else sorted(about.kernel.evidence, key=lambda each: -each.share)
        rules = list(dict.fromkeys(each.rule for each in ordered))[:MOST_RULES]
        try:
            done = await own_process.run(["-P", "-m", "optimas_lsp.server.past"], "\n".join(rules).encode())
        except OptimasError:  # it took too long; the rest is explained without
            return ()
        return tuple(json.loads(done.output)) if done.status == 0 else ()

    async def show_prompt(self, arguments: list[Any]) -> str:
        """What a model would be asked: a file's URI, a mangled name, the id of a finding or none."""
        uri, mangled, finding = words(arguments, "a file's URI and a mangled name", least=2, most=3)
        about = await self._jobs.target(uri, mangled, finding)
        order = await rewrite_order(self._session, self._workspace, about)
        done = await own_process.run(["-P", "-m", "optimas_lsp.server.prompt_text"], order.request)
        if done.status != 0:
            raise JobError(f"the prompt cannot be written: {done.complaint}", remedy="reload the reports")
        return await self.show(done.output.decode("utf-8", "replace"), ".txt")  # word for word, not as Markdown

    async def profile_kernel(self, arguments: list[Any]) -> dict[str, Any] | str:
        """Profile a kernel after consent, or show the commands: a file's URI and a mangled name."""
        uri, mangled = words(arguments, "a file's URI and a mangled name", least=1, most=2)
        about = await self._jobs.target(uri, mangled)
        wanted = await self._session.background.run(plan, about)
        if wanted.hindrance:
            return await self.show(wanted.text(about.kernel.base_name))
        settings = await self._workspace.settings_of(wanted.folder, about.folder)
        return await self._jobs.run(profile_order(about, wanted, settings))

    async def compare(self, arguments: list[Any]) -> str:
        """Compare the report a file shows with the one before it: a file's URI. Answers with the text."""
        (uri,) = words(arguments, "a file's URI", least=1, most=1)
        about = await self._jobs.target(uri)
        before = await self._session.background.run(_previous, self._session, about.path, about.report)
        pair = [str(before), str(about.report.path), "--source", str(about.folder)]
        text = await self._compared(*pair)
        page = rule_pages.folder() / "reports" / f"compare-{about.kernel.base_name}.html"
        await self._session.background.run(_make, page.parent)
        await self._compared(*pair, "--format", "html", "--output", str(page))
        if not await self._session.editor.open(page, external=True):
            self._session.editor.tell(f"The comparison is at {page}: open it in a browser.")
        return text

    async def _compared(self, *arguments: str) -> str:
        done = await own_process.run(own_process.command_line("compare", *arguments))
        if done.status != 0:
            raise JobError(f"the reports cannot be compared: {done.complaint}", remedy="reload the reports")
        return done.output.decode("utf-8", "replace")

    # -- known findings -----------------------------------------------------------------------------------------------

    async def mark(self, arguments: list[Any]) -> dict[str, Any]:
        """Mark a finding as known: a file's URI and the finding's id."""
        uri, identifier = words(arguments, "a file's URI and the id of a finding", least=2, most=2)
        return await self._mark(uri, identifier, mark=True)

    async def unmark(self, arguments: list[Any]) -> dict[str, Any]:
        """Undo that: a file's URI, and the finding's id or none for all of the file."""
        uri, identifier = words(arguments, "a file's URI", least=1, most=2)
        return await self._mark(uri, identifier, mark=False)

    async def _mark(self, uri: str | None, identifier: str | None, *, mark: bool) -> dict[str, Any]:
        about, session = await self._jobs.target(uri), self._session
        meant = [each for each in about.index.findings if identifier in (None, each.evidence.id)]
        if not meant:
            raise JobError(f"there is no finding '{identifier}' in this file", where=about.path,
                           remedy="reload the reports")  # fmt: skip
        keys = {_known(each, about.index) for each in meant}
        more = keys if mark else frozenset[known.Known]()

        def gone(each: known.Known) -> bool:  # of the whole file also those of findings that this report does not have
            return not mark and (each in keys or (identifier is None and each.path == str(about.path)))

        try:
            await session.background.run(known.change, about.folder, more, gone)
            for folder in session.snapshot.folders if not mark else ():  # one folder may lie in another
                if folder.path != about.folder and about.path.is_relative_to(folder.path):
                    await session.background.run(known.change, folder.path, more, gone)
        except OSError as error:
            raise JobError(f"this cannot be kept: {error.strerror}", remedy="set OPTIMAS_STATE_DIR") from None
        kept = frozenset(each for each in session.snapshot.known if not gone(each)) | more
        session.snapshot = replace(session.snapshot, known=kept)
        session.show_all_again()
        return {"known": len(session.snapshot.known_in(about.index))}

    async def show(self, text: str, suffix: str = ".md") -> str:
        """Show a text as a document where the client can, else say where it is; the text is the answer."""
        path = await self._session.background.run(rule_pages.text_file, text, suffix)
        if path is None or not await self._session.editor.open(path):
            self._session.editor.tell(f"The text is at {path}." if path is not None else text)
        return text


def _known(finding: Finding, index: Any) -> known.Known:
    return known.Known(*finding.key(index))


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _previous(session: Session, path: Path, shown: OpenReport) -> Path:
    """The report about ``path`` before ``shown``: an older file, or what the cache has of the file's former content.

    Raises JobError when there is none.
    """
    older = session.snapshot.earlier_report(path, shown)
    if older is not None:
        return older.path
    for digest in reversed(session.loader.former.get(shown.path, [])):
        found = sorted(rule_pages.folder().glob(f"{digest}-*.optimas.json.zst"), key=lambda each: each.stat().st_mtime)
        if found and digest != shown.loaded.analysis.report.sha256:
            return found[-1]
    raise JobError(
        "there is no earlier report about this file",
        where=path,
        remedy="keep the report from before in the folder, under another name",
    )
