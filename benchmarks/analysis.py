"""Time of one analysis of a cached profile, at most 300 ms, and size of its HTML page, at most 2 MB, for every sample.

Run with ``python benchmarks/analysis.py``; exits with 1 when a budget is missed. Opening the cached profile is part of
the time, reading the profiler's own report is not. The best of five runs counts, because the budget is about the work
and not about what else the machine does. Figures go to ``build/bench/analysis.json`` too.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from _clock import best_of

from optimas_lsp.config import Settings
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.report.html import Subject, render

ROOT = Path(__file__).parents[1]
MOST_SECONDS, MOST_BYTES, RUNS = 0.300, 2_000_000, 5


def main() -> int:
    """Print two lines a sample and judge the worst."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache:
        for report in sorted((ROOT / "samples").glob("*/*.ncu-rep*")):
            name = f"{report.parent.name}/{report.name}"
            load_analysis(report, Settings(), cache_dir=Path(cache))
            taken = best_of(lambda at=report: load_analysis(at, Settings(), cache_dir=Path(cache)), RUNS)
            profile, analysis = load_analysis(report, Settings(), cache_dir=Path(cache))
            size = len(render([Subject(profile, analysis, lambda source: source.text)]).encode())
            figures[f"analysis {name} ms"] = round(1000 * taken.judged, 1)
            figures[f"html {name} bytes"] = size
            print(f"analysis {name} {taken}")
            print(f"html {name} {size} bytes")
    slowest = max(value for key, value in figures.items() if key.endswith(" ms"))
    largest = max(value for key, value in figures.items() if key.endswith(" bytes"))
    held = slowest <= 1000 * MOST_SECONDS and largest <= MOST_BYTES
    print(
        f"slowest analysis {slowest:.0f} ms of {1000 * MOST_SECONDS:.0f}, largest page {largest:.0f} bytes of "
        f"{MOST_BYTES}: {'held' if held else 'MISSED'}"
    )
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "analysis.json").write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
