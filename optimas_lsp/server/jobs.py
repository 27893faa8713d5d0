"""Loads reports as jobs: a worker process each, with progress, a cancel path that kills its whole process group.

Nothing runs in threads here: the worker streams JSON lines and the loop takes them one at a time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimas_lsp import errors
from optimas_lsp.errors import OptimasError, WorkerError
from optimas_lsp.server.own_process import kill_group, start

if TYPE_CHECKING:
    from optimas_lsp.insight.evidence import Analysis, Evidence, KernelAnalysis, LineHeat
    from optimas_lsp.profile.model import SourceFile

logger = logging.getLogger(__name__)

PIECE_LIMIT = 256 * 1024 * 1024
"""Longest line a worker may send (bytes): one embedded source file."""

Progress = Callable[[int, int], None]
"""Called with (launches read, launches in all)."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What one worker is asked for. ``settings`` is plain data; ``cache`` is the cache folder, None for the user's."""

    report: Path
    settings: dict[str, Any]
    folders: tuple[Path, ...]
    cache: Path | None = None

    def message(self) -> bytes:
        """The request as the worker reads it."""
        return (
            json.dumps(
                {
                    "report": str(self.report),
                    "settings": self.settings,
                    "folders": [str(folder) for folder in self.folders],
                    "cache": None if self.cache is None else str(self.cache),
                }
            )
            + "\n"
        ).encode()


@dataclass(frozen=True, slots=True)
class FileMatch:
    """Where one profiled path was found in the workspace, by which rule, and why or why not in words."""

    file: str
    path: Path | None
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one report told: its analysis, where its files are, and the profiled text of those in the workspace.

    ``capability`` is the GPU's, times ten.
    """

    analysis: Analysis
    launches: int
    matches: tuple[FileMatch, ...]
    sources: dict[str, SourceFile]
    capability: int | None = None


@dataclass(slots=True)
class _Assembly:
    """Puts the pieces of ``worker.pieces`` together."""

    report: dict[str, Any] = field(default_factory=dict[str, Any])
    matches: list[FileMatch] = field(default_factory=list[FileMatch])
    sources: dict[str, SourceFile] = field(default_factory=dict[str, "SourceFile"])
    kernels: list[KernelAnalysis] = field(default_factory=list["KernelAnalysis"])
    lines: list[list[LineHeat]] = field(default_factory=list[list["LineHeat"]])
    evidence: list[list[Evidence]] = field(default_factory=list[list["Evidence"]])

    def take(self, message: dict[str, Any]) -> None:
        from optimas_lsp.insight.evidence import Evidence, KernelAnalysis, LineHeat
        from optimas_lsp.profile.model import SourceFile

        match message["kind"]:
            case "report":
                self.report = message
            case "file":
                found = message["match"]
                path = None if found["path"] is None else Path(found["path"])
                self.matches.append(FileMatch(found["file"], path, found["rule"], found["why"]))
                if message["source"] is not None:
                    self.sources[found["file"]] = SourceFile.model_validate(message["source"])
            case "kernel":
                self.kernels.append(KernelAnalysis.model_validate(message["kernel"]))
                self.lines.append([])
                self.evidence.append([])
            case "lines":
                self.lines[message["of"]] += [LineHeat.model_validate(each) for each in message["lines"]]
            case "evidence":
                self.evidence[message["of"]] += [Evidence.model_validate(each) for each in message["evidence"]]
            case kind:
                raise WorkerError(f"the worker sent an unknown message '{kind}'", remedy="reinstall optimas-lsp")

    def done(self) -> Loaded:
        from optimas_lsp.insight.evidence import Analysis, ReportInfo
        from optimas_lsp.profile.model import Note

        kernels = tuple(
            kernel.model_copy(update={"lines": tuple(lines), "evidence": tuple(evidence)})
            for kernel, lines, evidence in zip(self.kernels, self.lines, self.evidence, strict=True)
        )
        analysis = Analysis(
            report=ReportInfo.model_validate(self.report["report"]),
            kernels=kernels,
            notes=tuple(Note.model_validate(note) for note in self.report["notes"]),
        )
        launches, capability = self.report["launches"], self.report["capability"]
        return Loaded(analysis, launches, tuple(self.matches), self.sources, capability)


async def load(request: LoadRequest, on_progress: Progress | None = None) -> Loaded:
    """Read and analyse one report in a process of its own.

    Raises the OptimasError the worker met, or WorkerError when it died. Cancelling the task kills the worker with every
    process it started.
    """
    process = await start("-P", "-m", "optimas_lsp.server.worker", limit=PIECE_LIMIT)
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise WorkerError("a worker could not be connected", where=request.report)
    complaints = asyncio.ensure_future(stderr.read())
    try:
        stdin.write(request.message())
        assembly = _Assembly()
        while line := await stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message["kind"] == "done":
                return assembly.done()
            if message["kind"] == "error":
                raise _rebuilt(message)
            if message["kind"] == "progress":
                if on_progress is not None:
                    on_progress(message["read"], message["total"])
                continue
            assembly.take(message)
            await asyncio.sleep(0)
        raise _death(request.report, await process.wait(), await complaints)
    except ConnectionError:
        raise _death(request.report, await process.wait(), await complaints) from None
    finally:
        complaints.cancel()
        kill_group(process)
        await asyncio.shield(process.wait())


def _rebuilt(message: dict[str, Any]) -> OptimasError:
    kind = getattr(errors, message["type"], OptimasError)
    error: OptimasError = kind(message["what"], where=message["where"], line=message["line"], remedy=message["remedy"])
    return error


def _death(report: Path, status: int, complaints: bytes) -> WorkerError:
    """The sentence about a worker that ended without an answer."""
    if complaints:
        logger.warning("the worker that read %s said: %s", report, complaints.decode("utf-8", "replace")[-4000:])
    if status == -signal.SIGKILL if os.name == "posix" else False:
        what = "the process that read the report was killed (most often for lack of memory)"
        remedy = "free memory, or profile fewer launches (ncu --launch-count) and reload the reports"
    elif status < 0:
        what = f"the process that read the report crashed (signal {-status})"
        remedy = "open the report in Nsight Compute to see whether it is damaged, then reload the reports"
    else:
        what = f"the process that read the report ended early (status {status})"
        remedy = "see the server's log for its last words, then reload the reports"
    return WorkerError(what, where=report, remedy=remedy)
