"""What the commands about rewrites share: the program's folder, its settings, the kernel that is meant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from optimas_lsp.cli.reading import Reader
from optimas_lsp.config import Settings
from optimas_lsp.course.program import Program as Plain
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.choice import Changeable, changeable
from optimas_lsp.rewrite.prompt_files import Files
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.source.paths import PathMapper


@dataclass(frozen=True)
class Program:
    """A program as ``course.Program``, whose reports are read with progress on a terminal."""

    plain: Plain
    reader: Reader

    @classmethod
    def of(cls, source: Path, folder: Path | None = None) -> Program:
        """See ``course.Program.of``."""
        plain = Plain.of(source, folder, open_=open_report)
        return cls(plain, Reader.of(sources=[plain.folder]))

    @property
    def source(self) -> Path:
        """The source file."""
        return self.plain.source

    @property
    def folder(self) -> Path:
        """The program's folder."""
        return self.plain.folder

    @property
    def settings(self) -> Settings:
        """The program's settings."""
        return self.plain.settings

    def subject(self, report: Path, kernel: str) -> Subject:
        """The kernel that the regular expression ``kernel`` means, with its evidence; reads the report."""
        return self.plain.subject(report, kernel)

    def about(self, report: Path, kernel: str) -> About:
        """What the report says of the source; reads it. With ``kernel``, a regular expression, of that kernel only.

        Raises SourceError for a source that is about none of the kernels, and what reading a report raises.
        """
        if kernel:
            subject = self.subject(report, kernel)
            profile, kernels = subject.profile, (subject.kernel,)
        else:
            reading = replace(self.reader, keep_all=True).read(report)
            profile, kernels = reading.profile, reading.analysis.kernels
        mapper = PathMapper([self.folder], self.settings.path_maps)
        found = changeable(
            profile,
            kernels,
            source=self.source,
            files=Files([self.folder]),
            resolve=lambda source: mapper.resolve(source).path,
        )
        ids = frozenset(evidence.id for each in kernels for evidence in each.evidence)
        return About(profile, ids, found)


@dataclass(frozen=True)
class About:
    """The profile, the ids of its kernels' evidence, and what may change in the source for which kernel."""

    profile: Profile
    evidence: frozenset[str]
    changeable: tuple[Changeable, ...]

    @property
    def functions(self) -> list[str]:
        """Names of all functions that may change."""
        return list(dict.fromkeys(name for each in self.changeable for name in each.functions))


def open_report(report: Path, settings: Settings) -> Profile:
    """The profile in ``report``, with progress on a terminal; raises ReportError or WorkerError."""
    return Reader(settings, None, None, keep_all=False).open(report)
