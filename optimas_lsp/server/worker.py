"""The process that reads one report for the server: says what was found as JSON lines, then ends.

Reading may need gigabytes or crash inside the vendor's reader; here it takes nobody along. Everything is sent in pieces
small enough that the server never spends more than a few milliseconds on one. The other end is ``jobs.py``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from optimas_lsp.config import Settings
from optimas_lsp.errors import OptimasError, ReportError
from optimas_lsp.insight.evidence import Analysis, Location
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Profile, SourceFile
from optimas_lsp.source.paths import Match, PathMapper
from optimas_lsp.source.syntax import language_of, parse
from optimas_lsp.source.text import SourceText

LINES_A_PIECE = 100
"""Lines or findings sent at a time."""

Item = TypeVar("Item")
Send = Callable[[dict[str, Any]], None]


def main() -> int:
    """Serve the one request on standard input; returns the exit status (0 also after a sentence about a failure)."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n") as out:
        os.dup2(2, 1)  # what native code prints must not get between the messages
        request: dict[str, Any] = json.loads(sys.stdin.readline())
        cancel = threading.Event()
        threading.Thread(target=_end_with_server, args=(cancel,), daemon=True).start()

        def send(message: dict[str, Any]) -> None:
            json.dump(message, out, ensure_ascii=True, separators=(",", ":"))
            out.write("\n")
            out.flush()

        try:
            _load(request, send, cancel)
        except OptimasError as error:
            unpacked = isinstance(error, ReportError) and request["report"] != error.where
            where = request["report"] if unpacked else error.where  # the user knows no unpacked copy
            send({"kind": "error", "type": type(error).__name__, "what": error.what, "where": where,
                  "line": error.line, "remedy": error.remedy})  # fmt: skip
        except MemoryError:
            send({"kind": "error", "type": "WorkerError", "what": "there was not enough memory to analyse the report",
                  "where": request["report"], "line": None,
                  "remedy": "raise profiles.memoryLimitMb, or profile fewer launches"})  # fmt: skip
    return 0


def _end_with_server(cancel: threading.Event) -> None:
    """The server keeps our standard input open as long as it wants the answer.

    Read without Python's buffers: their lock, held by this thread, would abort the interpreter at its end.
    """
    while os.read(0, 4096):
        pass
    cancel.set()
    os._exit(3)


def _load(request: dict[str, Any], send: Send, cancel: threading.Event) -> None:
    settings = Settings.model_validate(request["settings"])
    mapper = PathMapper([Path(folder) for folder in request["folders"]], settings.path_maps)
    matches: dict[str, Match] = {}

    def resolve(source: SourceFile) -> Path | None:
        if source.path not in matches:
            matches[source.path] = mapper.resolve(source)
        return matches[source.path].path

    def progress(read: int, total: int) -> None:
        send({"kind": "progress", "read": read, "total": total})

    cache = request.get("cache")
    profile, analysis = load_analysis(
        Path(request["report"]),
        settings,
        resolve=resolve,
        progress=progress,
        cancel=cancel,
        cache_dir=Path(cache) if cache else None,
    )
    for source in profile.files:
        resolve(source)
    analysis = with_definitions(profile, analysis, matches)
    for message in pieces(profile, analysis, matches):
        send(message)


def with_definitions(profile: Profile, analysis: Analysis, matches: dict[str, Match]) -> Analysis:
    """The analysis with definitions also for kernels without line information, found in the profiled text by name."""
    found = dict[str, Location]()
    for source in profile.files:
        path = matches[source.path].path
        language = language_of(source.path)
        if path is None or source.text is None or language is None:
            continue
        syntax = parse(SourceText.of(source.text), language)
        for kernel in analysis.kernels:
            if kernel.location is not None or kernel.mangled in found:
                continue
            hints = tuple(line.location.line for line in kernel.lines if line.location.file == source.path)
            function = syntax.kernel(kernel.name, kernel.mangled, hints)
            if function is not None:
                at = function.name_span.first.line
                found[kernel.mangled] = Location(file=source.path, line=at, path=str(path), function=function.name)
    kernels = tuple(
        kernel.model_copy(update={"location": found[kernel.mangled]}) if kernel.mangled in found else kernel
        for kernel in analysis.kernels
    )
    return analysis.model_copy(update={"kernels": kernels})


def pieces(profile: Profile, analysis: Analysis, matches: dict[str, Match]) -> Iterator[dict[str, Any]]:
    """The messages that carry an analysis, in the order ``jobs.py`` puts them together again."""
    yield {
        "kind": "report",
        "report": analysis.report.model_dump(mode="json", by_alias=True),
        "notes": [note.model_dump(mode="json") for note in analysis.notes],
        "launches": len(profile.launches),
        "capability": 10 * profile.device.compute_capability[0] + profile.device.compute_capability[1],
    }
    for source in profile.files:
        match = matches[source.path]
        real = None if match.path is None else os.path.realpath(match.path)
        yield {
            "kind": "file",
            "match": {"file": source.path, "path": real, "rule": match.rule, "why": match.why},
            "source": source.model_dump(mode="json") if real is not None else None,
        }  # fmt: skip
    for index, kernel in enumerate(analysis.kernels):
        head = kernel.model_copy(update={"lines": (), "evidence": ()})
        yield {"kind": "kernel", "kernel": head.model_dump(mode="json", by_alias=True)}
        for lines in _batches(kernel.lines):
            yield {"kind": "lines", "of": index, "lines": _dumped(lines)}
        for evidence in _batches(kernel.evidence):
            yield {"kind": "evidence", "of": index, "evidence": _dumped(evidence)}
    yield {"kind": "done"}


def _dumped(models: Sequence[BaseModel]) -> list[dict[str, Any]]:
    return [model.model_dump(mode="json", by_alias=True) for model in models]


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), LINES_A_PIECE):
        yield items[start : start + LINES_A_PIECE]


if __name__ == "__main__":
    raise SystemExit(main())
