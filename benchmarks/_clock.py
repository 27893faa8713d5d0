"""Seconds of a piece of work as this machine would take them if it did nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Taken:
    """Best of several runs: ``wall`` seconds, ``cpu`` seconds of all threads, and which of them ``judged`` counts."""

    wall: float
    cpu: float
    busy: bool

    @property
    def judged(self) -> float:
        """The wall's seconds; on a machine with more ready processes than cores, the processor's, which hold there.

        Work that uses several cores takes less on the wall than on the processors, so this never flatters.
        """
        return self.cpu if self.busy else self.wall

    def __str__(self) -> str:
        note = ", machine busy: judged by processor time" if self.busy else ""
        return f"{1000 * self.wall:.0f} ms (processor {1000 * self.cpu:.0f} ms{note})"


def best_of(work: Callable[[], object], runs: int = 5) -> Taken:
    """Time ``work`` several times."""
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Taken(min(walls), min(cpus), os.getloadavg()[0] > (os.cpu_count() or 1))
