"""What the commands about rewrites share: the program's folder, its settings, the kernel that is meant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.cli.reading import Reader
from optimas_lsp.config import FILE_NAME, Settings
from optimas_lsp.errors import SourceError
from optimas_lsp.rewrite.choice import choose
from optimas_lsp.rewrite.prompt_files import Files
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.source.paths import PathMapper


@dataclass(frozen=True)
class Program:
    """A source file and the folder of the program it belongs to; both absolute."""

    source: Path
    folder: Path
    reader: Reader

    @classmethod
    def of(cls, source: Path, folder: Path | None = None) -> Program:
        """The program of ``source``: in ``folder``, else the nearest folder with an ``optimas.toml``, else its own.

        Raises SourceError when there is no such file, or when it is not in the folder, and ConfigError for wrong
        settings.
        """
        if not source.is_file():
            raise SourceError("there is no such file", where=source, remedy="give the file that defines the kernel")
        here = source.absolute()
        home = folder.absolute() if folder is not None else _home(here)
        if not here.resolve().is_relative_to(home.resolve()):
            raise SourceError("this is not in the program's folder", where=source, remedy="give another --folder")
        return cls(here, home, Reader.of(sources=[home]))

    @property
    def settings(self) -> Settings:
        """The program's settings."""
        return self.reader.settings

    def subject(self, report: Path, kernel: str) -> Subject:
        """The kernel that the regular expression ``kernel`` means, with its evidence; reads the report."""
        profile = self.reader.open(report)
        mapper = self.reader.mapper or PathMapper([self.folder])
        return choose(
            profile,
            self.settings,
            report=report,
            source=self.source,
            files=Files([self.folder]),
            resolve=mapper.path_of,
            pattern=kernel,
        )


def _home(source: Path) -> Path:
    return next((folder for folder in source.parents if (folder / FILE_NAME).is_file()), source.parent)
