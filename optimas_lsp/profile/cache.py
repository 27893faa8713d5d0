"""The folder of distilled profiles, keyed by content: safe to lose, to share between processes and to be read-only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Generator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from optimas_lsp.errors import ReportError
from optimas_lsp.profile import distilled
from optimas_lsp.profile.limits import MB
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.replace import write_atomically

ENVIRONMENT = "OPTIMAS_CACHE_DIR"
_SETTLED_SECONDS = 2.0
"""A file changed more recently than this is always hashed: its time stamp cannot yet tell a second change."""

_STALE_SECONDS = 24 * 3600.0
_SUFFIX = ".optimas.json.zst"


def cache_folder(chosen: Path | None = None) -> Path:
    """``chosen``, else ``$OPTIMAS_CACHE_DIR``, else the user's cache folder for this program; it may not exist yet."""
    if chosen is not None:
        return chosen
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named else platformdirs.user_cache_path("optimas-lsp", appauthor=False)


@lru_cache(maxsize=16)
def distiller_version(enrich: str | None) -> str:
    """A digest of the code that distils, so that a profile made by older code is never taken for a current one."""
    digest = hashlib.sha256(repr(enrich).encode())
    modules = [__package__, *([enrich.partition(":")[0].rpartition(".")[0]] if enrich else [])]
    for module in modules:
        spec = find_spec(module) if module else None
        for folder in (spec.submodule_search_locations if spec else None) or ():
            for source in sorted(Path(folder).rglob("*.py")):
                digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


class Cache:
    """Distilled profiles in one folder; every failure of the file system means "not cached", never an error."""

    def __init__(self, folder: Path, limit_mb: int) -> None:
        self._folder = folder
        self._limit = limit_mb * MB

    def find(self, key: str, unpacked_mb: int) -> Profile | None:
        """The profile stored under ``key``, or None; a damaged entry is removed."""
        entry = self._folder / (key + _SUFFIX)
        try:
            if not entry.is_file():
                return None
            profile = distilled.read(entry, unpacked_mb, trusted=True)
        except (ReportError, OSError):
            with contextlib.suppress(OSError):
                entry.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(entry)
        return profile

    def keep(self, key: str, made: Path) -> None:
        """Store the file ``made`` under ``key`` (it is moved where possible) and prune what was used longest ago."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self._folder / (key + _SUFFIX), made.read_bytes())
            self._prune()

    @contextlib.contextmanager
    def workplace(self) -> Generator[Path]:
        """A private folder for the files of one distillation, removed at the end."""
        with tempfile.TemporaryDirectory(prefix="optimas-", ignore_cleanup_errors=True) as name:
            yield Path(name)

    def digest(self, path: Path) -> str:
        """SHA-256 of the file's bytes, remembered by path, size, inode and times. Raises OSError."""
        stat = path.stat()
        state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev]
        name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
        memo = self._folder / f"{name}.seen.json"
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
            known: list[object] = json.loads(memo.read_text("ascii"))
            if known[1:] == state:
                return str(known[0])
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if time.time() - max(stat.st_mtime, stat.st_ctime) > _SETTLED_SECONDS:
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_atomically(memo, json.dumps([found, *state]).encode("ascii"))
        return found

    def _prune(self) -> None:
        now = time.time()
        entries: list[tuple[float, int, Path]] = []
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                stat = path.stat()
                if path.name.endswith((".part", ".seen.json")):
                    if now - stat.st_mtime > _STALE_SECONDS * (1 if path.suffix == ".part" else 30):
                        path.unlink()
                elif path.name.endswith(_SUFFIX):
                    entries.append((stat.st_mtime, stat.st_size, path))
        size = sum(entry[1] for entry in entries)
        for _, bytes_, path in sorted(entries)[:-1]:  # the newest stays, whatever its size
            if size <= self._limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                size -= bytes_
