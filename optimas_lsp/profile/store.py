"""Opening a report or a distilled profile: read in worker processes, kept in the cache, portable as a file."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from pathlib import Path

from optimas_lsp.errors import ReportError
from optimas_lsp.profile import distilled
from optimas_lsp.profile.cache import Cache, cache_folder, distiller_version
from optimas_lsp.profile.job import Job
from optimas_lsp.profile.limits import Limits, Progress
from optimas_lsp.profile.model import Note, Profile
from optimas_lsp.profile.pool import CancelledError, Pool
from optimas_lsp.profile.unpack import is_zstd, unpack_file

__all__ = ["REPORT_SUFFIXES", "CancelledError", "Limits", "Progress", "distil_to", "is_report", "open_profile"]

REPORT_SUFFIXES = (".ncu-rep", ".ncu-repz", ".ncu-rep.zst")


def is_report(path: Path) -> bool:
    """Whether the name of ``path`` says that :func:`open_profile` can open it."""
    return path.name.endswith((*REPORT_SUFFIXES, *distilled.SUFFIXES))


def open_profile(
    path: Path,
    *,
    limits: Limits | None = None,
    enrich: str | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    cache_dir: Path | None = None,
) -> Profile:
    """The profile in ``path``: a report (``.ncu-rep``, ``.ncu-repz``, ``.ncu-rep.zst``) or a distilled profile.

    A report is distilled in worker processes and cached by content in ``cache_dir`` (default: ``$OPTIMAS_CACHE_DIR``
    or the user's cache folder). ``enrich`` is ``module:function`` of a ``Callable[[Profile], Profile]`` that runs in
    the worker; if that dies, the profile comes without what it adds and with a note ``enrich-failed``.
    ``progress`` is called on this thread with (launches read, launches in all); setting ``cancel`` ends the workers.

    Raises ReportError when the file cannot be read, WorkerError when a worker died or ran past its limits,
    CancelledError (a WorkerError) when cancelled.
    """
    limits = limits or Limits()
    size = _regular_size(path)
    if distilled.is_distilled(path):
        return distilled.read(path, limits.unpacked_mb)
    if size == 0:
        raise ReportError("is empty (0 bytes)", where=path, remedy="profile again; ncu writes the report when it ends")
    cache = Cache(cache_folder(cache_dir), limits.cache_mb)
    try:
        sha256 = cache.digest(path)
    except OSError as error:
        raise distilled.unreadable(path, error) from None
    key = f"{sha256}-{distiller_version(enrich)}"
    # The file's name and its sources' state are not content: a hit under another name keeps its own name.
    found = cache.find(key, limits.unpacked_mb)
    if found is not None and found.report_sha256 == sha256:
        return found if found.report_name == _name(path) else found.model_copy(update={"report_name": _name(path)})
    return _distil(path, key, cache, sha256=sha256, limits=limits, enrich=enrich, progress=progress, cancel=cancel)


def distil_to(
    report: Path,
    out: Path,
    *,
    limits: Limits | None = None,
    enrich: str | None = None,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    cache_dir: Path | None = None,
) -> Profile:
    """Write the portable form of ``report`` to ``out`` (``.optimas.json`` or ``.optimas.json.zst``) and return it.

    Raises as :func:`open_profile`, and ReportError when ``out`` has another ending or cannot be written.
    """
    if not distilled.is_distilled(out):
        raise ReportError(
            "the name of a distilled profile ends in .optimas.json or .optimas.json.zst",
            where=out,
            remedy=f"try: -o {report.name.removesuffix('.zst').rpartition('.')[0] or report.name}.optimas.json.zst",
        )
    profile = open_profile(report, limits=limits, enrich=enrich, progress=progress, cancel=cancel, cache_dir=cache_dir)
    distilled.write(profile, out)
    return profile


def _regular_size(path: Path) -> int:
    """Size in bytes; a folder, device or pipe is refused before anything tries to read it."""
    try:
        found = path.stat()
    except OSError as error:
        raise distilled.unreadable(path, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise distilled.unreadable(path, IsADirectoryError())
    if not stat.S_ISREG(found.st_mode):
        raise ReportError("is no regular file", where=path, remedy="name a .ncu-rep or .optimas.json file")
    return found.st_size


def _distil(
    path: Path,
    key: str,
    cache: Cache,
    *,
    sha256: str,
    limits: Limits,
    enrich: str | None,
    progress: Progress | None,
    cancel: threading.Event | None,
) -> Profile:
    before = path.stat()
    with cache.workplace() as folder:
        opened = _for_reader(path, folder, limits)
        job = Job(
            path=str(opened),
            shown=str(path),
            name=_name(path),
            sha256=sha256,
            size=before.st_size,
            mtime=before.st_mtime,
            plain=str(folder / "plain"),
            whole=str(folder / "whole"),
            workers=limits.workers or min(2, _cores()),
            slice_mb=min(limits.slice_mb, limits.memory_limit_mb * 2 // 3),
            memory_limit_mb=limits.memory_limit_mb,
            enrich=enrich,
        )
        outcome = Pool(job, folder, limits, progress, cancel).run()
        profile = distilled.read(outcome.path, limits.unpacked_mb, trusted=True)
        after = path.stat()
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise ReportError("changed while it was read", where=path, remedy="open it again once ncu has ended")
        if outcome.failure is None:
            cache.keep(key, outcome.path)
            return profile
    note = Note(
        code="enrich-failed",
        text=f"machine code was not read: {outcome.failure}; inline chains and causes are missing",
    )
    return profile.model_copy(update={"notes": (*profile.notes, note), "modules": ()})


def _for_reader(path: Path, folder: Path, limits: Limits) -> Path:
    """A file the native reader can open: unpacked, named ``.ncu-rep`` whatever its own name, its path plain UTF-8."""
    with path.open("rb") as file:
        head = file.read(4)
    target = folder / "report.ncu-rep"
    if is_zstd(head):  # .ncu-repz and .ncu-rep.zst are the same thing
        unpack_file(path, target, limits.unpacked_mb)
        return target
    if path.name.endswith(".ncu-rep") and str(path).isprintable():
        return path.resolve()
    try:
        target.symlink_to(path.resolve())
    except OSError:  # Windows lets few users make links
        shutil.copyfile(path, target)
    return target


def _name(path: Path) -> str:
    return os.fsencode(path.name).decode("utf-8", "replace")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
