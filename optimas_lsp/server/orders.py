"""From what a user points at to a job that can be queued: which kernel, which report, which text, which settings."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp.server.documents import Document
from optimas_lsp.server.job import Job
from optimas_lsp.server.job_board import now
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.locations import path_of, same_place
from optimas_lsp.server.regions import Block, region, whole_lines
from optimas_lsp.server.rewrites import Order
from optimas_lsp.server.snapshot import Snapshot
from optimas_lsp.server.views import FileIndex, OpenReport, index
from optimas_lsp.server.wording import one_line

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Evidence, KernelAnalysis
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.workspace import Workspace
    from optimas_lsp.source.text import SourceText

COURSE = "optimas_lsp.course"


class NoReportError(JobError):
    """No report that was read is about the file."""


class NotSavedError(JobError):
    """The editor's text differs from the file, and builds and profiles read the file."""


@dataclass(frozen=True)
class Target:
    """What a command is about: a file, the report that is shown in it, a kernel of that report, maybe one finding."""

    uri: str
    path: Path
    folder: Path
    report: OpenReport
    index: FileIndex
    kernel: KernelAnalysis
    document: Document | None
    finding: Evidence | None = None

    @property
    def pattern(self) -> str:
        """The regular expression that means this kernel alone."""
        return f"^{re.escape(self.kernel.mangled)}$"


def target(snapshot: Snapshot, uri: str, mangled: str | None = None, finding: str | None = None) -> Target:
    """What the arguments of a command mean; without a kernel the costliest. Raises JobError."""
    named = path_of(uri)
    if named is None:
        raise JobError(f"'{uri}' is no file", remedy="ask about a file that is saved on disk")
    path = same_place(named)
    report = snapshot.report_for(path)
    view = snapshot.views.get(uri)
    found = view.index if view is not None else None if report is None else index(report, path)
    if found is None or not found.kernels:
        raise NoReportError("no open report says anything about this file", where=path,
                            remedy="profile the program, or see optimas.whyMapped")  # fmt: skip
    kernels = sorted(found.kernels, key=lambda kernel: -(kernel.share or 0.0))
    evidence = None
    if finding is not None:
        pairs = [(kernel, each) for kernel in kernels for each in kernel.evidence if each.id == finding]
        if not pairs:
            raise JobError(f"there is no finding '{finding}' in this file's report", where=path,
                           remedy="reload the reports")  # fmt: skip
        kernel, evidence = pairs[0]
    else:
        kernel = next((each for each in kernels if mangled in (None, each.mangled)), None)
        if kernel is None:
            raise JobError(f"there is no kernel '{mangled}' in this file's report", where=path,
                           remedy="reload the reports")  # fmt: skip
    inside = [folder.path for folder in snapshot.folders if path.is_relative_to(folder.path)]
    folder = max(inside, key=lambda each: len(each.parts), default=path.parent)
    return Target(uri, path, folder, found.report, found, kernel, snapshot.documents.get(uri), evidence)


async def rewrite_order(session: Session, workspace: Workspace, about: Target, transformation: str = "") -> Order:
    """The job that rewrites what ``about`` points at. Raises JobError, NotSavedError or another OptimasError."""
    home, text, digest, blocks = await session.background.run(_start, about)
    settings = await workspace.settings_of(home, about.folder)
    if transformation and settings.rewrite.backend != "catalogue":
        settings = settings.model_copy(update={"rewrite": settings.rewrite.model_copy(update={"backend": "catalogue"})})
    if settings.rewrite.backend == "manual":
        raise JobError("the backend is 'manual': a person answers, which an editor's job cannot wait for",
                       remedy="use optimas optimize, or choose another rewrite.backend")  # fmt: skip
    finding = "" if about.finding is None else about.finding.id
    request: dict[str, Any] = {
        "source": str(about.path),
        "profile": str(about.report.path),
        "folder": str(home),
        "kernel": about.pattern,
        "settings": settings.model_dump(mode="json", by_alias=True),
        "finding": finding,
        "transformation": transformation,
        "build": settings.jobs.build,
        "prove": settings.jobs.prove,
    }
    job = Job(
        id=new_id(),
        title=_title(about, finding, transformation),
        path=about.path,
        uri=about.uri,
        folder=about.folder,
        report=about.report.path,
        report_sha256=about.report.loaded.analysis.report.sha256,
        kernel=one_line(about.kernel.base_name),
        mangled=about.kernel.mangled,
        finding=finding,
        transformation=transformation,
        backend=settings.rewrite.backend,
        base=digest,
        blocks=blocks,
        created=now(),
    )
    return Order(job, COURSE, json.dumps(request).encode(), settings.jobs.deadline_seconds, text)


def new_id() -> str:
    """A short name for a job."""
    return secrets.token_hex(4)


def _title(about: Target, finding: str, transformation: str) -> str:
    what = f"Try {transformation} on" if transformation else "Optimise"
    return one_line(f"{what} {about.kernel.base_name}") + (f" at {finding}" if finding else "")


def saved_text(path: Path, document: Document | None) -> tuple[SourceText, bytes]:
    """The text and bytes of the file, when the editor shows the same; blocks. Raises NotSavedError, EditError."""
    from optimas_lsp.rewrite.candidate import Encoding

    try:
        data = path.read_bytes()
    except OSError as error:
        raise JobError(f"cannot be read: {error.strerror}", where=path) from None
    text, _ = Encoding.of(data)
    if document is not None and document.text.text.removeprefix("\ufeff") != text.text.removeprefix("\ufeff"):
        raise NotSavedError(
            "the editor's text is not what is on disk, and a rewrite builds what is on disk",
            where=path,
            remedy="save the file first",
        )
    return text, data


def _start(about: Target) -> tuple[Path, SourceText, str, tuple[Block, ...]]:
    """The program's folder, the text the job starts from, its digest, and the lines it is about; blocks."""
    from optimas_lsp.course.program import home_of

    text, data = saved_text(about.path, about.document)
    return home_of(about.path), text, hashlib.sha256(data).hexdigest(), _blocks(about, text)


def _blocks(about: Target, text: SourceText) -> tuple[Block, ...]:
    """The kernel's definition and the functions that its findings, or the one finding, stand in."""
    from optimas_lsp.source.anchors import Measured, align
    from optimas_lsp.source.syntax import language_of, parse

    syntax = parse(text, language_of(about.path) or "cuda")
    anchors = align(Measured.of(about.index.source) or Measured.assume(text), text)
    own = syntax.kernel(about.kernel.name, about.kernel.mangled)
    lines = [] if own is None else [own.first_line]
    if own is None or about.finding is not None:
        wanted = (
            each.line
            for each in about.index.findings
            if each.kernel is about.kernel and about.finding in (None, each.evidence)
        )
        lines += [today for line in wanted if (today := anchors.today(line)) is not None]
    if lines:
        return region(text, syntax, lines)
    return (Block(first=1, before=whole_lines(text, 1, text.line_count + 1)),)
