"""Processes of ours: started in a session of their own, killed with what they started; one run to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import optimas_lsp
from optimas_lsp.errors import WorkerError

logger = logging.getLogger(__name__)

SECONDS = 120.0
"""What takes longer is given up."""

OUTPUT_LIMIT = 64 * 1024 * 1024
"""Bytes of an answer that is taken."""

PIECE = 256 * 1024
"""Bytes that are read at once, and of its complaints the last that are kept."""


class TooLongError(WorkerError):
    """A process said more than is taken."""


@dataclass(frozen=True)
class Done:
    """How it ended: exit status, standard output, and the last line it complained with."""

    status: int
    output: bytes
    complaint: str


def command_line(*words: str) -> list[str]:
    """The arguments of Python that run ``optimas`` with ``words``."""
    return ["-P", "-c", "from optimas_lsp.cli import main; main()", *words]


def environment() -> dict[str, str]:
    """What Python processes of ours get: this package importable and, with ``-P``, no module out of a workspace."""
    home = str(Path(optimas_lsp.__file__).resolve().parents[1])
    inherited = [str(Path(item).resolve()) for item in os.environ.get("PYTHONPATH", "").split(os.pathsep) if item]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([home, *inherited]), "OPENBLAS_NUM_THREADS": "1"}


async def start(
    *arguments: str, limit: int, folder: Path | None = None, more: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    """Python with ``arguments``, piped, in a session of its own; ``limit`` is the longest line it may say (bytes).

    It works in ``folder``, the system's folder for temporary files without one, never in a workspace.
    """
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=limit,
        start_new_session=True,
        cwd=folder or tempfile.gettempdir(),
        env={**environment(), **(more or {})},
    )


def kill_group(process: asyncio.subprocess.Process) -> None:
    """End a process and whatever it started; harmless when all have ended."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
    except (ProcessLookupError, PermissionError):
        logger.debug("process %d has ended already", process.pid)


async def run(
    arguments: Sequence[str], given: bytes = b"", seconds: float = SECONDS, limit: int = OUTPUT_LIMIT
) -> Done:
    """Run Python with ``arguments``; raises WorkerError when it takes too long, TooLongError over ``limit`` bytes."""
    process = await start(*arguments, limit=PIECE)
    try:
        async with asyncio.timeout(seconds):
            _, output, errors = await asyncio.gather(
                _feed(process.stdin, given), _whole(process.stdout, limit), _last(process.stderr)
            )
            await process.wait()
    except TimeoutError:
        raise WorkerError(f"it took more than {seconds:.0f} s", remedy="try again") from None
    finally:
        kill_group(process)
        await asyncio.shield(process.wait())
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return Done(process.returncode or 0, output, lines[-1] if lines else "")


async def _feed(stream: asyncio.StreamWriter | None, given: bytes) -> None:
    if stream is not None:
        with contextlib.suppress(ConnectionError):
            stream.write(given)
            await stream.drain()
        stream.close()


async def _whole(stream: asyncio.StreamReader | None, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while stream is not None and (piece := await stream.read(PIECE)):
        size += len(piece)
        if size > limit:
            raise TooLongError(f"it is more than {limit // 1024 // 1024} MB")
        pieces.append(piece)
    return b"".join(pieces)


async def _last(stream: asyncio.StreamReader | None) -> bytes:
    kept = b""
    while stream is not None and (piece := await stream.read(PIECE)):
        kept = (kept + piece)[-PIECE:]
    return kept
