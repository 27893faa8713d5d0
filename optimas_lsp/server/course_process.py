"""One job's process as the server sees it: what it says line by line, and its end with everything it started.

Nothing is built or proven in the server: ``optimas_lsp.course`` does that in a process of its own, which ends itself
when its standard input closes. What does not end in time, or dies itself, is ended here with all that it left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimas_lsp import errors
from optimas_lsp.errors import OptimasError, WorkerError
from optimas_lsp.profile.turn import is_free, made_locked
from optimas_lsp.server.background import Background
from optimas_lsp.server.own_process import kill_group, start

logger = logging.getLogger(__name__)

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of the longest line a job may send: an outcome with its prompt and answers."""

SHORT = 64 * 1024
"""Bytes up to which a line is decoded on the event loop."""

PATIENCE = 25.0
"""Seconds a cancelled job may take to end what it started, on other machines too, before it is killed."""

LEAVING_PATIENCE = 1.5
"""The same when the server leaves."""

SCRATCH = "optimas-job-"
"""Temporary folders of jobs are called so."""

OWNER = ".owner"
"""The file in each of them that its server keeps locked as long as it lives."""

LAST_WORDS = 400
"""Characters of a dead job's last words that are shown."""


class DeadlineError(OptimasError):
    """A job took longer than it may."""


@dataclass(frozen=True)
class Talk:
    """What a job tells: ``progress`` gets stage and words, ``consent`` folder and actions and answers yes or no."""

    progress: Callable[[str, str], None]
    consent: Callable[[Path, list[dict[str, Any]]], Awaitable[bool]]


class CourseProcess:
    """One process. ``run`` once; cancelling the task that runs it ends the process with everything it started."""

    def __init__(self, module: str, request: bytes, seconds: float, background: Background) -> None:
        self._module = module
        self._request = request
        self._seconds = seconds
        self._background = background
        self.leaving = False
        self.pid = 0

    async def run(self, talk: Talk) -> dict[str, Any]:
        """The job's outcome.

        Raises the OptimasError that the job met, DeadlineError after ``seconds`` without those spent waiting for a
        consent, and WorkerError with its last words when it died.
        """
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH))
        try:
            with _owned(scratch):
                return await self._run(talk, scratch)
        finally:
            await asyncio.shield(asyncio.ensure_future(self._background.run(_clear, scratch)))

    async def _run(self, talk: Talk, scratch: Path) -> dict[str, Any]:
        more = {"TMPDIR": str(scratch)}
        process = await start("-P", "-m", self._module, limit=LINE_LIMIT, folder=scratch, more=more)
        self.pid = process.pid
        words = asyncio.ensure_future(_tail(process.stderr))
        try:
            async with asyncio.timeout(self._seconds) as limit:
                answer = await self._converse(process, talk, limit)
            if answer is not None:
                return answer
            raise _death(await process.wait(), await words)
        except TimeoutError:
            raise DeadlineError(
                f"it took longer than {self._seconds:.0f} s and was ended", remedy="raise jobs.deadlineSeconds"
            ) from None
        except ConnectionError:
            raise _death(await process.wait(), await words) from None
        finally:
            await asyncio.shield(asyncio.ensure_future(self._end(process)))
            words.cancel()

    async def _converse(
        self, process: asyncio.subprocess.Process, talk: Talk, limit: asyncio.Timeout
    ) -> dict[str, Any] | None:
        """The answer, or None when the process ends without one."""
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise WorkerError("a job's process could not be connected")
        stdin.write(self._request + b"\n")
        loop = asyncio.get_running_loop()
        while line := await stdout.readline():
            message = await self._decoded(line)
            match message.get("kind"):
                case "progress":
                    talk.progress(str(message.get("stage", "")), str(message.get("words", "")))
                case "consent":
                    left = (limit.when() or loop.time()) - loop.time()
                    limit.reschedule(None)
                    accepted = await talk.consent(Path(message["folder"]), message["actions"])
                    limit.reschedule(loop.time() + left)
                    stdin.write(b"yes\n" if accepted else b"no\n")
                case "outcome":
                    return message["outcome"]
                case "error":
                    raise _rebuilt(message)
                case kind:
                    raise WorkerError(f"a job sent an unknown message '{kind}'", remedy="reinstall optimas-lsp")
        return None

    async def _decoded(self, line: bytes) -> dict[str, Any]:
        try:
            return json.loads(line) if len(line) <= SHORT else await self._background.run(json.loads, line)
        except ValueError:
            shown = line[:80].decode("utf-8", "replace")
            raise WorkerError(f"a job sent what is no message: {shown}", remedy="reinstall optimas-lsp") from None

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Ask the process to end, wait a while, and kill its group.

        A loop that ends meanwhile leaves it asked, with its standard input closed: then it ends by itself.
        """
        if process.stdin is not None:
            process.stdin.close()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVING_PATIENCE if self.leaving else PATIENCE):
                    await process.wait()
        kill_group(process)
        await process.wait()


@contextlib.contextmanager
def _owned(scratch: Path) -> Generator[None]:
    """Let other servers see that ``scratch`` is in use; where nothing can be locked, it is nobody's to clear up."""
    try:
        owner = made_locked(scratch / OWNER)
    except OSError as error:
        logger.warning("a temporary folder cannot be locked: %s: %s", scratch, error)
        yield
        return
    with owner:
        yield


async def _tail(stream: asyncio.StreamReader | None) -> str:
    """The last of what a process wrote to its standard error."""
    kept = b""
    while stream is not None and (piece := await stream.read(4096)):
        kept = (kept + piece)[-8 * LAST_WORDS :]
    return kept.decode("utf-8", "replace")


def sweep() -> None:
    """Clear up after jobs of servers that were killed themselves; blocks.

    A folder without an owner's file is one that is being made just now, and others' folders are left to them.
    """
    for scratch in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):
            now = scratch.lstat()
            if stat.S_ISDIR(now.st_mode) and now.st_uid == os.getuid() and is_free(scratch / OWNER):
                _clear(scratch)


def _clear(scratch: Path) -> None:
    """End every process that still works below ``scratch``, and remove it.

    Those are known by their temporary folder, or by the path of the runner that they are. They are asked first, so
    that each ends what it started itself.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _working_below(os.fsencode(scratch)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                _wait_a_moment(pid)
    shutil.rmtree(scratch, ignore_errors=True)


def _working_below(folder: bytes) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        told = b""
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                told += (entry / name).read_bytes()
        if b"TMPDIR=" + folder in told or folder + b"/" in told:
            found.append(int(entry.name))
    return found


def _wait_a_moment(pid: int) -> None:
    """Up to two seconds for a process that was told to end."""
    import time

    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                return
        except (OSError, IndexError):
            return
        time.sleep(0.02)


def _rebuilt(message: dict[str, Any]) -> OptimasError:
    kind = getattr(errors, str(message.get("type")), OptimasError)
    if not (isinstance(kind, type) and issubclass(kind, OptimasError)):
        kind = OptimasError
    return kind(
        str(message.get("what")),
        where=message.get("where"),
        line=message.get("line"),
        remedy=str(message.get("remedy") or ""),
    )


def _death(status: int, words: str) -> WorkerError:
    """The sentence about a job that ended without an answer."""
    logger.warning("a job ended with status %d and said: %s", status, words)
    last = next((line.strip() for line in reversed(words.splitlines()) if line.strip()), "")
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    said = f"; its last words: {last[:LAST_WORDS]}" if last else ""
    return WorkerError(f"the job's process {how} before it was done{said}", remedy="run it again")
