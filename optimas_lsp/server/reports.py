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
    """The regular expression of one glob pattern, for whole relative paths with forward slashes."""
    out: list[str] = []
    depth = 0
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if pattern.startswith("**/", index):
            out.append("(?:.*/)?")
            index += 3
            continue
        if pattern.startswith("**", index):
            out.append(".*")
            index += 2
            continue
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "{" and "}" in pattern[index:]:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(char))
        index += 1
    return re.compile("".join(out), re.DOTALL)
