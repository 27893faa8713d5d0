"""Where a kernel is defined: the outermost frames of its inline chains name the file, its embedded text the place."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from optimas_lsp.insight.evidence import Location
from optimas_lsp.insight.locate import Locator
from optimas_lsp.profile.model import Frame, Kernel, Profile

if TYPE_CHECKING:
    from optimas_lsp.source.syntax import Syntax


class Definitions:
    """Finds the definitions of one profile's kernels; every file is parsed at most once."""

    def __init__(self, profile: Profile, locator: Locator) -> None:
        self._files = profile.files
        self._locator = locator
        self._parsed: dict[int, Syntax | None] = {}

    def of(self, kernel: Kernel) -> Location | None:
        """The first line of the kernel's definition, or None where the text is not embedded or names no such kernel."""
        outermost = [chain[-1] for chain in kernel.code.chains if chain and chain[-1].line > 0]
        lines: dict[int, set[int]] = {}
        for frame in outermost:
            if 0 <= frame.file < len(self._files):
                lines.setdefault(frame.file, set()).add(frame.line)
        for file, _ in Counter({file: len(found) for file, found in lines.items()}).most_common():
            syntax = self._syntax(file)
            found = syntax and syntax.kernel(kernel.name, kernel.mangled, tuple(sorted(lines[file])))
            if found:
                return self._locator.location(Frame(file=file, line=found.name_span.first.line, function=found.name))
        return None

    def _syntax(self, file: int) -> Syntax | None:
        if file not in self._parsed:
            from optimas_lsp.source.syntax import language_of, parse
            from optimas_lsp.source.text import SourceText

            source = self._files[file]
            language = language_of(PurePosixPath(source.path.replace("\\", "/")))
            known = source.text is not None and language is not None
            self._parsed[file] = parse(SourceText.of(source.text or ""), language) if known and language else None
        return self._parsed[file]
