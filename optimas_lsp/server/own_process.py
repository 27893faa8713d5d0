"""Runs a command of ours to its end in a process of its own; cancelling kills it with what it started."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from optimas_lsp.errors import WorkerError
from optimas_lsp.server.jobs import environment, kill_group

SECONDS = 120.0
"""What takes longer is given up."""

OUTPUT_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Done:
    """How it ended: exit status, standard output, and the last line it complained with."""

    status: int
    output: bytes
    complaint: str


def command_line(*words: str) -> list[str]:
    """The arguments of Python that run ``optimas`` with ``words``."""
    return ["-P", "-c", "from optimas_lsp.cli import main; main()", *words]


async def run(arguments: Sequence[str], given: bytes = b"", seconds: float = SECONDS) -> Done:
    """Run Python with ``arguments``; raises WorkerError when it takes too long."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=OUTPUT_LIMIT,
        start_new_session=True,
        cwd=tempfile.gettempdir(),
        env=environment(),
    )
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate(given)
    except TimeoutError:
        raise WorkerError(f"it took more than {seconds:.0f} s", remedy="try again") from None
    finally:
        kill_group(process)
        await asyncio.shield(process.wait())
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return Done(process.returncode or 0, output, lines[-1] if lines else "")
