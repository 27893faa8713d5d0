"""From the path in a profile to the file in the workspace, by rules that can be named and never by base name alone.

In this order, the first that leads to a file wins:

1. ``path-map``: the configured map with the longest matching prefix. Trusted, so content is not compared; the result
   must lie in the workspace.
2. ``exact``: the profiled path itself, in the workspace (after symbolic links are followed).
3. ``suffix``: a workspace file of the same base name whose *content* is the profiled text or at least 60 % of it
   (``likeness.SIMILAR``); of those about equally similar, the one that shares most path parts. Two equally good ones
   are no match.
4. ``exact-outside``: the profiled path itself outside the workspace, if its content proves it.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optimas_lsp.config import FILE_NAME, PathMap
from optimas_lsp.profile.model import SourceFile
from optimas_lsp.source.anchors import Measured
from optimas_lsp.source.likeness import in_words, proves, similarity
from optimas_lsp.source.profiled_path import ProfiledPath, parse
from optimas_lsp.source.workspace import EXCLUDED, FileIndex, Limits

Form = Literal["json", "toml"]
Rule = Literal["path-map", "exact", "suffix", "exact-outside", "none"]

ABOUT = 0.10
"""Candidates within this much of the most similar one are told apart by their path."""

MOST_CANDIDATES = 64
"""At most this many files of one base name are compared, those that share most path parts."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a profiled file is here: ``path`` or None, the ``rule`` that decided, and ``why`` in a sentence or two.

    ``similarity`` (0 to 1) where content was compared; ``candidates`` are the files of the same base name looked at.
    """

    path: Path | None
    rule: Rule
    why: str
    similarity: float | None = None
    candidates: tuple[Path, ...] = ()


class PathMapper:
    """Maps profiled paths into ``folders``. Safe to use from several threads; blocks while it walks and reads files."""

    def __init__(
        self,
        folders: Sequence[Path],
        path_maps: Iterable[PathMap] = (),
        *,
        exclude: Sequence[str] = EXCLUDED,
        limits: Limits | None = None,
        remedy: Form = "json",
    ) -> None:
        """``remedy`` is the form in which a reason says how to map a path: an editor's settings or ``optimas.toml``."""
        self.folders = tuple(Path(os.path.abspath(folder)) for folder in folders)  # noqa: PTH100 (keeps links)
        self._reals = tuple(os.path.realpath(folder) for folder in self.folders)
        self._maps = [(parse(one.from_), one) for one in path_maps]
        self._maps.sort(key=lambda pair: -len(pair[0].parts))
        self._exclude = exclude
        self._limits = limits
        self._form: Form = remedy
        self._index: FileIndex | None = None
        self._known: dict[tuple[str, int], Match] = {}
        self._lock = threading.Lock()

    def resolve(self, source: SourceFile) -> Match:
        """The workspace file of ``source``; remembered until ``note_changed`` or ``forget``. Never raises."""
        key = source.path, hash(source)
        with self._lock:
            match = self._known.get(key)
            if match is None:
                match = self._known[key] = self._resolve(source)
            return match

    def path_of(self, source: SourceFile) -> Path | None:
        """``resolve`` for those who only want the path."""
        return self.resolve(source).path

    def note_changed(self, path: Path) -> None:
        """A file or folder at ``path`` appeared, changed or vanished."""
        with self._lock:
            self._known.clear()
            if self._index is not None:
                self._index.note_changed(path)

    def forget(self) -> None:
        """Look at everything again at the next question."""
        with self._lock:
            self._known.clear()
            self._index = None

    def _resolve(self, source: SourceFile) -> Match:
        profiled = parse(source.path)
        if profiled.problem or not profiled.name:
            problem = profiled.problem or "it names no file"
            return Match(None, "none", f"The profiled path '{profiled.shown()}' cannot be looked for: {problem}.")
        refusals: list[str] = []
        found = self._by_map(profiled, refusals) or self._exact(profiled)
        if found is not None:
            return found
        measured = Measured.of(source)
        outside = self._outside(profiled, measured, refusals)
        inside = self._by_content(profiled, measured, refusals)
        return inside if inside.path is not None or outside is None else outside

    def _by_map(self, profiled: ProfiledPath, refusals: list[str]) -> Match | None:
        for prefix, rule in self._maps:
            rest = profiled.after(prefix)
            if rest is None:
                continue
            said = f"Path map '{rule.from_}' → '{rule.to}'"
            if ".." in rest:
                refusals.append(f"{said} was refused: '..' would lead out of '{rule.to}'.")
                return None
            for folder in self.folders:
                target = folder.joinpath(rule.to, *rest)
                real = _regular(target)
                if real is None:
                    continue
                if not self._inside(real):
                    refusals.append(f"{said} was refused: {_shown(target)} lies outside the workspace.")
                    return None
                return Match(_tidy(target, real), "path-map", f"{said} leads to it.")
            refusals.append(f"{said} applies, but there is no such file as {'/'.join((rule.to, *rest))}.")
            return None
        return None

    def _exact(self, profiled: ProfiledPath) -> Match | None:
        native = _native(profiled)
        real = _regular(native)
        if native is None or real is None or not self._inside(real):
            return None
        path = _tidy(native, real)
        if not any(path.is_relative_to(folder) for folder in self.folders):
            folder, home = next(pair for pair in zip(self.folders, self._reals, strict=True) if _within(real, pair[1]))
            path = folder / os.path.relpath(real, home)
        return Match(path, "exact", "The profiled path is this very file.")

    def _outside(self, profiled: ProfiledPath, measured: Measured | None, refusals: list[str]) -> Match | None:
        native = _native(profiled)
        real = _regular(native)
        if native is None or real is None:
            return None
        likeness = None if measured is None else similarity(measured, Path(real))
        if likeness is None or not proves(likeness, measured):
            what = "its content is not the profiled one" if measured else "no profiled text proves it"
            refusals.append(f"{profiled.shown()} exists outside the workspace, but {what}.")
            return None
        why = f"The profiled path exists outside the workspace and {in_words(likeness)}."
        return Match(_tidy(native, real), "exact-outside", why, likeness)

    def _by_content(self, profiled: ProfiledPath, measured: Measured | None, refusals: list[str]) -> Match:
        if self._index is None:
            self._index = FileIndex(self.folders, self._exclude, self._limits)
        fold = profiled.windows or os.name == "nt"
        found = [path for path in self._index.find(profiled.name, fold=fold) if self._inside(_regular(path))]
        shared = {path: profiled.common_suffix(path.parts, fold=fold) for path in found}
        candidates = tuple(sorted(found, key=lambda path: -shared[path])[:MOST_CANDIDATES])
        shown = profiled.shown()
        if not candidates:
            unseen = "" if self._index.complete else f" (only the first {len(self._index)} files were looked at)"
            return self._none(
                profiled, f"No file named '{_clean(profiled.name)}' is in the workspace{unseen}", refusals
            )
        if measured is None:
            what = "and the report holds no source text that would tell whether it is the profiled one"
            said = f"{self._list(candidates)} has the same name as {shown}, {what} (profile with --import-source yes)"
            return self._none(profiled, said, refusals, candidates)
        likeness = {path: similarity(measured, path) or 0.0 for path in candidates}
        best = max(likeness.values())
        if not proves(best, measured):
            said = f"The content of {self._list(candidates)} is not what was profiled ({best:.0%} of the lines at most)"
            return self._none(profiled, said, refusals, candidates)
        close = [path for path in candidates if likeness[path] >= best - ABOUT and proves(likeness[path], measured)]
        longest = max(shared[path] for path in close)
        close = [path for path in close if shared[path] == longest]
        if len(close) > 1:
            top = max(likeness[path] for path in close)
            close = [path for path in close if likeness[path] == top]
        if len(close) > 1:
            said = f"{self._list(close)} are equally like the profiled {shown}"
            return self._none(profiled, said, refusals, tuple(close))
        path = close[0]
        parts = f"its last {longest} path parts" if longest > 1 else "its name"
        why = f"It shares {parts} with the profiled {shown} and {in_words(likeness[path])}."
        return Match(path, "suffix", " ".join((why, *refusals)), likeness[path], candidates)

    def _none(self, profiled: ProfiledPath, said: str, refusals: list[str], candidates: tuple[Path, ...] = ()) -> Match:
        cut = max(profiled.text.rfind("/"), profiled.text.rfind("\\"))
        home = profiled.text[:cut] if 0 < cut < 200 else "/folder/in/the/profile"
        home = home.encode("utf-8", "replace").decode().replace("\\", "\\\\")
        here = self._relative(candidates[0].parent) if len(candidates) == 1 else "folder/here"
        remedy = f'To say where it is, set "pathMaps": [{{"from": "{home}", "to": "{here}"}}].'
        if self._form == "toml":
            line = f'path_maps = [{{ from = "{home}", to = "{here}" }}]'
            remedy = f"To say where it is, put this at the top of {FILE_NAME}: {line}"
        return Match(None, "none", " ".join((said + ".", *refusals, remedy)), None, candidates)

    def _list(self, paths: Sequence[Path]) -> str:
        names = [self._relative(path) for path in paths[:4]]
        more = f" and {len(paths) - 4} more" if len(paths) > 4 else ""
        return (", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 and not more else ", ".join(names)) + more

    def _relative(self, path: Path) -> str:
        for folder in self.folders:
            if path.is_relative_to(folder):
                inner = path.relative_to(folder).as_posix()
                return _clean(inner if len(self.folders) == 1 else f"{folder.name}/{inner}")
        return _shown(path)

    def _inside(self, real: str | None) -> bool:
        return real is not None and any(_within(real, home) for home in self._reals)


def _native(profiled: ProfiledPath) -> Path | None:
    """The path as this machine would open it; None when it is relative or of another kind of system.

    Where a folder before a ``..`` is gone (a build folder, often), the path without it is meant.
    """
    if not profiled.absolute or profiled.windows != (os.name == "nt"):
        return None
    path = Path(profiled.text)
    return path if _regular(path) else Path(os.path.normpath(path))


def _within(real: str, home: str) -> bool:
    return real == home or real.startswith(home.rstrip(os.sep) + os.sep)


def _regular(path: Path | None) -> str | None:
    """The real path of a regular file, or None: absent, a loop, a device, a folder, unreadable, impossible name."""
    if path is None:
        return None
    try:
        real = os.path.realpath(path, strict=True)
        return real if stat.S_ISREG(os.stat(real).st_mode) else None  # noqa: PTH116 (paths may not be UTF-8)
    except (OSError, ValueError):
        return None


def _tidy(path: Path, real: str) -> Path:
    """``path`` without ``..`` where that names the same file, else the real path."""
    tidy = Path(os.path.normpath(path))
    return tidy if _regular(tidy) == real else Path(real)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _shown(path: Path) -> str:
    return _clean(str(path))
