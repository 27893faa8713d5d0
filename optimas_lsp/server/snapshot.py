"""The immutable state that features answer from: one snapshot never changes under a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from optimas_lsp.server.client import Client
from optimas_lsp.server.documents import Document
from optimas_lsp.server.views import FileIndex, FileView, Finding, OpenReport

if TYPE_CHECKING:
    from optimas_lsp.config import Settings
    from optimas_lsp.server.job import Job
    from optimas_lsp.server.known import Known
    from optimas_lsp.server.possible import Possible
    from optimas_lsp.server.regions import Standing

Key = TypeVar("Key")
Value = TypeVar("Value")


def frozen(mapping: Mapping[Key, Value]) -> Mapping[Key, Value]:
    """A copy that cannot be changed."""
    return MappingProxyType(dict(mapping))


@dataclass(frozen=True, slots=True)
class Folder:
    """A workspace folder and the settings that hold in it (None until they are known).

    ``implied`` folders are those of files opened without any workspace.
    """

    uri: str
    path: Path
    settings: Settings | None = None
    implied: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class RulePages:
    """The URI of the page about each rule."""

    by_rule: Mapping[str, str] = field(default_factory=lambda: frozen({}))


@dataclass(frozen=True, slots=True)
class JobView:
    """A job, how its lines stand in the open text (None: its file is not open), and whether another server runs it."""

    job: Job
    standing: Standing | None = None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a feature may look at. ``views`` holds the open documents that a report concerns.

    ``hidden`` are the URIs whose findings the user does not want to see, ``all_hidden`` hides every file's.
    ``preferred`` is the report the user chose to look at. ``settings`` holds outside every folder; None until the
    configuration is known. ``jobs`` are the rewrites asked for, by id, ``queue`` the ids of those that wait, in order.
    ``unsaved`` are the open documents that differ from what is on disk. ``possible`` says which transformations apply
    to the kernels of a document, and to which version of it. ``known`` are the findings marked as known.
    """

    client: Client = field(default_factory=Client)
    settings: Settings | None = None
    folders: tuple[Folder, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=lambda: frozen({}))
    views: Mapping[str, FileView] = field(default_factory=lambda: frozen({}))
    reports: Mapping[Path, OpenReport] = field(default_factory=lambda: frozen({}))
    failures: Mapping[Path, str] = field(default_factory=lambda: frozen({}))
    hidden: frozenset[str] = frozenset()
    all_hidden: bool = False
    preferred: Path | None = None
    rule_pages: RulePages = field(default_factory=RulePages)
    jobs: Mapping[str, JobView] = field(default_factory=lambda: frozen({}))
    queue: tuple[str, ...] = ()
    unsaved: frozenset[str] = frozenset()
    possible: Mapping[str, Possible] = field(default_factory=lambda: frozen({}))
    known: frozenset[Known] = frozenset()

    def view(self, uri: str) -> FileView | None:
        """What is shown in a document, None when no report concerns it or its findings are hidden."""
        if self.all_hidden or uri in self.hidden:
            return None
        return self.views.get(uri)

    def known_in(self, index: FileIndex) -> frozenset[Finding]:
        """The findings of a file that were marked as known."""
        if not self.known:
            return frozenset()
        known = self.known
        return index.derived(("known", known), lambda: frozenset(e for e in index.findings if e.key(index) in known))

    def settings_for(self, path: Path | None) -> Settings | None:
        """The settings of the innermost folder that holds ``path``."""
        best: Folder | None = None
        for folder in self.folders:
            inside = path is not None and path.is_relative_to(folder.path)
            if inside and (best is None or len(folder.path.parts) > len(best.path.parts)):
                best = folder
        return self.settings if best is None or best.settings is None else best.settings

    def reports_for(self, path: Path) -> list[OpenReport]:
        """The open reports that concern the file at ``path``, newest first."""
        found = [report for report in self.reports.values() if report.match(path) is not None]
        return sorted(found, key=lambda report: (-report.stamp.modified_ns, str(report.path)))

    def earlier_report(self, path: Path, shown: OpenReport) -> OpenReport | None:
        """The newest report about the file at ``path`` that is older than ``shown``; if possible one with samples."""
        older = [each for each in self.reports_for(path) if each.stamp.modified_ns < shown.stamp.modified_ns]
        return next((each for each in older if each.sampled), older[0] if older else None)

    def report_for(self, path: Path) -> OpenReport | None:
        """The report to show in the file at ``path``: the chosen one, else the one in the settings, else the newest.

        Of those nobody named, one without samples never hides one that has some.
        """
        found = self.reports_for(path)
        for report in found:
            if report.path == self.preferred:
                return report
        settings = self.settings_for(path)
        use = settings.profiles.use if settings is not None else ""
        for report in found if use else ():
            if report.path.as_posix() == use or report.path.as_posix().endswith("/" + use):
                return report
        return next((report for report in found if report.sampled), found[0] if found else None)

    def shown_reports(self) -> set[Path]:
        """The reports whose findings are on lines: each mapped file's choice; with no file here, the newest."""
        files = {
            match.path for report in self.reports.values() for match in report.loaded.matches if match.path is not None
        }
        shown = {report.path for path in files if (report := self.report_for(path)) is not None}
        if not shown and self.reports:
            newest = max(self.reports.values(), key=lambda report: (report.stamp.modified_ns, str(report.path)))
            shown.add(newest.path)
        return shown
