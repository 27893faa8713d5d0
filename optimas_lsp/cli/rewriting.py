"""What the commands about rewrites share: the program's folder, its settings, the kernel that is meant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.cli.reading import Reader
from optimas_lsp.config import Settings
from optimas_lsp.course.program import Program as Plain
from optimas_lsp.profile.model import Profile
from optimas_lsp.rewrite.prompt_writer import Subject


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


def open_report(report: Path, settings: Settings) -> Profile:
    """The profile in ``report``, with progress on a terminal; raises ReportError or WorkerError."""
    return Reader(settings, None, None, keep_all=False).open(report)
