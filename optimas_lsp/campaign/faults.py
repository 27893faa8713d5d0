"""Programs that failed unchanged: one experiment finds out, and the others of its program and device are not run.

A fault is a file beside the results, named by the content that it depends on: it is forgotten when the program changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from optimas_lsp.campaign.ending import Fault
from optimas_lsp.campaign.experiment import Axes, digest
from optimas_lsp.campaign.results import Results, ResultsError
from optimas_lsp.profile.replace import write_atomically

OWN = ("time",)
"""Gates whose fault is that of one kernel on one input: the others of the program may be timed all the same."""


@dataclass(frozen=True)
class Faults:
    """The faults that were found in one campaign; ``unchanged`` is an experiment's (``experiment.unchanged_of``)."""

    results: Results

    def keep(self, unchanged: str, axes: Axes, fault: Fault) -> None:
        """Remember it for every worker, in one step; raises ResultsError."""
        place = self._place(_own(unchanged, axes) if fault.gate in OWN else unchanged)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, json.dumps(asdict(fault)).encode())
        except OSError as error:
            raise ResultsError(f"cannot be written: {error.strerror}", where=place) from None

    def of(self, unchanged: str, axes: Axes) -> Fault | None:
        """What is known to be wrong with the program of an experiment; a file that cannot be read says nothing."""
        for name in (unchanged, _own(unchanged, axes)) if unchanged else ():
            try:
                plain: dict[str, Any] = json.loads(self._place(name).read_bytes())
                return Fault(str(plain["gate"]), str(plain["sentence"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return None

    def forget(self, experiments: Iterable[tuple[str, Axes]]) -> None:
        """Let these be found out anew."""
        for name in {each for unchanged, axes in experiments for each in (unchanged, _own(unchanged, axes))}:
            self._place(name).unlink(missing_ok=True)

    def _place(self, name: str) -> Path:
        return self.results.programs / f"{name}.json"


def _own(unchanged: str, axes: Axes) -> str:
    return digest({"unchanged": unchanged, "kernel": axes.kernel, "input": axes.input})
