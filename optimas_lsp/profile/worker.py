"""The worker process: reads one slice of a report, then ends and takes what the native reader leaked with it.

Run as ``python -m optimas_lsp.profile.worker``; it takes one job (a line of JSON) on standard input and answers with
lines of JSON. The native reader may print: whatever it writes goes nowhere, never into an editor's LSP stream.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TextIO, cast

from optimas_lsp.errors import OptimasError
from optimas_lsp.profile.distilled import dump, parse
from optimas_lsp.profile.job import MEMORY_EXIT, ORPHAN_EXIT, Job, plan
from optimas_lsp.profile.limits import MB
from optimas_lsp.profile.merge import merge
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.notes import annotate
from optimas_lsp.profile.replace import write_atomically

_WATCH_SECONDS = 0.05
_ADDRESS_ROOM_MB = 2048
"""Address space beyond the memory limit: libraries map far more than they touch."""


class Channel:
    """Sends lines of JSON to the parent; progress is thinned to what an eye can follow."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._last = 0.0

    def send(self, **message: object) -> None:
        """Send one message now."""
        self._stream.write(json.dumps(message).encode("ascii") + b"\n")
        self._stream.flush()

    def progress(self, done: int, last: bool) -> None:
        """Tell how many launches of the slice are read, twenty times a second at most."""
        now = time.monotonic()
        if last or now - self._last > _WATCH_SECONDS:
            self._last = now
            self.send(done=done)


def main() -> int:
    """Do the one job; the exit status is 0 unless the process had to give up."""
    channel = _take_output()
    job = Job.parse(sys.stdin.buffer.readline())
    _guard(job)
    try:
        _run(job, channel)
    except OptimasError as error:
        channel.send(
            error={
                "kind": type(error).__name__,
                "what": error.what,
                "where": error.where,
                "line": error.line,
                "remedy": error.remedy,
            }
        )
    except MemoryError:
        return MEMORY_EXIT
    return 0


def _run(job: Job, channel: Channel) -> None:
    if job.kind == "finish":
        parts = [parse(Path(part).read_bytes(), Path(part), trusted=True) for part in job.parts]
        _finish(parts, job, channel)
        return
    from optimas_lsp.profile.readers.ncu import Reader

    reader = Reader(job)
    start, stop, alone = job.start, job.stop, False
    if job.kind == "first":
        slices = plan(reader.launches, job.workers, job.slice_launches)
        channel.send(slices=slices)
        (start, stop), alone = slices[0], len(slices) == 1
    part = reader.read(start, stop, channel.progress)
    if alone:
        _finish([part], job, channel)
    else:
        write_atomically(Path(job.part), dump(part, packed=False))
        channel.send(part=job.part)


def _finish(parts: list[Profile], job: Job, channel: Channel) -> None:
    """Merge, write the plain profile, then enrich: if enriching kills the process, the plain one is still there."""
    merged = annotate(merge(parts), report_mtime=job.mtime)
    write_atomically(Path(job.plain), dump(merged.model_copy(update={"modules": ()}), packed=True))
    channel.send(merged=True)
    if job.enrich:
        module, _, function = job.enrich.partition(":")
        enrich = cast("Callable[[Profile], Profile]", getattr(importlib.import_module(module), function))
        merged = enrich(merged)
    write_atomically(Path(job.whole), dump(merged, packed=True))


def _take_output() -> Channel:
    """Keep the parent's pipes for ourselves and give the native reader nothing to write to."""
    out, err = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.stderr = cast("TextIO", os.fdopen(err, "w", buffering=1, encoding="utf-8", errors="backslashreplace"))
    return Channel(os.fdopen(out, "wb"))


def _guard(job: Job) -> None:
    """End this process when it needs too much memory or its parent is gone."""
    try:
        import resource
    except ImportError:  # Windows has none; the parent's time limit still holds there
        resource = None
    if resource is not None:
        room = (job.memory_limit_mb + _ADDRESS_ROOM_MB) * MB
        _lower(resource, resource.RLIMIT_AS, room)
        _lower(resource, resource.RLIMIT_CORE, 0)
        threading.Thread(target=_watch_memory, args=(job.memory_limit_mb,), daemon=True).start()
    threading.Thread(target=_watch_parent, daemon=True).start()


def _lower(resource: Any, which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(which, (value, hard))
    except (OSError, ValueError):
        return  # macOS refuses to bound the address space; the watch bounds resident memory there


def _watch_memory(limit_mb: int) -> None:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KB elsewhere
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit <= limit_mb * MB:
        time.sleep(_WATCH_SECONDS)
    os._exit(MEMORY_EXIT)


def _watch_parent() -> None:
    """The parent holds our standard input open for as long as it lives."""
    while os.read(0, 1):
        pass
    os._exit(ORPHAN_EXIT)


if __name__ == "__main__":
    raise SystemExit(main())
