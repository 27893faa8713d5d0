"""The machine code of a kernel, instruction by instruction: samples, what it waits for, and who waits for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Literal

from pydantic import Field

from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.model import CauseEdge, Code, Frozen, Kernel, Profile

SCHEMA = "optimas.sass/1"


class Edge(Frozen):
    """The other end of a wait: ``row`` is an index into the rows, ``samples`` those of the waiting instruction's.

    ``kind`` and ``confidence`` are those of ``profile.model.CauseEdge``.
    """

    row: int
    reason: str
    samples: float
    kind: Literal["raw", "war", "sync", "self", "drain"]
    confidence: Literal["certain", "dominant", "shared"]


class Row(Frozen):
    """One instruction. ``places`` are (index into files, line), innermost first; empty without line information."""

    offset: int = Field(description="bytes from the kernel's first instruction")
    sass: str
    places: tuple[tuple[int, int], ...] = ()
    executed: int | None = Field(default=None, description="times a warp executed it, over all launches")
    threads: float | None = Field(default=None, description="active threads a warp, mean over its executions")
    samples: int = 0
    stalled: int = Field(default=0, description="samples of warps that could not issue, whatever else was issued")
    reasons: tuple[tuple[str, int], ...] = Field(default=(), description="stall reasons with samples, most first")
    waits_for: tuple[Edge, ...] = Field(default=(), description="whom its waits are due to, most samples first")
    awaited_by: tuple[Edge, ...] = Field(default=(), description="who waits for it, most samples first")


class Listed(Frozen):
    """One line of the listing for people: about a row or, as a heading, about a place (index into files, line)."""

    text: str
    row: int | None = None
    place: tuple[int, int] | None = None


class MachineCode(Frozen):
    """``optimas.sass/1``: all rows of one kernel, ascending by offset; samples are summed over its launches."""

    schema_: Literal["optimas.sass/1"] = Field(default=SCHEMA, alias="schema")
    report: str
    device: str
    kernel: str = Field(description="demangled name")
    mangled: str
    files: tuple[str, ...] = Field(description="as the line table names them")
    lines: tuple[tuple[int, ...], ...] = Field(description="for each of the files the lines that have code, ascending")
    samples: int
    stalled: int
    rows: tuple[Row, ...]
    listing: tuple[Listed, ...] = ()

    def share(self, samples: float) -> float:
        """Part of the kernel's stalled samples, 0 to 1."""
        return samples / self.stalled if self.stalled else 0.0


def machine_code(profile: Profile, kernel: Kernel) -> MachineCode:
    """The rows of ``kernel`` with what ``profile`` knows of each."""
    code, reasons = kernel.code, profile.reasons
    samples: Counter[int] = Counter()
    stalls: defaultdict[int, Counter[str]] = defaultdict(Counter)
    columns = (kernel.samples.instruction, kernel.samples.reason, kernel.samples.all_)
    for instruction, reason, count in zip(*columns, strict=True):
        samples[instruction] += count
        if is_stall(reasons[reason]) and count:
            stalls[instruction][reasons[reason]] += count
    waits_for: defaultdict[int, list[Edge]] = defaultdict(list)
    awaited_by: defaultdict[int, list[Edge]] = defaultdict(list)
    for edge in code.causes or ():
        reason = reasons[edge.reason]
        part = stalls[edge.consumer][reason] * edge.share
        if part and edge.consumer != edge.producer:
            waits_for[edge.consumer].append(_edge(edge, edge.producer, reason, part))
            awaited_by[edge.producer].append(_edge(edge, edge.consumer, reason, part))
    rows = tuple(
        Row(
            offset=offset,
            sass=code.sass[number],
            places=_places(code, number),
            executed=None if code.executed is None else code.executed[number],
            threads=_threads(code, number),
            samples=samples[number],
            stalled=stalls[number].total(),
            reasons=tuple(sorted(stalls[number].items(), key=lambda item: (-item[1], item[0]))),
            waits_for=_sorted(waits_for[number]),
            awaited_by=_sorted(awaited_by[number]),
        )
        for number, offset in enumerate(code.offset)
    )
    used: list[set[int]] = [set() for _ in profile.files]
    for file, line in {place for row in rows for place in row.places}:
        used[file].add(line)
    return MachineCode(
        report=profile.report_name,
        device=profile.device.name,
        kernel=kernel.name,
        mangled=kernel.mangled,
        files=tuple(each.path for each in profile.files),
        lines=tuple(tuple(sorted(each)) for each in used),
        samples=samples.total(),
        stalled=sum(each.total() for each in stalls.values()),
        rows=rows,
    )


def _edge(edge: CauseEdge, row: int, reason: str, samples: float) -> Edge:
    return Edge(row=row, reason=reason, samples=round(samples, 3), kind=edge.kind, confidence=edge.confidence)


def _sorted(edges: list[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda each: (-each.samples, each.row, each.reason)))


def _places(code: Code, number: int) -> tuple[tuple[int, int], ...]:
    chain = code.chain[number]
    return () if chain < 0 else tuple((frame.file, frame.line) for frame in code.chains[chain] if frame.file >= 0)


def _threads(code: Code, number: int) -> float | None:
    if code.executed is None or code.thread_executed is None or not code.executed[number]:
        return None
    return round(code.thread_executed[number] / code.executed[number], 2)
