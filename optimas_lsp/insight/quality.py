"""How much of a report's scoreboard stalls the causes explain, and how much plain register def-use would have.

Shares are of the scoreboard-stall samples (long and short scoreboard, all samples) of a kernel or of several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pydantic import Field

from optimas_lsp.insight.locate import Locator, Place, Resolve, is_library
from optimas_lsp.profile.model import Frozen, Kernel, Profile
from optimas_lsp.sass.blame import DOMINANT, rules
from optimas_lsp.sass.def_use import DefUse
from optimas_lsp.sass.operands import semantics


class Shares(Frozen):
    """How sure the cause of a share of the samples is (each 0 to 1, together 1).

    ``certain``: one producer, ``dominant``: one holds at least 90 %, ``shared``: several, ``none``: no known cause.
    """

    certain: float = 0.0
    dominant: float = 0.0
    shared: float = 0.0
    none: float = 0.0

    @property
    def one(self) -> float:
        """Share of the samples with one cause for at least 90 % of the blame."""
        return self.certain + self.dominant


class KernelQuality(Frozen):
    """One kernel. ``by_line`` asks whether one source *line* holds the blame; None without line information.

    ``moved_from_library`` and ``moved_from_never_executed`` count samples (of all reasons) that were taken on a
    library's line or on an instruction that never executed and are now shown at, or blamed on, another line.
    """

    kernel: str = Field(description="mangled name")
    base_name: str
    scoreboard_samples: int
    by_instruction: Shares
    by_line: Shares | None
    def_use_by_instruction: Shares
    def_use_by_line: Shares | None
    instructions: int
    decoded: int = Field(description="instructions whose opcode is known; 0 where causes were withheld")
    samples: int
    moved_from_library: int
    moved_from_never_executed: int


def quality(profile: Profile, resolve: Resolve | None = None) -> tuple[KernelQuality, ...]:
    """The quality of every kernel of a distilled profile that has samples."""
    locator = Locator(profile, resolve)
    return tuple(_kernel(profile, kernel, locator) for kernel in profile.kernels if kernel.samples.all_)


def pooled(kernels: Iterable[KernelQuality]) -> dict[str, Shares]:
    """Shares over all samples of several kernels, by field name; line figures leave out kernels without lines."""
    found: dict[str, Shares] = {}
    every = list(kernels)
    for name in ("by_instruction", "by_line", "def_use_by_instruction", "def_use_by_line"):
        totals: Counter[str] = Counter()
        samples = 0
        for kernel in every:
            shares = getattr(kernel, name)
            if not isinstance(shares, Shares):
                continue
            samples += kernel.scoreboard_samples
            for word, value in shares.model_dump().items():
                totals[word] += value * kernel.scoreboard_samples
        found[name] = Shares(**{word: value / samples for word, value in totals.items()}) if samples else Shares()
    return found


def _kernel(profile: Profile, kernel: Kernel, locator: Locator) -> KernelQuality:
    places, _ = locator.places(kernel)
    placed = [places[chain] if chain >= 0 else None for chain in kernel.code.chain]
    lines = [_line(place) for place in placed]
    edges: dict[tuple[int, int], list[tuple[int, float]]] = {}
    dominated: set[tuple[int, int]] = set()
    for edge in kernel.code.causes or ():
        edges.setdefault((edge.consumer, edge.reason), []).append((edge.producer, edge.share))
        if edge.confidence == "dominant":  # one producer is left, but others were possible
            dominated.add((edge.consumer, edge.reason))
    def_use = DefUse(kernel.code)
    ours, theirs = _Tally(lines), _Tally(lines)
    library = never = total = 0
    columns = zip(kernel.samples.instruction, kernel.samples.reason, kernel.samples.all_, strict=True)
    for at, reason, count in columns:
        total += count
        name = profile.reasons[reason]
        known = edges.get((at, reason), [])
        rule = rules().get(name)
        if rule is not None and rule.rule == "scoreboard":
            ours.add(count, dict(known), sole=(at, reason) not in dominated)
            theirs.add(count, def_use.producers(at, name))
        place = placed[at]
        if isinstance(place, Place) and place.shown is not None and is_library(place.location.file):
            library += count if place.shown != place.location else 0
        elif kernel.code.executed is not None and not kernel.code.executed[at]:
            never += count if any(lines[producer] not in (None, lines[at]) for producer, _ in known) else 0
    text = [text.split() for text in kernel.code.sass if text]
    opcodes = [next((word for word in words if not word.startswith("@")), "") for words in text]
    decoded = sum(semantics(opcode.partition(".")[0]).known for opcode in opcodes)
    with_lines = any(line is not None for line in lines)
    return KernelQuality(
        kernel=kernel.mangled,
        base_name=kernel.base_name,
        scoreboard_samples=ours.samples,
        by_instruction=ours.shares(ours.instruction),
        by_line=ours.shares(ours.line) if with_lines else None,
        def_use_by_instruction=theirs.shares(theirs.instruction),
        def_use_by_line=theirs.shares(theirs.line) if with_lines else None,
        instructions=len(opcodes),
        decoded=decoded if kernel.code.causes is not None else 0,
        samples=total,
        moved_from_library=library,
        moved_from_never_executed=never,
    )


def _line(place: object) -> tuple[str, int] | None:
    return (place.location.file, place.location.line) if isinstance(place, Place) else None


class _Tally:
    """Counts samples by how sure their cause is, by instruction and by line."""

    def __init__(self, lines: list[tuple[str, int] | None]) -> None:
        self._lines = lines
        self.samples = 0
        self.instruction: Counter[str] = Counter()
        self.line: Counter[str] = Counter()

    def add(self, count: int, producers: Mapping[int, float], *, sole: bool = True) -> None:
        """``count`` samples whose blame is divided as ``producers`` (column to share) say.

        ``sole`` is False where others could have been to blame too, however little.
        """
        self.samples += count
        self.instruction[_sure(list(producers.values()), sole)] += count
        by_line: Counter[tuple[str, int]] = Counter()
        for at, share in producers.items():
            line = self._lines[at]
            if line is not None:
                by_line[line] += share  # pyright: ignore[reportArgumentType] (shares are fractions)
        self.line[_sure(list(by_line.values()), sole or len(by_line) > 1)] += count

    def shares(self, counts: Mapping[str, int]) -> Shares:
        """Counts as shares of all."""
        return Shares(**{word: count / self.samples for word, count in counts.items()}) if self.samples else Shares()


def _sure(shares: list[float], sole: bool) -> str:
    if not shares:
        return "none"
    if len(shares) == 1 and sole:
        return "certain" if shares[0] >= DOMINANT else "shared"
    return "dominant" if max(shares) >= DOMINANT else "shared"
