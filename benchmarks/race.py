"""How a tournament's race treats a second candidate that is worse than, as good as, or better than the first.

Run with ``python benchmarks/race.py``; figures go to ``build/bench/race.json`` too. It simulates: times of the original
and of a candidate 1.5 times faster, with normal noise in the logarithm, go through the runner's own rule with the
settings of a short proof. Nothing is run, so this says how the rule behaves, not what a GPU does. It exits with 1 when
an equally good candidate is stopped in more than 3 % of the races, also as one of six, or one that is clearly worse in
fewer than 95 %.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from optimas_lsp.prove.options import SHORT_TIMING
from optimas_lsp.prove.runner import timed, timing
from optimas_lsp.prove.runner.job import TIMING

RACES = 120
FIRST = 1.5
"""How many times faster than the original the first candidate is."""

CASES = (
    *((0.003, 0.97), (0.003, 1.0), (0.003, 1.03)),
    *((0.01, 0.9), (0.01, 0.97), (0.01, 1.0)),
    *((0.02, 0.9), (0.02, 0.97), (0.02, 1.0)),
    *((0.08, 0.9), (0.08, 1.0)),
)
"""Noise of one run (standard deviation of the logarithm), and the second's speed over the first's."""

FIELD = 6
"""Candidates in a field of equals: each must hold against the best interval of all before it."""

WRONG, RIGHT = 0.03, 0.95


GAIN, RUNS = 1.03, 1000
"""A gain over the original that is hardly more than counts, and how often its short proof is simulated."""


def plan_of(best: float | None) -> dict[str, Any]:
    """How a short proof takes times."""
    return {**TIMING, **SHORT_TIMING, "race": {"best": best}}


def timed_pairs(chance: random.Random, speed: float, noise: float, best: float | None) -> tuple[str, timed.Series]:
    """(why it stopped, its times) of one candidate's short proof."""
    plan = plan_of(best)
    times: timed.Series = {side: {"kernel_ns": [], "gpu_ns": [], "program_s": []} for side in ("baseline", "candidate")}
    a, b = times["baseline"]["program_s"], times["candidate"]["program_s"]
    stopped = ""
    while not stopped:
        a.append(chance.lognormvariate(0, noise))
        b.append(chance.lognormvariate(0, noise) / speed)
        stopped = timed._enough(times, plan, (), len(a), 0.0)  # noqa: SLF001
    return stopped, times


def measured(chance: random.Random, speed: float, noise: float, best: float | None) -> tuple[str, int, float]:
    """(why it stopped, pairs, lower end of the interval) of one candidate."""
    stopped, times = timed_pairs(chance, speed, noise, best)
    a, b = times["baseline"]["program_s"], times["candidate"]["program_s"]
    return stopped, len(a), timing.ratio(a, b)[1]


def passing(noise: float) -> float:
    """Share of the short proofs of a candidate with ``GAIN`` whose time gate passes."""
    chance, passed, plan = random.Random(5), 0, plan_of(None)
    for _ in range(RUNS):
        times = timed_pairs(chance, GAIN, noise, None)[1]
        passed += timed.judge(timed.summarise(times, (), plan), times, plan, ())[0] == "pass"
    return passed / RUNS


def stopped_of_equals(noise: float) -> float:
    """Share of the candidates after the first that are stopped, where all of a field are equally good."""
    chance, lost = random.Random(5), 0
    for _ in range(RACES):
        best = None
        for _each in range(FIELD):
            stopped, _pairs, low = measured(chance, FIRST, noise, best)
            lost += stopped == "race"
            best = low if best is None or (low > best and stopped != "race") else best
    return lost / RACES / (FIELD - 1)


def main() -> int:
    """Print ``name value unit`` for each case."""
    figures: dict[str, float] = {}
    for noise, relative in CASES:
        chance, lost, pairs = random.Random(5), 0, 0
        for _ in range(RACES):
            best = measured(chance, FIRST, noise, None)[2]
            stopped, count, _low = measured(chance, FIRST * relative, noise, best)
            lost += stopped == "race"
            pairs += count
        name = f"race, noise {noise:.1%}, second {relative:g} times as fast:"
        figures[f"{name} stopped early"] = lost / RACES
        figures[f"{name} pairs"] = pairs / RACES
        print(name, "stopped early", f"{lost / RACES:.3f}", "share", flush=True)
        print(name, "pairs", f"{pairs / RACES:.1f}", "mean", flush=True)
    for noise in sorted({noise for noise, _relative in CASES}):
        name = f"race, noise {noise:.1%}, {FIELD} equally good: stopped early"
        figures[name] = stopped_of_equals(noise)
        print(name, f"{figures[name]:.3f}", "share", flush=True)
    for noise in (0.003, 0.005, 0.01):
        name = f"short proof, noise {noise:.1%}, {GAIN:g} times as fast as the original: passes"
        figures[name] = passing(noise)
        print(name, f"{figures[name]:.3f}", "share", flush=True)
    place = Path("build/bench")
    place.mkdir(parents=True, exist_ok=True)
    (place / "race.json").write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    early = {name: value for name, value in figures.items() if name.endswith("early")}
    equal = [value for name, value in early.items() if "second 1 times" in name or "equally good" in name]
    worse = [early[f"race, noise {noise:.1%}, second 0.9 times as fast: stopped early"] for noise in (0.01, 0.02)]
    return 0 if max(equal) <= WRONG and min(worse) >= RIGHT else 1


if __name__ == "__main__":
    sys.exit(main())
