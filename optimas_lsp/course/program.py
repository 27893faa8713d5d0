"""A source file, the folder of the program it belongs to, its settings and how its reports are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.config import FILE_NAME, Settings, from_toml
from optimas_lsp.errors import SourceError
from optimas_lsp.insight.load import enrichment
from optimas_lsp.profile.limits import Limits
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.store import open_profile
from optimas_lsp.rewrite.choice import choose
from optimas_lsp.rewrite.prompt_files import Files
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.source.paths import PathMapper

Open = Callable[[Path, Settings], Profile]


def open_report(report: Path, settings: Settings) -> Profile:
    """The profile in ``report``; raises ReportError or WorkerError."""
    return open_profile(report, limits=Limits.of(settings.profiles), enrich=enrichment())


@dataclass(frozen=True)
class Program:
    """A source file and the folder of the program it belongs to; both absolute."""

    source: Path
    folder: Path
    settings: Settings
    open: Open = open_report

    @classmethod
    def of(
        cls, source: Path, folder: Path | None = None, *, settings: Settings | None = None, open_: Open = open_report
    ) -> Program:
        """The program of ``source``: in ``folder``, else where ``home_of`` finds it.

        ``settings`` None: those of the folder. Raises SourceError when there is no such file, or when it is not in the
        folder, and ConfigError for wrong settings.
        """
        if source.is_dir():
            raise SourceError("this is a folder", where=source, remedy="give the file in it that defines the kernel")
        if not source.is_file():
            raise SourceError("there is no such file", where=source, remedy="give the file that defines the kernel")
        here = source.absolute()
        home = folder.absolute() if folder is not None else home_of(here)
        if not here.resolve().is_relative_to(home.resolve()):
            raise SourceError("this is not in the program's folder", where=source, remedy="give another --folder")
        toml = home / FILE_NAME
        own = settings if settings is not None else from_toml(toml) if toml.is_file() else Settings()
        return cls(here, home, own, open_)

    def subject(self, report: Path, kernel: str) -> Subject:
        """The kernel that the regular expression ``kernel`` means, with its evidence; reads the report."""
        profile = self.open(report, self.settings)
        mapper = PathMapper([self.folder], self.settings.path_maps)
        return choose(
            profile,
            self.settings,
            report=report,
            source=self.source,
            files=Files([self.folder]),
            resolve=lambda source: mapper.resolve(source).path,
            pattern=kernel,
        )


def home_of(source: Path) -> Path:
    """The nearest folder above ``source`` with an ``optimas.toml``, else one whose build files use it, else its own."""
    from optimas_lsp.prove.inference import root_of

    configured = next((folder for folder in source.parents if (folder / FILE_NAME).is_file()), None)
    return configured or root_of(source) or source.parent
