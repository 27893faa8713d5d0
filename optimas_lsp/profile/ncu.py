"""How to call ncu, and what its output means: command lines, progress lines, known failures."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, cast

from optimas_lsp.errors import OptimasError

SECTIONS: tuple[str, ...] = (
    "SourceCounters",
    "SpeedOfLight",
    "SpeedOfLight_RooflineChart",
    "SpeedOfLight_HierarchicalSingleRooflineChart",
    "SpeedOfLight_HierarchicalDoubleRooflineChart",
    "SpeedOfLight_HierarchicalHalfRooflineChart",
    "SpeedOfLight_HierarchicalTensorRooflineChart",
    "WarpStateStats",
    "SchedulerStats",
    "LaunchStats",
    "Occupancy",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "ComputeWorkloadAnalysis",
    "InstructionStats",
)
"""What every insight needs and nothing else: ``--set full`` takes about twice the passes."""


class CollectError(OptimasError):
    """Profiling a program failed; ``code`` names which of the known failures it was (``unknown`` otherwise)."""

    def __init__(
        self, what: str, *, where: Path | str | None = None, line: int | None = None, remedy: str = "", code: str = ""
    ) -> None:
        super().__init__(what, where=where, line=line, remedy=remedy)
        self.code = code or "unknown"


Replay = Literal["kernel", "application", "range"]


@dataclass(frozen=True)
class Filter:
    """Which launches are profiled, and how: ``kernels`` is a regular expression over base names."""

    kernels: str = ""
    skip: int = 0
    count: int = 5
    replay: Replay = "kernel"
    clocks: Literal["base", "none"] = "base"
    sections: tuple[str, ...] = SECTIONS
    import_source: bool = True


def command(ncu: str, program: Sequence[str], output: Path, chosen: Filter) -> list[str]:
    """The command line that profiles ``program`` into ``output`` (which must not exist yet)."""
    line = [ncu, "--clock-control", chosen.clocks, "--replay-mode", chosen.replay]
    for section in chosen.sections:
        line += ["--section", section]
    if chosen.import_source:
        line += ["--import-source", "yes"]
    if chosen.kernels:
        line += ["--kernel-name", f"regex:{chosen.kernels}"]
    if chosen.skip:
        line += ["--launch-skip", str(chosen.skip)]
    if chosen.count:
        line += ["--launch-count", str(chosen.count)]
    return [*line, "--export", str(output), *program]


@dataclass(frozen=True)
class Failure:
    """One row of ``ncu_failures.toml``."""

    code: str
    pattern: re.Pattern[str]
    what: str
    remedy: str


@functools.cache
def failures() -> tuple[Failure, ...]:
    """Every failure we know, most specific first."""
    text = (resources.files("optimas_lsp.profile") / "ncu_failures.toml").read_text("utf-8")
    rows = cast("list[dict[str, str]]", tomllib.loads(text)["failure"])
    return tuple(Failure(row["code"], re.compile(row["pattern"]), row["what"], row["remedy"]) for row in rows)


_OURS = re.compile(r"^==(PROF|ERROR|WARNING)==\s?(.*)$")
_PROFILING = re.compile(r'Profiling "(?P<kernel>.*?)".*?(?:: .*?(?:- (?P<passes>\d+) pass(?:es)?)?)?$')
_EXIT = re.compile(r"error code \((-?\d+)\)")


@dataclass(frozen=True)
class Said:
    """One line of ncu itself: its ``kind`` and text."""

    kind: Literal["PROF", "ERROR", "WARNING"]
    text: str


def parse(line: str) -> Said | None:
    """What ncu said on this line, or None where the line is the program's own."""
    found = _OURS.match(line.rstrip("\r\n"))
    if found is None:
        return None
    return Said(cast("Literal['PROF', 'ERROR', 'WARNING']", found[1]), found[2].strip())


def profiled(said: Said) -> tuple[str, int | None] | None:
    """Kernel and number of passes of a progress line; None for any other line."""
    found = _PROFILING.match(said.text) if said.kind == "PROF" else None
    if found is None:
        return None
    return found["kernel"], int(found["passes"]) if found["passes"] else None


def diagnose(said: Sequence[Said]) -> tuple[Failure, str] | None:
    """The known failure that ``said`` shows, the most specific one first, and the line that shows it."""
    spoken = [one.text for one in said if one.kind != "PROF"]
    for failure in failures():
        for text in spoken:
            if failure.pattern.search(text):
                return failure, text
    return None


def exit_code(said: Sequence[Said]) -> int | None:
    """The exit code of the program as ncu reports it, where it was not 0."""
    for one in said:
        found = _EXIT.search(one.text)
        if found:
            return int(found[1])
    return None
