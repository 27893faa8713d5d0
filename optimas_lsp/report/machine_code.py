"""Machine code as a listing: source lines as headings, under each its instructions, in the order they lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from optimas_lsp.insight.machine_code import Edge, Listed, MachineCode, Row
from optimas_lsp.insight.sentences import percent
from optimas_lsp.report.rows import plain

LineOf = Callable[[int, int], str]
"""The text of a line: index into the files, line from 1; empty where it is not at hand."""

BAR_CELLS = 6
SASS_CELLS = 58
LEAST_SHARE = 0.005
"""Of the kernel's stalled samples: what takes less is not spoken of."""

LEAST_SHOWN = 0.0005
"""A smaller share is left blank."""

MOST_EDGES = 2
"""Named in one row, to either side."""

MOST_INDENTED = 40
"""Callers below this many are not indented further."""

ELSEWHERE = "no line is known"


def listing(code: MachineCode, line_of: LineOf, *, only: Sequence[int] | None = None) -> Iterator[Listed]:
    """The listing's lines; with ``only`` just these rows, ascending, and a mark where others were left out."""
    yield Listed(text=plain(code.kernel))
    about = f"{plain(code.device)}, {plain(code.report)}: {len(code.rows)} instructions, {_sampled(code)}"
    yield Listed(text=about)
    yield Listed(text="")
    yield Listed(text=f"{'stalled':>{BAR_CELLS + 6}} {'samples':>8} {'executed':>10}  {'offset':>6}  instruction")
    before: tuple[tuple[int, int], ...] | None = None
    last: int | None = None
    for number in range(len(code.rows)) if only is None else only:
        row = code.rows[number]
        left_out = only is not None and number - (-1 if last is None else last) > 1
        if left_out:
            yield Listed(text="          …")
        if before != row.places or left_out:
            yield from _heading(code, row, line_of)
        before, last = row.places, number
        place = row.places[0] if row.places else None
        yield Listed(text=_instruction(code, row), row=number, place=place)


def _sampled(code: MachineCode) -> str:
    if not code.samples:
        return "no samples"
    return f"{code.samples:,} samples, {code.stalled:,} of them of stalled warps"


def _heading(code: MachineCode, row: Row, line_of: LineOf) -> Iterator[Listed]:
    yield Listed(text="")
    if not row.places:
        yield Listed(text=ELSEWHERE)
        return
    for depth, (file, line) in enumerate(row.places):
        text = plain(line_of(file, line)).strip()
        words = f"{'  ' * min(depth, MOST_INDENTED)}{'in ' if depth else ''}{place_name(code, file, line)}"
        yield Listed(text=f"{words}  {text}".rstrip(), place=(file, line))


def place_name(code: MachineCode, file: int, line: int) -> str:
    """File name and line."""
    name = code.files[file].replace("\\", "/").rstrip("/").rpartition("/")[2] if 0 <= file < len(code.files) else "?"
    return f"{plain(name)}:{line}"


def _instruction(code: MachineCode, row: Row) -> str:
    share = code.share(row.stalled)
    bar = ("█" * round(share * BAR_CELLS)).ljust(BAR_CELLS)
    part = percent(share) if share >= LEAST_SHOWN else ""
    samples = f"{row.samples:,}" if row.samples else ""
    executed = "" if row.executed is None else f"{row.executed:,}"
    words = f"{bar}{part:>6} {samples:>8} {executed:>10}  {_at(row)}  {plain(row.sass)}"
    notes = "; ".join(_notes(code, row))
    return f"{words:<{BAR_CELLS + 36 + SASS_CELLS}}  {notes}".rstrip()


def _notes(code: MachineCode, row: Row) -> Iterator[str]:
    if code.share(row.stalled) >= LEAST_SHARE and row.reasons:
        reason, count = row.reasons[0]
        yield f"{plain(reason)} {percent(count / row.stalled)}"
        for edge in _worth(code, row.waits_for):
            other = code.rows[edge.row]
            yield f"waits for {_named(code, other)} ({percent(edge.samples / row.stalled)})"
    for edge in _worth(code, row.awaited_by):
        yield f"{_at(code.rows[edge.row])} waits for it ({percent(code.share(edge.samples))} of all)"


def _worth(code: MachineCode, edges: Sequence[Edge]) -> list[Edge]:
    return [each for each in edges if code.share(each.samples) >= LEAST_SHARE][:MOST_EDGES]


def _named(code: MachineCode, row: Row) -> str:
    words = row.sass.split()
    opcode = next((each for each in words if not each.startswith("@")), "?")
    place = f" at {place_name(code, *row.places[0])}" if row.places else ""
    return f"{_at(row)} {plain(opcode)}{place}"


def _at(row: Row) -> str:
    """The offset; of a function before the kernel it is negative."""
    return f"{'-' if row.offset < 0 else ''}0x{abs(row.offset):04x}"
