"""What the user must be told about a profile: what is missing from it and how to get it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from optimas_lsp.profile.generated import is_generated
from optimas_lsp.profile.model import Kernel, Note, Profile, SourceFile

_LARGEST_SOURCE = 8 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")


def annotate(profile: Profile, *, report_mtime: float) -> Profile:
    """``profile`` with notes on what it lacks, and fingerprints of the sources it names but does not embed.

    ``report_mtime`` (seconds since the epoch) is when the report was written: sources changed later are not
    fingerprinted, for they are not what was profiled.
    """
    files = tuple(_fingerprint(file, report_mtime) for file in profile.files)
    notes = dict.fromkeys((*profile.notes, *_notes(profile)))
    ordered = sorted(notes, key=lambda note: (note.code, note.kernel or "", note.text))
    return profile.model_copy(update={"files": files, "notes": tuple(ordered)})


def line_digests(text: bytes) -> tuple[str, ...]:
    """First 8 hex digits of SHA-256 of each line of ``text`` without its end (LF, CRLF or CR)."""
    lines = _LINE_END.split(text)
    if lines and not lines[-1]:
        lines.pop()
    return tuple(hashlib.sha256(line).hexdigest()[:8] for line in lines)


def _fingerprint(file: SourceFile, report_mtime: float) -> SourceFile:
    path = Path(file.path)
    if file.text is not None or not path.is_absolute():
        return file
    try:
        # Not blocking: what a report names may be a pipe or a device by now.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as source:
            found = os.fstat(source.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_SOURCE or found.st_mtime > report_mtime:
                return file
            text = source.read(_LARGEST_SOURCE)
    except (OSError, ValueError):  # absent, unreadable, or a name no file can have
        return file
    return file.model_copy(update={"line_digests": line_digests(text)})


def _notes(profile: Profile) -> Iterator[Note]:
    if not any(kernel.samples.all_ for kernel in profile.kernels):
        yield from _no_samples(profile)
    else:
        for kernel in profile.kernels:
            if not kernel.samples.all_:
                yield Note(code="no-samples", text=f"{kernel.name} has no PC samples", kernel=kernel.mangled)
    for kernel in profile.kernels:
        yield from _no_lines(profile, kernel)
    unread = [file.path for file in profile.files if file.text is None]
    if profile.files and len(unread) == len(profile.files) and not any(file.line_digests for file in profile.files):
        yield Note(
            code="no-source",
            text="the report embeds no source text, so edits since profiling cannot be told; "
            "profile with --import-source yes",
        )


def _no_samples(profile: Profile) -> Iterator[Note]:
    executed = any(kernel.code.executed is not None for kernel in profile.kernels)
    if executed:
        yield Note(
            code="no-samples",
            text="the report has no PC samples; profile with --section SourceCounters (and without "
            "--sampling-interval 0), for launches long enough to be sampled",
        )
    elif profile.kernels:
        yield Note(
            code="basic-set",
            text="the report has no per-instruction data, as with ncu --set basic; profile with "
            "--section SourceCounters --section WarpStateStats --import-source yes to see lines",
        )


def _no_lines(profile: Profile, kernel: Kernel) -> Iterator[Note]:
    if not kernel.code.offset:
        return
    if not kernel.code.chains:
        yield Note(
            code="no-lineinfo",
            text=f"{kernel.name} was compiled without line information, so its samples have no source line; "
            "compile with -lineinfo",
            kernel=kernel.mangled,
        )
        return
    named = {frame.file for chain in kernel.code.chains for frame in chain if frame.file >= 0}
    generated = sorted(profile.files[at].path for at in named if is_generated(profile.files[at]))
    if generated:
        yield Note(
            code="generated-source",
            text=f"{kernel.name} comes from source generated at run time ({generated[0]}) whose text is not in the "
            "report; profile with --import-source yes",
            kernel=kernel.mangled,
        )
