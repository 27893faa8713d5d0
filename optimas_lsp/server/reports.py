"""Which report files a workspace holds and whether they changed; only looks, never opens one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

MAXIMUM_ENTRIES = 300_000
"""A folder with more entries than this is searched no further; reports deeper inside must be named in the settings."""

MAXIMUM_ALTERNATIVES = 256
"""A pattern's braces may stand for this many patterns."""

_BRACES = re.compile(r"\{([^{}]*)\}")
_STARS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from the next without reading it."""

    modified_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class Search:
    """The reports found in one folder, and whether the search had to stop early."""

    reports: dict[Path, Stamp]
    cut_short: bool = False


def stamp(path: Path) -> Stamp | None:
    """The stamp of a regular file, or None when there is none to read."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def search(folder: Path, patterns: Iterable[str], exclude: Iterable[str]) -> Search:
    """Every report under ``folder`` that one of ``patterns`` names; links to folders are not followed.

    Patterns are relative to the folder, with ``**``, ``*``, ``?`` and ``{a,b}``. An absolute pattern without wildcards
    names one report anywhere.
    """
    wanted = [compile_glob(pattern) for pattern in patterns if not Path(pattern).is_absolute()]
    unwanted = [compile_glob(pattern) for pattern in exclude]
    found: dict[Path, Stamp] = {}
    for pattern in patterns:
        if Path(pattern).is_absolute() and (known := stamp(Path(pattern))):
            found[Path(pattern)] = known
    for seen, relative in enumerate(_walk(folder, unwanted)):
        if seen > MAXIMUM_ENTRIES:
            return Search(found, cut_short=True)
        if any(pattern.fullmatch(relative) for pattern in wanted):
            path = folder / relative
            if known := stamp(path):
                found[path] = known
    return Search(found)


def _walk(folder: Path, unwanted: list[re.Pattern[str]]) -> Iterator[str]:
    """Files below ``folder`` with their path relative to it; folders that cannot be read are passed over."""
    waiting = [""]
    while waiting:
        base = waiting.pop()
        try:
            with os.scandir(folder / base) as entries:
                listed = list(entries)
        except OSError:
            continue
        for entry in listed:
            relative = base + entry.name
            if entry.is_dir(follow_symlinks=False):
                if not any(pattern.fullmatch(relative + "/") for pattern in unwanted):
                    waiting.append(relative + "/")
            elif not any(pattern.fullmatch(relative) for pattern in unwanted):
                yield relative


@lru_cache(maxsize=256)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """The regular expression of one glob pattern, for whole relative paths with forward slashes.

    Every wildcard takes the shortest text that lets what follows it match and is never tried again (atomic groups):
    the earliest match leaves most of the path for the rest, so nothing is missed, and no pattern can make matching
    take long. Braces beyond MAXIMUM_ALTERNATIVES are read literally.
    """
    return re.compile("|".join(f"(?:{_path_regex(each)})" for each in _alternatives(pattern)), re.DOTALL)


def _alternatives(pattern: str) -> list[str]:
    """The patterns that a pattern with ``{a,b}`` stands for; a brace that is never closed is a character."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > MAXIMUM_ALTERNATIVES:
            return [pattern]
        each = waiting.pop()
        braces = _BRACES.search(each)
        if braces is None:
            done.append(each)
        else:
            waiting += [each[: braces.start()] + choice + each[braces.end() :] for choice in braces[1].split(",")]
    return done


def _path_regex(pattern: str) -> str:
    """Folders between one ``**`` and the next are found at the earliest place they fit; the last ones end the path."""
    runs: list[list[str]] = [[]]
    for segment in pattern.split("/"):
        if segment != "**":
            runs[-1].append(_segment_regex(segment))
        elif runs[-1] or len(runs) == 1:
            runs.append([])
    *before, last = ["/".join(run) for run in runs]
    if not before:
        return last
    first, *middle = before
    head = f"(?>{first}/)" if first else ""
    return head + "".join(f"(?>(?:[^/]*/)*?{run}/)" for run in middle) + (f"(?:[^/]*/)*?{last}" if last else ".*")


def _segment_regex(segment: str) -> str:
    """One name between slashes, with ``*`` and ``?``."""
    parts = ["".join("[^/]" if char == "?" else re.escape(char) for char in part) for part in _STARS.split(segment)]
    if len(parts) == 1:
        return parts[0]
    first, *middle, last = parts
    return first + "".join(f"(?>[^/]*?{part})" for part in middle) + f"[^/]*{last}"
