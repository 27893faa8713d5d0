"""Profile a program with ncu: run it, show how far it is, explain what went wrong, keep report and provenance."""

from __future__ import annotations

import contextlib
import datetime
import os
import queue
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from optimas_lsp.profile.ncu import CollectError, Said, command, diagnose, exit_code, parse, profiled
from optimas_lsp.profile.provenance import Measured, Request, write_provenance

SUFFIX = ".ncu-rep"
KEPT_LINES = 4000
"""Lines of output kept for diagnosis; a chatty program cannot fill the memory."""


@dataclass(frozen=True)
class Step:
    """How far it is: run ``run`` of ``runs``, launch ``launch`` (from 1) of ``kernel``, its passes if known."""

    run: int
    runs: int
    launch: int
    kernel: str
    passes: int | None


Progress = Callable[[Step], None]


def find_ncu(asked: str = "") -> str:
    """Path of ncu: the one asked for, on PATH, or in the usual places of the toolkit; raises CollectError if none."""
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise CollectError("is not a program that can be run", where=asked, remedy="check --ncu", code="no-ncu")
        return found
    found = shutil.which("ncu")
    if found is not None:
        return found
    for pattern in ("cuda/bin/ncu", "cuda-*/bin/ncu", "NVIDIA-Nsight-Compute*/ncu"):
        for candidate in sorted(Path("/usr/local").glob(pattern), reverse=True):
            if os.access(candidate, os.X_OK):
                return str(candidate)
    raise CollectError(
        "ncu (Nsight Compute) is not installed here",
        remedy="install it with the CUDA toolkit, or name it with --ncu; to profile on another machine, run there: "
        "ncu --set full --import-source yes -o profile PROGRAM, and copy profile.ncu-rep here",
        code="no-ncu",
    )


def read_sweep(path: Path) -> tuple[tuple[str, ...], ...]:
    """Argument lists of a sweep file: one shell-quoted list a line; empty lines and ``#`` comments are skipped."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CollectError(f"the sweep cannot be read: {reason}", where=path, code="sweep") from None
    rows: list[tuple[str, ...]] = []
    for number, line in enumerate(lines, 1):
        try:
            words = tuple(shlex.split(line, comments=True))
        except ValueError as error:
            raise CollectError(str(error), where=path, line=number, remedy="close the quote", code="sweep") from None
        if words:
            rows.append(words)
    if not rows:
        raise CollectError(
            "the sweep names no arguments", where=path, remedy="write one argument list a line", code="sweep"
        )
    return tuple(rows)


def collect(
    request: Request, progress: Progress | None = None, cancelled: Callable[[], bool] | None = None
) -> tuple[Measured, ...]:
    """Profile every run of ``request``; writes the reports and ``stem.provenance.json``.

    A report appears under its final name only when it is whole, so that whoever watches the folder never reads half of
    one. Raises CollectError with the cause and its remedy; reports of earlier runs of a sweep stay.
    """
    runs = request.sweep or ((),)
    targets = _targets(request, len(runs))
    _check_program(request)
    request.folder.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    try:
        for number, (arguments, target) in enumerate(zip(runs, targets, strict=True), 1):
            run = _Run(request, arguments, number=number, runs=len(runs), progress=progress, cancelled=cancelled)
            measured.append(run.measure(target))
    finally:
        if measured:
            write_provenance(request, measured, started)
    return tuple(measured)


def _targets(request: Request, runs: int) -> list[Path]:
    if runs == 1 and not request.sweep:
        targets = [request.folder / f"{request.stem}{SUFFIX}"]
    else:
        targets = [request.folder / f"{request.stem}-{number:03d}{SUFFIX}" for number in range(1, runs + 1)]
    taken = [target for target in targets if target.exists()]
    if taken and not request.replace:
        raise CollectError(
            "already exists",
            where=taken[0],
            remedy="choose another name with -o, or replace it with --force",
            code="exists",
        )
    return targets


def _check_program(request: Request) -> None:
    if not request.program:
        raise CollectError("no program was named", remedy="write it after --, with its arguments", code="no-program")
    if shutil.which(request.program[0]) is None:
        raise CollectError(
            "is not a program that can be run",
            where=request.program[0],
            remedy="check the path and that it is executable; build it first",
            code="no-program",
        )


class _Run:
    """One run of ncu in a process group of its own."""

    def __init__(
        self,
        request: Request,
        arguments: Sequence[str],
        *,
        number: int,
        runs: int,
        progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.request = request
        self.arguments = tuple(arguments)
        self.number = number
        self.runs = runs
        self.progress = progress
        self.cancelled = cancelled or (lambda: False)
        self.said: list[Said] = []
        self.program_lines: list[str] = []
        self.passes: list[int | None] = []

    def measure(self, target: Path) -> Measured:
        """Profile into a scratch folder, then move the report to ``target``."""
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="optimas-") as scratch:
            written = Path(scratch) / f"report{SUFFIX}"
            program = (*self.request.program, *self.arguments)
            status = self._run(command(self.request.ncu, program, written, self.request.chosen))
            self._judge(status, written)
            part = target.with_name(f".{target.name}.part")
            shutil.copyfile(written, part)
            part.replace(target)
        return Measured(target, self.arguments, time.monotonic() - start, tuple(self.passes))

    def _run(self, line: list[str]) -> int:
        deadline = time.monotonic() + self.request.time_limit_seconds
        try:
            process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise CollectError(
                f"cannot be started: {error.strerror}", where=line[0], remedy="check --ncu", code="no-ncu"
            ) from None
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        assert process.stdout is not None  # noqa: S101 (stdout=PIPE above)
        reader = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            self._follow(lines, deadline)
            return process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._too_long() from None
        finally:
            _end(process)
            reader.join(5.0)
            process.stdout.close()

    def _follow(self, lines: queue.SimpleQueue[str | None], deadline: float) -> None:
        while True:
            if self.cancelled():
                raise CollectError("profiling was cancelled; nothing was written for this run", code="cancelled")
            if time.monotonic() > deadline:
                raise self._too_long()
            try:
                line = lines.get(timeout=0.1)
            except queue.Empty:
                continue
            if line is None:
                return
            self._hear(line)

    def _hear(self, line: str) -> None:
        said = parse(line)
        if said is None:
            self.program_lines.append(line.rstrip())
            del self.program_lines[:-KEPT_LINES]
            return
        self.said.append(said)
        del self.said[:-KEPT_LINES]
        launch = profiled(said)
        if launch is not None:
            self.passes.append(launch[1])
            if self.progress is not None:
                self.progress(Step(self.number, self.runs, len(self.passes), launch[0], launch[1]))

    def _too_long(self) -> CollectError:
        return CollectError(
            f"profiling took more than {self.request.time_limit_seconds:.0f} s ({len(self.passes)} launches done)",
            where=shlex.join(self.request.program),
            remedy="profile fewer launches (--count), a smaller input, or raise --time-limit",
            code="time-limit",
        )

    def _judge(self, status: int, report: Path) -> None:
        """Raise what ncu said went wrong; a failed program spoils the report even where one was written."""
        known = diagnose(self.said)
        code = exit_code(self.said)
        place = shlex.join((*self.request.program, *self.arguments))
        if known is not None and (status != 0 or code is not None or not report.exists()):
            failure, line = known
            last = self._last_words() if failure.code == "program-failed" else ""
            what = f"profiling failed: {failure.what}{f' with exit code {code}' if code is not None else ''}"
            raise CollectError(f'{what} (ncu: "{line}"){last}', where=place, remedy=failure.remedy, code=failure.code)
        if status != 0 or not report.exists():
            spoken = [one.text for one in self.said if one.kind == "ERROR"] or self.program_lines[-5:]
            wrote = "wrote a report all the same" if report.exists() else "wrote no report"
            quoted = f' (last said: "{" / ".join(spoken[-3:])}")' if spoken else ""
            by_hand = command("ncu", (*self.request.program, *self.arguments), Path("profile"), self.request.chosen)
            raise CollectError(
                f"profiling failed: ncu ended with {_status(status)} and {wrote}{quoted}",
                where=place,
                remedy=f"run it by hand: {shlex.join(by_hand)}",
                code="unknown",
            )

    def _last_words(self) -> str:
        words = [line for line in self.program_lines if line.strip()][-3:]
        return f'; it last printed: "{" / ".join(words)}"' if words else "; it printed nothing"


def _status(status: int) -> str:
    if status < 0:
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"
    return f"exit code {status}"


def _pump(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole process group: ncu and the program it runs."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5.0)
