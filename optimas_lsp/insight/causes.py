"""The causes of one stall on one line: the edges of its instructions, summed by the line and opcode to blame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from optimas_lsp.insight.evidence import Cause, Location
from optimas_lsp.insight.locate import Locator, Place
from optimas_lsp.profile.model import CauseEdge, Kernel, Profile
from optimas_lsp.sass.operands import semantics

Kind = Literal["raw", "war", "sync", "self", "drain"]
Confidence = Literal["certain", "dominant", "shared", "none"]

DOMINANT = 0.90
"""From this share of a wait on, one line is its dominant cause."""

CERTAIN = 0.995
"""Share of a wait whose instructions have a single possible cause, from which the whole wait is called certain."""

LEAST = 0.0005
"""Causes below this share of a wait are left out (and named as unknown)."""


@dataclass
class Blamed:
    """One line's part in a wait. Counts are of samples (fractions where blame is shared); ``certain`` counts those
    whose instruction has only this possible cause."""

    place: Place | None
    opcode: str
    kind: Kind
    samples: float = 0.0
    not_issued: float = 0.0
    certain: float = 0.0

    @property
    def spot(self) -> Location | None:
        """Where to show it: the innermost line a person can change, else the innermost line."""
        return None if self.place is None else self.place.shown or self.place.location


@dataclass
class Wait:
    """Everything blamed for one stall, most blamed first; ``samples`` is the stall's own count."""

    samples: int
    blamed: list[Blamed] = field(default_factory=list[Blamed])

    @property
    def confidence(self) -> Confidence:
        """How sure the leading *line* is: opcodes on one line count together."""
        lines: dict[tuple[str, int], list[float]] = {}
        for item in self.blamed:
            spot = item.spot
            counts = lines.setdefault((spot.file, spot.line) if spot else ("", 0), [0.0, 0.0])
            counts[0] += item.samples
            counts[1] += item.certain
        if not lines or self.samples <= 0:
            return "none"
        leading, certain = max(lines.values())
        if certain >= CERTAIN * self.samples:
            return "certain"
        return "dominant" if leading >= DOMINANT * self.samples else "shared"

    def causes(self) -> tuple[Cause, ...]:
        """In the words of evidence; shares sum to 1."""
        found: list[Cause] = []
        for item in self.blamed:
            share = item.samples / self.samples if self.samples else 0.0
            if share < LEAST:
                continue
            sure: Confidence = "shared"
            if share >= DOMINANT:
                sure = "certain" if item.certain >= CERTAIN * item.samples else "dominant"
            location = item.place.location if item.place else Location(file="", line=0)
            found.append(
                Cause(
                    file=location.file,
                    line=location.line,
                    opcode=item.opcode,
                    share=round(share, 6),
                    confidence=sure,
                    kind=item.kind,
                    path=location.path,
                    inlined_at=item.place.inlined_at if item.place else (),
                )
            )
        rest = 1.0 - sum(cause.share for cause in found)
        if rest > LEAST or not found:
            found.append(Cause(file="", line=0, opcode="unknown", share=round(rest, 6), confidence="none"))
        elif rest:
            found[0] = found[0].model_copy(update={"share": round(found[0].share + rest, 6)})
        return tuple(found)


class Edges:
    """A kernel's causes by (instruction, reason), with its samples."""

    def __init__(self, profile: Profile, kernel: Kernel, locator: Locator) -> None:
        self._kernel = kernel
        self._reasons = {name: index for index, name in enumerate(profile.reasons)}
        self._places, _ = locator.places(kernel)
        self._edges: dict[tuple[int, int], list[CauseEdge]] = {}
        for edge in kernel.code.causes or ():
            self._edges.setdefault((edge.consumer, edge.reason), []).append(edge)
        columns = kernel.samples
        self._samples = {
            (instruction, reason): (count, idle)
            for instruction, reason, count, idle in zip(
                columns.instruction, columns.reason, columns.all_, columns.not_issued, strict=True
            )
        }

    def wait(self, reason: str, instructions: Sequence[int]) -> Wait:
        """What is to blame for the samples of ``reason`` on ``instructions``."""
        number = self._reasons[reason]
        blamed: dict[tuple[str, int, str, int, str, str], Blamed] = {}
        total = 0
        for instruction in instructions:
            count, idle = self._samples.get((instruction, number), (0, 0))
            total += count
            for edge in self._edges.get((instruction, number), ()):
                item = self._blamed(edge, blamed)
                item.samples += count * edge.share
                item.not_issued += idle * edge.share
                item.certain += count * edge.share if edge.confidence == "certain" else 0.0
        return Wait(total, sorted(blamed.values(), key=_order))

    def _blamed(self, edge: CauseEdge, known: dict[tuple[str, int, str, int, str, str], Blamed]) -> Blamed:
        chain = self._kernel.code.chain[edge.producer]
        place = self._places[chain] if chain >= 0 else None
        place = None if isinstance(place, str) else place
        opcode = _opcode(self._kernel.code.sass[edge.producer])
        location = place.location if place else Location(file="", line=0)
        shown = place.shown if place and place.shown else location
        key = (location.file, location.line, shown.file, shown.line, opcode, edge.kind)
        return known.setdefault(key, Blamed(place, opcode, edge.kind))


def _opcode(sass: str) -> str:
    words = sass.split()
    return next((word for word in words if not word.startswith("@")), "unknown").rstrip(";")


def _order(item: Blamed) -> tuple[float, str, int, str]:
    spot = item.spot
    return (-item.samples, spot.file if spot else "", spot.line if spot else 0, item.opcode)


def by_line(blamed: Iterable[Blamed]) -> dict[tuple[str, int], list[Blamed]]:
    """Grouped by the line to show them at; what has no line is left out."""
    lines: dict[tuple[str, int], list[Blamed]] = {}
    for item in blamed:
        if item.spot is not None:
            lines.setdefault((item.spot.file, item.spot.line), []).append(item)
    return lines


def what_is_awaited(opcode: str, kind: Kind, place: str) -> str:
    """What a warp waits for, with the place of its cause, e.g. ``for the value loaded at case.cu:15``."""
    base = opcode.partition(".")[0]
    meaning = semantics(base)
    if kind == "war":
        noun = {"load": "load", "store": "store", "copy": "copy", "atomic": "atomic", "reduce": "atomic"}
        return f"until the {noun.get(meaning.access or '', base)} {place} has read its operand"
    if kind == "drain":
        return f"for the last stores to leave, the one {place} among them"
    if kind == "sync":
        return f"{_MEETING.get(base, 'for the warps that arrive late,')} {place}"
    if kind == "self":
        return f"because of the {base} {place}"
    words = {
        ("load", "shared"): f"for the value read from shared memory {place}",
        ("load", "texture"): f"for the texture value fetched {place}",
        ("load", "constant"): f"for the constant read {place}",
        ("load", "local"): f"for the value reloaded from local memory {place}",
        ("copy", "global"): f"for the copy to shared memory started {place}",
    }
    found = words.get((meaning.access or "", meaning.space or ""))
    if found:
        return found
    if base == "SYNCS":
        return f"for the others to arrive at the mbarrier {place}"
    if meaning.access == "load":
        return f"for the value loaded {place}"
    if meaning.access in ("atomic", "reduce"):
        return f"for the atomic {place}"
    return f"for the result of {base} {place}"


_MEETING = {
    **dict.fromkeys(("BAR", "UCGABAR_WAIT", "UCGABAR_ARV"), "for the whole block at the barrier"),
    **dict.fromkeys(("MEMBAR", "ERRBAR", "FENCE", "CCTL", "CGAERRBAR"), "for the memory fence"),
    **dict.fromkeys(("HGMMA", "IGMMA", "QGMMA", "BGMMA"), "for the matrix products started"),
}
