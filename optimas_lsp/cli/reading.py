"""Reading reports for a command: settings, path mapping, progress on the terminal, the kernels asked for."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.config import FILE_NAME, Settings, from_toml
from optimas_lsp.errors import ConfigError, OptimasError, SourceError
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.load import enrichment
from optimas_lsp.insight.locate import is_library
from optimas_lsp.profile.limits import Limits, Progress
from optimas_lsp.profile.model import Note, Profile, SourceFile
from optimas_lsp.profile.regular import read_regular
from optimas_lsp.profile.store import open_profile
from optimas_lsp.source.paths import PathMapper
from optimas_lsp.source.text import decode

LARGEST = 64 * 1024 * 1024
"""Bytes of a source file that is read."""


class KernelError(OptimasError):
    """No kernel of the report is the one that was asked for."""


@dataclass(frozen=True)
class Reading:
    """One report, read and analysed."""

    report: Path
    profile: Profile
    analysis: Analysis
    mapper: PathMapper | None

    def text_of(self, source: SourceFile) -> str | None:
        """The file's text as it was profiled: embedded in the report, else the workspace's file if it is unchanged."""
        return text_of(self.mapper, source)


def text_of(mapper: PathMapper | None, source: SourceFile) -> str | None:
    """What ``Reading.text_of`` gives, where only the ``mapper`` is at hand."""
    if source.text is not None:
        return source.text
    if mapper is None or not source.line_digests:
        return None
    path = mapper.resolve(source).path
    return None if path is None else read_text(path)


@dataclass(frozen=True)
class Reader:
    """How one command reads its reports."""

    settings: Settings
    mapper: PathMapper | None
    kernel: re.Pattern[str] | None
    keep_all: bool

    @classmethod
    def of(cls, *, sources: Sequence[Path] = (), kernel: str = "", keep_all: bool = False) -> Reader:
        """Settings from the ``optimas.toml`` of the source folders (the working folder without any), laid in order.

        Raises SourceError for a folder that is none and ConfigError for wrong settings or a wrong ``kernel`` pattern.
        """
        for folder in sources:
            if not folder.is_dir():
                raise SourceError("this is no folder", where=folder, remedy="give --source the folder of the sources")
        settings = Settings()
        for folder in sources or [Path()]:
            file = folder / FILE_NAME
            if file.is_file():
                settings = from_toml(file, base=settings)
        folders = [folder.absolute() for folder in sources]
        mapper = PathMapper(folders, settings.path_maps, remedy="toml") if sources else None
        return cls(settings, mapper, _pattern(kernel), keep_all)

    def open(self, report: Path) -> Profile:
        """The profile in ``report``, with progress on a terminal; raises ReportError or WorkerError."""
        cancel = threading.Event()
        try:
            with _progress(report) as progress:
                return open_profile(
                    report,
                    limits=Limits.of(self.settings.profiles),
                    enrich=enrichment(),
                    progress=progress,
                    cancel=cancel,
                )
        except KeyboardInterrupt:
            cancel.set()
            raise

    def chosen(self, report: Path) -> Profile:
        """The report's profile; raises KernelError when no kernel is the one asked for."""
        profile = self.open(report)
        pattern = self.kernel
        if pattern is not None and not any(matches(pattern, each.name, each.mangled) for each in profile.kernels):
            names = ", ".join(sorted({each.base_name for each in profile.kernels})) or "none"
            raise KernelError(
                f"no kernel matches --kernel {pattern.pattern}",
                where=report,
                remedy=f"the report's kernels are: {names}",
            )
        return profile

    def read(self, report: Path) -> Reading:
        """The report's profile and analysis; raises KernelError when no kernel is the one asked for."""
        profile, pattern = self.chosen(report), self.kernel
        mapper = self.mapper
        analysis = analyze(
            profile,
            self.settings,
            report_path=report,
            resolve=None if mapper is None else lambda source: mapper.resolve(source).path,
            keep_all=self.keep_all,
            wanted=None if pattern is None else lambda each: matches(pattern, each.name, each.mangled),
        )
        notes = () if mapper is None else tuple(source_notes(profile, mapper))
        return Reading(report, profile, analysis.model_copy(update={"notes": (*analysis.notes, *notes)}), mapper)


def source_notes(profile: Profile, mapper: PathMapper) -> Iterator[Note]:
    """What the reader must know about the folders given: none of the sources is there, or one changed since."""
    found = 0
    for source in profile.files:
        path = mapper.resolve(source).path
        if path is None or is_library(str(path)):
            continue
        found += 1
        text = read_text(path)
        if source.text is not None and text is not None and text.split() != source.text.split():
            yield Note(
                code="changed-since-profiling",
                text=f"{path} changed since it was profiled: line numbers and source lines here are those of the "
                "profiled text",
            )
    if profile.files and not found:
        yield Note(
            code="sources-not-found",
            text="no source file of the report is in the folders given with --source: "
            "optimas doctor --report REPORT --source DIR says why for each",
        )


def read_text(path: Path) -> str | None:
    """The text of a source file here, None when it cannot be read or is larger than any source file."""
    try:
        return decode(read_regular(path, LARGEST)).text
    except OSError:
        return None


def matches(pattern: re.Pattern[str], name: str, mangled: str) -> bool:
    """Whether the pattern occurs in the kernel's demangled or mangled name."""
    return pattern.search(name) is not None or pattern.search(mangled) is not None


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ConfigError(
            f"--kernel {text}: not a regular expression: {error}", remedy="put a backslash before a special character"
        ) from None


@contextmanager
def _progress(report: Path) -> Generator[Progress | None]:
    """A progress bar on standard error while a report is read; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("launches"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"reading {report.name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
