"""The workspace's files as a prompt reads them: inside its folders only, each once, no library."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optimas_lsp.insight.locate import is_library
from optimas_lsp.source.syntax import Syntax, language_of, parse
from optimas_lsp.source.text import SourceText, decode

Read = Callable[[Path], SourceText | None]

MOST_FILES = 40
"""Files read beside the kernel's own."""

MOST_BYTES = 2 * 1024 * 1024

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Unit:
    """One file of the workspace; ``name`` is what the prompt calls it."""

    path: Path
    name: str
    syntax: Syntax


def read_file(path: Path) -> SourceText | None:
    """The text of a file, None where it cannot be read or is larger than any source."""
    try:
        return SourceText.of(decode(path.read_bytes()).text) if path.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None


@dataclass
class Files:
    """The workspace's files as units, each read once. ``folders`` bound what may be read."""

    folders: Sequence[Path]
    read: Read = read_file
    _known: dict[str, Unit | None] = field(default_factory=dict[str, "Unit | None"])

    def unit(self, path: Path) -> Unit | None:
        """The file, or None: outside of the workspace, a library's, unreadable, no GPU source, or one too many."""
        real = os.path.realpath(path)
        if real not in self._known:
            self._known[real] = self._open(path, real) if len(self._known) <= MOST_FILES else None
        return self._known[real]

    def _open(self, path: Path, real: str) -> Unit | None:
        language = language_of(path)
        home = next((each for each in map(os.path.realpath, self.folders) if Path(real).is_relative_to(each)), None)
        if language is None or home is None or is_library(real):
            return None
        text = self.read(path)
        name = Path(real).relative_to(home).as_posix()
        return None if text is None else Unit(path, name, parse(text, language))

    def included(self, unit: Unit) -> Iterator[Unit]:
        """The files that ``unit`` includes in quotes, from its own folder or the workspace's."""
        for match in _INCLUDE.finditer(unit.syntax.code.data):
            named = os.fsdecode(match.group(1))
            for folder in (unit.path.parent, *self.folders):
                found = self.unit(folder / named) if "\0" not in named else None
                if found is not None:
                    yield found
                    break
