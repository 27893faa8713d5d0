"""Loads ncu_report, the only place that imports it, and says in a sentence why a report cannot be opened with it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from optimas_lsp.errors import ReportError
from optimas_lsp.profile.model import Note
from optimas_lsp.profile.readers.container import KNOWN_VERSION, UNKNOWN, Container

WHEELS = "it exists for Linux x86-64 and arm64, Windows x86-64 and (2025.3.1) macOS arm64"
NOT_KERNELS = Note(
    code="not-kernels",
    text="the report also holds results that are no kernel launches (ranges or graphs); they are not shown",
)
_DISTIL = "or run 'optimas distill' on a machine that has it and open the .optimas.json file here"


def native(shown: str) -> ModuleType:
    """The module ``ncu_report``; raises ReportError about the report ``shown`` when it cannot be imported."""
    try:
        import ncu_report  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise ReportError(
            f"reading it needs the Python package ncu-report, which cannot be imported here ({error})",
            where=shown,
            remedy=f"run: pip install ncu-report ({WHEELS}), {_DISTIL}",
        ) from None
    return ncu_report


def reader_version() -> str:
    """Version of the installed ncu-report package, ``unknown`` if it carries no metadata."""
    try:
        return version("ncu-report")
    except PackageNotFoundError:
        return UNKNOWN


def is_newer(written_by: str, reader: str) -> bool:
    """Whether a report written by ncu ``written_by`` is newer than the package ``reader``; unknown is not newer."""
    return _parts(written_by) > _parts(reader) != ()


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit()) if text[:1].isdigit() else ()


def tool_notes(written_by: str) -> list[Note]:
    """What to say about a report written by ncu ``written_by``: newer than the reader, or cut off before it says."""
    if written_by == UNKNOWN:
        text = "the report does not say which ncu wrote it: its end is missing, and launches may be missing too"
        text += "; copy it again, or wait until ncu has finished writing it"
        return [Note(code="incomplete-report", text=text)]
    reader = reader_version()
    if not is_newer(written_by, reader):
        return []
    text = f"the report was written by ncu {written_by}, newer than the installed ncu-report {reader}"
    text += ", which may miss some of it; run: pip install --upgrade ncu-report"
    return [Note(code="newer-tool", text=text)]


def unreadable_launch(shown: str, index: int, container: Container) -> ReportError:
    """The failure when the native reader finds nothing in a launch that the file holds."""
    return ReportError(
        f"launch {index} cannot be read: the file is damaged, or was written by an ncu ({container.ncu_version}, "
        f"report format {container.version}) that ncu-report {reader_version()} does not know",
        where=shown,
        remedy="copy it again, or run: pip install --upgrade ncu-report",
    )


def load(path: Path, shown: str, container: Container) -> list[tuple[Any, int]]:
    """The launches of the report ``path`` as (range, position in it); nothing is read yet.

    The native reader answers "no ranges" for whatever it cannot read, and half a result for half a file, so the
    ``container`` decides what was wrong. Raises ReportError about ``shown``.
    """
    module = native(shown)
    reader = reader_version()
    if container.damage and container.version <= KNOWN_VERSION:
        raise ReportError(
            f"is damaged or truncated: {container.damage}",
            where=shown,
            remedy="copy it again, or wait until ncu has finished writing it",
        )
    report = module.load_report(str(path))
    ranges = [report.range_by_idx(at) for at in range(report.num_ranges())]
    places = [(section, at) for section in ranges for at in range(section.num_actions())]
    if places:
        return places
    if container.results or container.damage:
        remedy = "run: pip install --upgrade ncu-report (it must be at least as new as the ncu that wrote the report)"
        if container.version < KNOWN_VERSION:
            remedy = "profile again with a current ncu, this report's format is no longer read"
        raise ReportError(
            f"was written by ncu {container.ncu_version} in report format {container.version}, which ncu-report "
            f"{reader} does not read",
            where=shown,
            remedy=remedy,
        )
    raise ReportError(
        "holds no kernel launch",
        where=shown,
        remedy="profile a program that launches kernels; check -k, --launch-skip and -c on the ncu command line",
    )
