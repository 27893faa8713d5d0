"""What is asked of an inference and what it answers, and how source files hang together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.target import Target

BUILD = "optimas-build"
"""The folder, in the copy, that an inferred build writes into."""

SOURCES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c", ".C"})
LARGEST = 1_000_000
"""Bytes; a larger file is not looked at."""

MOST_INCLUDED = 2000
"""Files that are followed from one program."""

_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_MAIN = re.compile(r"^[ \t]*(?:extern\s+\"?C?\"?\s*)?(?:int|auto|void|signed)\s+main\s*\(", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


class NoTargetError(OptimasError):
    """Nothing says how to build and run a program with this kernel; the message says what is needed."""


@dataclass(frozen=True)
class Wanted:
    """The program's folder, the file with the kernel in it, and what the report knows.

    ``process`` is the name of the program that was profiled ('' when unknown), ``capability`` the GPU's, times ten.
    """

    folder: Path
    source: Path
    process: str = ""
    capability: int | None = None

    @classmethod
    def of(cls, folder: Path, source: Path, profile: Profile) -> Wanted:
        """With what the report knows."""
        major, minor = profile.device.compute_capability
        process = next((Path(launch.process).name for launch in profile.launches if launch.process), "")
        return cls(folder, source, process, 10 * major + minor)

    def name(self, path: Path) -> str:
        """A path as people write it: relative to the folder."""
        return Path(os.path.relpath(path, self.folder)).as_posix()


@dataclass(frozen=True)
class Inferred:
    """A target, and one sentence for each thing that was inferred, saying from what; none for a configured one."""

    target: Target
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Built:
    """A program that a build file makes: what to run for it, where it is then, and the sources it is made of."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    binary: str
    sources: tuple[Path, ...]
    folders: tuple[Path, ...] = ()
    "Where its headers are looked for."


@lru_cache(maxsize=512)
def _read(path: Path, _stamp: float) -> str:
    return path.read_text("utf-8", "replace")


def text_of(path: Path) -> str:
    """The text of a file, '' for one that cannot be read or is very large."""
    try:
        now = path.stat()
        return _read(path, now.st_mtime) if now.st_size <= LARGEST else ""
    except OSError:
        return ""


def has_main(path: Path) -> bool:
    """Whether a C, C++ or CUDA file defines ``main``."""
    return _MAIN.search(_NOT_CODE.sub(" ", text_of(path))) is not None


def uses(program: Iterable[Path], wanted: Path, folders: Iterable[Path] = ()) -> bool:
    """Whether ``wanted`` is one of these sources or is included by one of them, directly or not."""
    waiting, seen, goal = [each.resolve() for each in program], set[Path](), wanted.resolve()
    beside = [each.resolve() for each in folders]
    while waiting:
        path = waiting.pop()
        if path == goal:
            return True
        if path in seen or len(seen) >= MOST_INCLUDED:
            continue
        seen.add(path)
        for match in _INCLUDE.finditer(text_of(path)):
            place = next(
                (each / match.group(1) for each in (path.parent, *beside) if (each / match.group(1)).is_file()), None
            )
            if place is not None:
                waiting.append(place.resolve())
    return False


def choose(programs: Iterable[Built], wanted: Wanted) -> tuple[Built | None, str]:
    """The one program to prove with, and a sentence when there are several: the profiled one, else none."""
    fit = [each for each in programs if uses(each.sources, wanted.source, each.folders)]
    if len(fit) > 1:
        profiled = [each for each in fit if wanted.process in {each.name, Path(each.binary).name}]
        if len(profiled) != 1:
            names = ", ".join(sorted(each.name for each in fit))
            return None, f"several programs use {wanted.name(wanted.source)}: {names}"
        return profiled[0], f"of several programs that use it, {profiled[0].name} is the one in the report"
    return (fit[0], "") if fit else (None, "")
