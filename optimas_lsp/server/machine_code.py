"""The machine code of a kernel for an editor: made by a process of its own, with today's lines of open files."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimas_lsp.server import own_process
from optimas_lsp.server.job_commands import JobCommands, words
from optimas_lsp.server.job_outcome import JobError
from optimas_lsp.server.locations import uri_of
from optimas_lsp.server.messages import Pieces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from optimas_lsp.server.orders import Target
    from optimas_lsp.server.session import Session
    from optimas_lsp.server.snapshot import Snapshot

KEPT = 4
"""Kernels whose machine code stays in memory, the last asked for."""

ROWS = b',"rows":['
"""Where the long part of the data begins. It goes through as it is: reading it would hold up the server's loop. No
name can look like it: in a JSON string its quotation marks have backslashes."""

LONGEST_DATA, LONGEST_TEXT = 32 * 1024 * 1024, 8 * 1024 * 1024
"""Bytes that an editor gets: about 70,000 instructions, and some more as a text."""


@dataclass(frozen=True)
class _Made:
    """What ``optimas sass`` printed as JSON: what is before its rows, and these without the last brace."""

    before: bytes
    rows: memoryview
    files: list[str]
    lines: list[list[int]]

    @classmethod
    def of(cls, output: bytes) -> _Made:
        at = output.index(ROWS)
        head = json.loads(output[:at] + b"}")
        return cls(output[:at], memoryview(output)[at : output.rindex(b"}")], head["files"], head["lines"])


class MachineCodeCommands:
    """The commands of one session about machine code; ``show`` shows a text as a document."""

    def __init__(self, session: Session, jobs: JobCommands, show: Callable[[str, str], Awaitable[str]]) -> None:
        self._session = session
        self._jobs = jobs
        self._show = show
        self._made: OrderedDict[tuple[object, ...], _Made] = OrderedDict()

    async def data(self, arguments: list[Any]) -> Pieces:
        """``optimas.sass/1`` of a kernel with its listing: a file's URI, and a mangled name or none for the costliest.

        ``sources`` says for each of its ``files`` which one that is here, and where the profiled lines with code stand
        in the open text.
        """
        uri, mangled = words(arguments, "a file's URI", least=1, most=2)
        about = await self._jobs.target(uri, mangled)
        key = (about.report.path, about.report.stamp, about.kernel.mangled)
        background = self._session.background
        made = self._made.get(key)
        if made is None:
            made = await background.run(_Made.of, await self._printed(about, LONGEST_DATA, "--format", "json"))
        self._made[key] = made
        self._made.move_to_end(key)
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        sources = await background.run(_sources, about, made, self._session.snapshot)
        return Pieces((made.before, made.rows, b',"sources":', sources, b"}"))

    async def open(self, arguments: list[Any]) -> str:
        """Show the listing as a document: a file's URI, a mangled name or none, a line (from 1) or none for all."""
        line = arguments[2] if len(arguments) > 2 else None
        if not (line is None or (type(line) is int and line > 0)):
            raise JobError("the third argument is a line, from 1", remedy="leave it out for the whole kernel")
        uri, mangled = words(arguments[:2], "a file's URI", least=1, most=2)
        about = await self._jobs.target(uri, mangled)
        only: list[str] = []
        if line is not None:
            view = self._session.snapshot.view(about.uri)
            profiled = line if view is None else view.anchors.profiled(line)
            match = about.report.match(about.path)
            if profiled is None or match is None:
                raise JobError(f"line {line} was not there when the kernel was profiled", where=about.path,
                               remedy="profile again, or leave the line out")  # fmt: skip
            only = ["--line", f"{match.file}:{profiled}"]
        printed = await self._printed(about, LONGEST_TEXT, *only)
        return await self._show(await self._session.background.run(printed.decode, "utf-8", "replace"), ".sass")

    async def _printed(self, about: Target, most: int, *more: str) -> bytes:
        command = ["sass", str(about.report.path), "--kernel", about.pattern, "--source", str(about.folder), *more]
        try:
            done = await own_process.run(own_process.command_line(*command), limit=most)
        except own_process.TooLongError:
            raise JobError(f"the machine code of {about.kernel.base_name} is too long for an editor, over "
                           f"{most // 1024 // 1024} MB", where=about.report.path,
                           remedy="show a line's, or use: optimas sass REPORT -o FILE") from None  # fmt: skip
        if done.status != 0:
            why = done.complaint.removeprefix("optimas: ")
            raise JobError(f"the machine code cannot be shown: {why}", where=about.report.path)
        return done.output


def _sources(about: Target, made: _Made, snapshot: Snapshot) -> bytes:
    """For each file where it is here and, where it is open, where its lines with code stand today, as JSON."""
    here = {each.file: each.path for each in about.report.loaded.matches}
    opened = {document.path: uri for uri, document in snapshot.documents.items()}
    sources: list[dict[str, Any]] = []
    for file, used in zip(made.files, made.lines, strict=True):
        path = here.get(file)
        uri = None if path is None else opened.get(path) or uri_of(path)
        view = None if uri is None else snapshot.views.get(uri)
        lines = None
        if view is not None and view.index.report is about.report:
            lines = [[line, view.anchors.today(line)] for line in used]
        sources.append({"uri": uri, "lines": lines})
    return json.dumps(sources).encode()
