"""Unpacking zstd-compressed reports and profiles without trusting the sizes they announce."""

from __future__ import annotations

from pathlib import Path

import zstandard

from optimas_lsp.errors import ReportError
from optimas_lsp.profile.limits import MB

MAGIC = b"\x28\xb5\x2f\xfd"
CHUNK = 1 * MB
_WINDOW = 1 << 27
"""Largest zstd window accepted (128 MB, what ``zstd --ultra`` writes): bounds the decoder's own memory."""


def is_zstd(head: bytes) -> bool:
    """Whether a file that starts with ``head`` is a zstd frame."""
    return head.startswith(MAGIC)


def unpack_bytes(path: Path, limit_mb: int) -> bytes:
    """The unpacked bytes of the zstd file ``path``; raises ReportError past ``limit_mb`` or when it is damaged."""
    out = bytearray()
    for chunk in _chunks(path, limit_mb):
        out += chunk
    return bytes(out)


def unpack_file(path: Path, target: Path, limit_mb: int) -> None:
    """Write the unpacked bytes of the zstd file ``path`` to ``target``; raises ReportError as :func:`unpack_bytes`."""
    try:
        with target.open("wb") as sink:
            for chunk in _chunks(path, limit_mb):
                sink.write(chunk)
    except OSError as error:
        raise ReportError(
            f"cannot be unpacked: {error.strerror}", where=path, remedy=f"free space in {target.parent.parent}"
        ) from None


def _chunks(path: Path, limit_mb: int):
    reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    read = 0
    try:
        with path.open("rb") as packed, reader.stream_reader(packed, read_across_frames=True) as stream:
            while chunk := stream.read(CHUNK):
                read += len(chunk)
                if read > limit_mb * MB:
                    raise ReportError(
                        f"unpacks to more than {limit_mb} MB",
                        where=path,
                        remedy="it is damaged or hostile; profile fewer launches if it is genuine",
                    )
                yield chunk
    except zstandard.ZstdError as error:
        raise ReportError(
            f"is not a whole zstd file ({error})", where=path, remedy="compress or copy it again"
        ) from None


def unpacked_size(path: Path, limit_mb: int = 4096) -> int:
    """Bytes of the report as the profiler wrote it: the file's own size, or what its zstd frames unpack to.

    Raises ReportError as :func:`unpack_bytes`.
    """
    with path.open("rb") as file:
        packed = is_zstd(file.read(len(MAGIC)))
    return sum(len(chunk) for chunk in _chunks(path, limit_mb)) if packed else path.stat().st_size
