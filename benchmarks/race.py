"""How a tournament's race treats a second candidate that is worse than, as good as, or better than the first.

Run with ``python benchmarks/race.py``; figures go to ``build/bench/race.json`` too. It simulates: times of the original
and of a candidate 1.5 times faster, with normal noise in the logarithm, go through the runner's own rule with the
settings of a short proof. Nothing is run, so this says how the rule behaves, not what a GPU does. It exits with 1 when
an equally good candidate is stopped in more than 3 % of the races, or one that is clearly worse in fewer than 95 %.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from optimas_lsp.prove.options import SHORT_TIMING
from optimas_lsp.prove.runner import timed, timing
from optimas_lsp.prove.runner.job import TIMING

RACES = 120
FIRST = 1.5
"""How many times faster than the original the first candidate is."""

CASES = ((0.003, 0.97), (0.003, 1.0), (0.003, 1.03), (0.02, 0.9), (0.02, 0.97), (0.02, 1.0), (0.08, 0.9), (0.08, 1.0))
"""Noise of one run (standard deviation of the logarithm), and the second's speed over the first's."""

WRONG, RIGHT = 0.03, 0.95


def measured(chance: random.Random, speed: float, noise: float, best: float | None) -> tuple[str, int, float]:
    """(why it stopped, pairs, lower end of the interval) of one candidate."""
    plan = {**TIMING, **SHORT_TIMING, "race": {"best": best}}
    times: timed.Series = {side: {"kernel_ns": [], "gpu_ns": [], "program_s": []} for side in ("baseline", "candidate")}
    a, b = times["baseline"]["program_s"], times["candidate"]["program_s"]
    stopped = ""
    while not stopped:
        a.append(chance.lognormvariate(0, noise))
        b.append(chance.lognormvariate(0, noise) / speed)
        stopped = timed._enough(times, plan, (), len(a), 0.0)  # noqa: SLF001
    return stopped, len(a), timing.ratio(a, b)[1]


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
    place = Path("build/bench")
    place.mkdir(parents=True, exist_ok=True)
    (place / "race.json").write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    equal = [value for key, value in figures.items() if "second 1 times" in key and key.endswith("early")]
    worse = figures["race, noise 2.0%, second 0.9 times as fast: stopped early"]
    return 0 if max(equal) <= WRONG and worse >= RIGHT else 1


if __name__ == "__main__":
    sys.exit(main())
