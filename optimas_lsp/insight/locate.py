"""From an inline chain to the source line it is counted on and the line to show it at.

A finding is *located* at the innermost frame that has a line, and *shown* at the innermost frame that the person can
edit: a file that ``resolve`` leads to and that is no library's or, where no workspace is known, that is no library's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from optimas_lsp.insight.evidence import Location
from optimas_lsp.profile.aggregate import Why, is_generated
from optimas_lsp.profile.model import Frame, Kernel, Profile, SourceFile

Resolve = Callable[[SourceFile], Path | None]

_INSTALLED_PARTS = frozenset({"site-packages", "dist-packages"})
_TOOLKIT_PARTS = frozenset({"nvhpc", "cuda", "cccl", "libcudacxx"})
_LIBRARY_PREFIXES = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/cuda", "/opt/nvidia/")


@dataclass(frozen=True)
class Place:
    """Where the instructions of one chain are counted (``location``), through which calls, and where to show them."""

    location: Location
    inlined_at: tuple[Location, ...]
    shown: Location | None


def is_library(path: str) -> bool:
    """Whether a path belongs to a toolkit, a system or an installed Python package, which nobody edits."""
    plain = path.replace("\\", "/")
    parts = PurePosixPath(plain).parts
    return plain.startswith(_LIBRARY_PREFIXES) or any(
        (part.lower() in _TOOLKIT_PARTS and "include" in parts[index:]) or part in _INSTALLED_PARTS
        for index, part in enumerate(parts)
    )


class Locator:
    """Places of one profile's chains; every file is resolved at most once."""

    def __init__(self, profile: Profile, resolve: Resolve | None = None) -> None:
        self._files = profile.files
        self._resolve = resolve
        self._paths: dict[int, Path | None] = {}

    def path(self, file: int) -> Path | None:
        """The workspace file that ``Profile.files[file]`` is, or None."""
        if self._resolve is None or not 0 <= file < len(self._files):
            return None
        if file not in self._paths:
            self._paths[file] = self._resolve(self._files[file])
        return self._paths[file]

    def location(self, frame: Frame) -> Location:
        """The frame in the words of evidence."""
        path = self.path(frame.file)
        return Location(
            file=self._files[frame.file].path if 0 <= frame.file < len(self._files) else "",
            line=frame.line,
            path=None if path is None else str(path),
            function=frame.function,
        )

    def editable(self, frame: Frame) -> bool:
        """Whether the person can change this frame's line."""
        if frame.line <= 0 or not 0 <= frame.file < len(self._files):
            return False
        if self._resolve is None:
            return not is_library(self._files[frame.file].path)
        path = self.path(frame.file)
        return path is not None and not is_library(str(path))

    def place(self, chain: tuple[Frame, ...]) -> Place | Why:
        """Where a chain's samples count, or why they have no line.

        Inner frames without a line (line 0, no file) give way to the first outer frame that has one: the samples are
        that call's.
        """
        for index, frame in enumerate(chain):
            if frame.line > 0 and 0 <= frame.file < len(self._files):
                if is_generated(self._files[frame.file]) and self.path(frame.file) is None:
                    return "generated"
                outer = chain[index:]
                shown = next((each for each in outer if self.editable(each)), None)
                return Place(
                    location=self.location(frame),
                    inlined_at=tuple(self.location(each) for each in outer[1:]),
                    shown=None if shown is None else self.location(shown),
                )
        return "no-file" if any(frame.line > 0 for frame in chain) else "line-0"

    def places(self, kernel: Kernel) -> tuple[tuple[Place | Why, ...], Why]:
        """The place of every chain of ``kernel``, and what an instruction without any chain is to be called."""
        code = kernel.code
        placed: tuple[Place | Why, ...] = tuple(self.place(chain) for chain in code.chains)
        without: Why = "line-0" if any(index >= 0 for index in code.chain) else "no-lineinfo"
        return placed, without
