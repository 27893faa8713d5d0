"""The distilled form on disk: ``NAME.optimas.json`` and ``NAME.optimas.json.zst``."""

from __future__ import annotations

import re
from pathlib import Path

import zstandard
from pydantic import ValidationError

from optimas_lsp.errors import ReportError
from optimas_lsp.profile.consistency import first_flaw
from optimas_lsp.profile.limits import MB
from optimas_lsp.profile.model import SCHEMA_VERSION, Profile
from optimas_lsp.profile.replace import write_atomically
from optimas_lsp.profile.unpack import is_zstd, unpack_bytes

SUFFIXES = (".optimas.json", ".optimas.json.zst")
_VERSION = re.compile(rb'"schema_version"\s*:\s*"([^"\\]{1,100})"')
_LEVEL = 3


def is_distilled(path: Path) -> bool:
    """Whether the name of ``path`` says that it is a distilled profile."""
    return path.name.endswith(SUFFIXES)


def dump(profile: Profile, *, packed: bool) -> bytes:
    """The bytes of a distilled profile: one line of JSON, zstd-compressed with a checksum if ``packed``."""
    plain = profile.model_dump_json(exclude_defaults=False).encode()
    if not packed:
        return plain + b"\n"
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(plain)


def write(profile: Profile, out: Path) -> None:
    """Write ``profile`` to ``out`` in one step, compressed if the name ends in ``.zst``.

    Raises ReportError when the folder does not exist or cannot be written.
    """
    try:
        write_atomically(out, dump(profile, packed=out.name.endswith(".zst")))
    except OSError as error:
        raise ReportError(
            f"cannot be written: {error.strerror}", where=out, remedy="choose a folder you may write to"
        ) from None


def read(path: Path, limit_mb: int, *, trusted: bool = False) -> Profile:
    """The profile in the distilled file ``path``, plain or compressed whatever its name says.

    ``limit_mb`` bounds the unpacked size. ``trusted`` skips the check of indices, for files this program wrote.
    Raises ReportError with the place of the first flaw.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4)
            if size > limit_mb * MB:
                raise ReportError(
                    f"is {size // MB} MB, more than the {limit_mb} MB allowed",
                    where=path,
                    remedy="distil a report of fewer launches",
                )
            plain = None if is_zstd(head) else head + file.read()
    except OSError as error:
        raise unreadable(path, error) from None
    return parse(unpack_bytes(path, limit_mb) if plain is None else plain, path, trusted=trusted)


def parse(data: bytes, path: Path, *, trusted: bool = False) -> Profile:
    """The profile in ``data``; ``path`` is where it came from, for messages."""
    try:
        profile = Profile.model_validate_json(data)
    except ValidationError as error:
        raise _explain(error, data, path) from None
    flaw = None if trusted else first_flaw(profile)
    if flaw:
        raise ReportError(f"is no valid distilled profile: {flaw}", where=path, remedy="distil the report again")
    return profile


def unreadable(path: Path, error: OSError) -> ReportError:
    """The sentence for a file that the system will not let us read."""
    if isinstance(error, FileNotFoundError):
        return ReportError("no such file", where=path, remedy="check the path")
    if isinstance(error, IsADirectoryError):
        return ReportError("is a folder, not a report", where=path, remedy="name the .ncu-rep file inside it")
    if isinstance(error, PermissionError):
        return ReportError(
            "may not be read by this user", where=path, remedy=f"run: chmod u+r {path.name} (or ask its owner)"
        )
    return ReportError(f"cannot be read: {error.strerror}", where=path, remedy="check the file and its folder")


def _explain(error: ValidationError, data: bytes, path: Path) -> ReportError:
    if not data.strip():
        return ReportError("is empty", where=path, remedy="distil the report again")
    found = _VERSION.search(data[: 64 * 1024])
    version = found[1].decode("utf-8", "replace") if found else None
    if version is not None and version != SCHEMA_VERSION:
        return ReportError(
            f"is a distilled profile of format {version}, written by another (newer) version; this one reads "
            f"{SCHEMA_VERSION}",
            where=path,
            remedy="upgrade with: pip install --upgrade optimas-lsp, or distil the report again with this version",
        )
    item = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in item["loc"])
    what = f"{place}: {item['msg']}" if place else item["msg"]
    return ReportError(f"is no valid distilled profile: {what}", where=path, remedy="distil the report again")
