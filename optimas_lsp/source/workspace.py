"""Which files a workspace holds, by base name: one bounded walk, kept up to date by notices of change.

The walk follows no symbolic link to a folder (so loops cannot hold it), skips excluded folders, and stops at a number
of files or after a time; ``FileIndex.complete`` says whether it saw everything.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.source.profiled_path import plain

EXCLUDED = ("**/.git/**", "**/.hg/**", "**/.svn/**", "**/node_modules/**", "**/.venv/**", "**/__pycache__/**")
"""Folders no source is looked for in, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where the walk of all folders together stops."""

    files: int = 200_000
    seconds: float = 5.0


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob (``**``, ``*``, ``?``, ``[…]``, ``{a,b}``) as a pattern for ``/``-separated relative paths."""
    made: list[str] = []
    braces = 0
    place = 0
    while place < len(glob):
        char = glob[place]
        if glob.startswith("**/", place):
            made.append("(?:.*/)?")
            place += 3
            continue
        if glob.startswith("**", place):
            made.append(".*")
            place += 2
            continue
        closing = glob.find("]", place + 2) if char == "[" else -1
        if closing > 0:
            inside = re.sub(r"([\\\[&~|])", r"\\\1", glob[place + 1 : closing]).replace("--", "-")
            made.append("[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]")
            place = closing + 1
            continue
        if char == "{" and "}" in glob[place:]:
            made.append("(?:")
            braces += 1
        elif char == "}" and braces:
            made.append(")")
            braces -= 1
        elif char == "," and braces:
            made.append("|")
        else:
            made.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
        place += 1
    try:
        return re.compile("".join(made) + ")" * braces, re.DOTALL)
    except re.error:
        return re.compile(re.escape(glob))


class FileIndex:
    """Files of ``folders`` by base name. Not safe for concurrent use: its owner holds a lock."""

    def __init__(
        self, folders: Sequence[Path], exclude: Iterable[str] = EXCLUDED, limits: Limits | None = None
    ) -> None:
        self.complete = True
        self._folders = folders
        self._exclude = [glob_pattern(glob) for glob in exclude]
        self._limits = limits or Limits()
        self._homes: dict[str, list[tuple[str, str]]] = {}
        self._count = 0
        self._deadline = time.monotonic() + self._limits.seconds
        for folder in folders:
            self._add_tree(str(folder), str(folder))

    def __len__(self) -> int:
        return self._count

    def find(self, name: str, *, fold: bool) -> list[Path]:
        """Every file of that base name, each once, in the order of the walk."""
        homes = self._homes.get(plain(name, fold=True), [])
        wanted = plain(name, fold=False)
        found = [Path(home) / real for home, real in homes if fold or plain(real, fold=False) == wanted]
        return list(dict.fromkeys(found))

    def note_changed(self, path: Path) -> None:
        """A file or folder appeared, changed or vanished: look at it again."""
        text = str(path)
        self._remove(text)
        folder = next((str(folder) for folder in self._folders if path.is_relative_to(folder)), None)
        if folder is None or self._excluded_on_the_way(folder, text):
            return
        self._deadline = time.monotonic() + self._limits.seconds
        try:
            if path.is_dir() and not path.is_symlink():
                self._add_tree(folder, text)
            elif path.is_file():
                self._add(path.name, str(path.parent))
        except (OSError, ValueError):
            return

    def _excluded_on_the_way(self, folder: str, text: str) -> bool:
        inner = Path(text).relative_to(folder).parts
        return any(self._excluded("/".join(inner[:count])) for count in range(1, len(inner) + 1))

    def _excluded(self, relative: str) -> bool:
        return any(one.fullmatch(relative) or one.fullmatch(relative + "/_") for one in self._exclude)

    def _remove(self, text: str) -> None:
        inside = text + os.sep
        for key in list(self._homes):
            kept = [
                (home, name)
                for home, name in self._homes[key]
                if home != text and not home.startswith(inside) and (home, name) != os.path.split(text)
            ]
            self._count += len(kept) - len(self._homes[key])
            if kept:
                self._homes[key] = kept
            else:
                del self._homes[key]

    def _add(self, name: str, home: str) -> None:
        self._homes.setdefault(plain(name, fold=True), []).append((home, name))
        self._count += 1

    def _add_tree(self, folder: str, top: str) -> None:
        waiting = [top]
        while waiting:
            home = waiting.pop()
            if self._count >= self._limits.files or time.monotonic() > self._deadline:
                self.complete = False
                return
            for entry in _entries(home):
                if entry.is_dir(follow_symlinks=False):
                    if not self._excluded(os.path.relpath(entry.path, folder).replace(os.sep, "/")):
                        waiting.append(entry.path)
                elif _is_file(entry):
                    self._add(entry.name, home)


def _entries(home: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(home) as entries:
            yield from entries
    except OSError:
        return


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False
