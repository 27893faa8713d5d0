"""``optimas sass``: machine code under its source lines, with samples and what each instruction waits for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Format, Output, Sources
from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from optimas_lsp.insight.machine_code import MachineCode
    from optimas_lsp.profile.model import Kernel, Profile, SourceFile
    from optimas_lsp.report.machine_code import LineOf

MOST_NAMED = 20
"""Files that are named where another one was asked for."""


def sass(
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="A .ncu-rep, .ncu-repz or .optimas.json[.zst] file.")
    ],
    *,
    kernel: Annotated[
        str,
        typer.Option("--kernel", metavar="REGEX", help="Which kernel; of several the one that stalled most."),
    ] = "",
    line: Annotated[
        str,
        typer.Option("--line", metavar="FILE:LINE", help="Only this line's instructions and what they wait for."),
    ] = "",
    source: Sources = None,
    format_: Annotated[
        Format, typer.Option("--format", help="Text for people, JSON (optimas.sass/1) for programs.")
    ] = Format.text,
    output: Output = None,
) -> None:
    """Show a kernel's machine code under its source lines: samples, stall reasons, what waits for what.

    Works without a CUDA installation: the report carries the code.
    """
    from optimas_lsp.cli.reading import Reader, text_of
    from optimas_lsp.insight.machine_code import machine_code
    from optimas_lsp.report.machine_code import listing

    if output is not None:
        output_file.check(output, [report])
    reader = Reader.of(sources=source or [], kernel=kernel)
    profile = reader.chosen(report)
    found = machine_code(profile, _costliest(profile, reader.kernel))
    only = _rows(found, line) if line else None
    shown = listing(found, _lines(profile, partial(text_of, reader.mapper)), only=only)
    if format_ is Format.text:
        output_file.emit("".join(f"{each.text}\n" for each in shown), output)
        return
    whole = found.model_copy(update={"listing": tuple(shown)})
    output_file.emit(whole.model_dump_json(by_alias=True) + "\n", output)


def _costliest(profile: Profile, pattern: re.Pattern[str] | None) -> Kernel:
    from optimas_lsp.cli.reading import matches

    wanted = [each for each in profile.kernels if pattern is None or matches(pattern, each.name, each.mangled)]
    if not wanted:
        raise ConfigError("the report has no kernel", remedy="profile a program that launches one")
    return max(wanted, key=lambda each: sum(each.samples.not_issued) or sum(each.samples.all_))


def _rows(code: MachineCode, wanted: str) -> list[int]:
    """The rows of FILE:LINE and the other ends of what they wait for; raises ConfigError where there are none."""
    from optimas_lsp.report.rows import plain

    name, _, number = wanted.rpartition(":")
    if not name or not re.fullmatch("[0-9]{1,9}", number):
        raise ConfigError(f"--line {wanted}: not FILE:LINE", remedy="give, for example, --line kernel.cu:42")
    suffix = PurePosixPath(name.replace("\\", "/")).parts
    files = [at for at, each in enumerate(code.files) if _parts(each)[-len(suffix) :] == suffix]
    places = {(file, int(number)) for file in files}
    own = [at for at, row in enumerate(code.rows) if not places.isdisjoint(row.places)]
    if not own:
        used = {place for row in code.rows for place in row.places}
        if lines := sorted({line for file, line in used if file in files}):
            remedy = f"it has code from the lines {_ranges(lines)} of {name}"
        else:
            remedy = f"it has code from: {_names(code, {file for file, _ in used})}"
        raise ConfigError(f"{plain(code.kernel)} has no instruction of {wanted}", remedy=remedy)
    others = {edge.row for row in own for edge in (*code.rows[row].waits_for, *code.rows[row].awaited_by)}
    return sorted({*own, *others})


def _names(code: MachineCode, files: set[int]) -> str:
    names = sorted({"".join(_parts(code.files[file])[-1:]) or "a file without a name" for file in files})
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join([*names[:MOST_NAMED], *more]) or "no file"


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path.replace("\\", "/")).parts


def _ranges(lines: list[int]) -> str:
    """Ascending numbers, neighbours joined: 3-5, 9."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def _lines(profile: Profile, text_of: Callable[[SourceFile], str | None]) -> LineOf:
    from optimas_lsp.source.text import split_lines

    known: dict[int, tuple[str, ...]] = {}

    def line_of(file: int, line: int) -> str:
        if file not in known:
            text = text_of(profile.files[file])
            known[file] = split_lines(text or "")[0]
        lines = known[file]
        return lines[line - 1] if 0 < line <= len(lines) else ""

    return line_of
