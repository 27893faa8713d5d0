"""Searching 100,000 attempts, at most 50 ms after loading, and recall at 5 on known families, at least 0.9.

Run with ``python benchmarks/corpus_search.py [--attempts N]``; exits with 1 when a budget is missed. The attempts are
on the samples' real kernels, each in 46 versions that somebody else might have written, with made-up mixes of evidence.
What is timed is what a prompt needs: the three attempts to tell of, read whole; the processor's time counts where
other work keeps the machine busy.
Figures go to ``build/bench/corpus_search.json`` too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))

from entries import attempt, real_kernels, rewritten  # noqa: E402

from optimas_lsp.corpus.experience import experience_of  # noqa: E402
from optimas_lsp.corpus.index import Index  # noqa: E402
from optimas_lsp.corpus.model import Entry, Finding, canonical  # noqa: E402
from optimas_lsp.corpus.query import Query  # noqa: E402
from optimas_lsp.corpus.retrieve import Searcher  # noqa: E402
from optimas_lsp.corpus.store import Store, _insert  # noqa: E402

MOST_MS, LEAST_RECALL, VERSIONS, QUERIES = 50.0, 0.9, 46, 200
RULES = ("long_scoreboard", "lg_throttle", "mio_throttle", "barrier", "wait", "math_pipe_throttle", "bank-conflicts",
         "short_scoreboard", "memory-bound", "latency-bound", "low-occupancy", "register-spills")  # fmt: skip
STEPS = ("unroll-loop", "batched-loads", "restrict-pointers", "pad-shared", "vector-loads", "set-bits", "hoist-loads")


def evidence(family: int, variant: int) -> tuple[Finding, ...]:
    """A family's mix, a few percent off for each variant."""
    chance = random.Random(family)
    rules = chance.sample(RULES, 4)
    shares = [chance.uniform(0.05, 0.6) for _ in rules]
    noise = random.Random(1000 * family + variant)
    return tuple(
        Finding(id=f"PC-{at}", source="pc", rule=rule, share=min(1.0, share * noise.uniform(0.85, 1.15)), samples=1000)
        for at, (rule, share) in enumerate(zip(rules, shares, strict=True), 1)
    )


def made(kernels: list[str], count: int) -> Iterator[Entry]:
    """``count`` attempts, the families in turn."""
    versions = {
        (family, version): rewritten(code, 100 * family + version)
        for family, code in enumerate(kernels)
        for version in range(min(VERSIONS, 1 + count // len(kernels)))
    }
    for number in range(count):
        family, version = number % len(kernels), (number // len(kernels)) % VERSIONS
        yield attempt(
            number,
            "proven" if number % 3 else "refuted",
            code=versions[family, version],
            findings=evidence(family, number),
            transformation=STEPS[number % len(STEPS)],
            mangled=f"_Z{family}_{version}",
            speedup=1 + number % 50 / 100,
        )


def fill(store: Store, entries: Iterator[Entry]) -> None:
    """Put the entries into the store in one transaction; they need no scrubbing."""

    def work(base: object) -> None:
        for entry in entries:
            data = entry.model_dump(mode="json", by_alias=True, exclude={"key", "code", "date"})
            _insert(base, entry, canonical(data), "")  # type: ignore[arg-type]

    store.database.write(work)


def recall(kernels: list[str], folder: Path) -> float:
    """At 5, over the samples' kernels, five versions of each in the store and the original asked for."""
    store = Store(folder / "recall")
    entries = [
        attempt(100 * at + version, "proven", code=rewritten(code, 100 * at + version), findings=evidence(at, version))
        for at, code in enumerate(kernels)
        for version in range(1, 6)
    ]
    store.add(entries)
    of = {entry.key: entry.number // 100 for entry in entries}
    searcher = Searcher(store, folder)
    found = [
        sum(
            of[hit.key] == at
            for hit in searcher.nearest(Query.of_entry(attempt(0, code=code, findings=evidence(at, 0))), 5)
        )
        for at, code in enumerate(kernels)
    ]
    return sum(found) / (5 * len(found))


def timed(searcher: Searcher, queries: list[Query]) -> tuple[list[float], list[float]]:
    """Milliseconds for each query, ascending: on the wall, and of this process' processor time."""
    walls: list[float] = []
    cpus: list[float] = []
    for query in queries:
        wall, cpu = time.perf_counter(), time.process_time()
        found = searcher.cases(query, 3)
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (time.process_time() - cpu))
        assert len(found) == 3
    return sorted(walls), sorted(cpus)


def main() -> int:
    """Print the figures and judge two of them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--attempts", type=int, default=100_000)
    options.add_argument("--folder", type=Path, help="keep store and index here, or use those from before")
    chosen = options.parse_args()
    count: int = chosen.attempts
    kernels = list(real_kernels(ROOT / "samples").values())
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures["recall at 5"] = round(recall(kernels, folder), 4)
        place: Path = chosen.folder or folder
        store = Store(place / "store")
        begun = time.perf_counter()
        if not store.rows(limit=1):
            fill(store, made(kernels, count))
        print(f"filled with {count:,} attempts in {time.perf_counter() - begun:.0f} s")
        figures["store MB"] = round(store.database.path.stat().st_size / 2**20, 1)
        begun = time.perf_counter()
        Index.of(store, place)
        figures["index made s"] = round(time.perf_counter() - begun, 2)
        begun = time.perf_counter()
        searcher = Searcher(store, place)
        searcher.load()
        figures["index loaded ms"] = round(1000 * (time.perf_counter() - begun), 1)
        chance = random.Random(7)
        queries = []
        for at in range(QUERIES):
            family = chance.randrange(len(kernels))
            code = rewritten(kernels[family], 10_000 + at)
            queries.append(Query.of_entry(attempt(0, code=code, findings=evidence(family, 10_000_000 + at))))
        timed(searcher, queries[:5])
        for what, times in zip(("search", "search processor"), timed(searcher, queries), strict=True):
            figures[f"{what} p50 ms"] = round(statistics.median(times), 2)
            figures[f"{what} p99 ms"] = round(times[int(0.99 * len(times))], 2)
        begun = time.perf_counter()
        experience_of(store, ("long_scoreboard", "wait", "barrier"))
        figures["experience of three rules ms"] = round(1000 * (time.perf_counter() - begun), 1)
    for key, value in figures.items():
        name, _, unit = key.rpartition(" ") if key != "recall at 5" else (key, "", "")
        print(f"corpus {name} {value} {unit}".rstrip())
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    judged = figures["search processor p50 ms" if busy else "search p50 ms"]
    held = judged <= MOST_MS and figures["recall at 5"] >= LEAST_RECALL
    print(
        f"{count:,} attempts on {platform.machine()}, load {os.getloadavg()[0]:.1f}: {judged} ms of {MOST_MS:.0f}, "
        f"recall {figures['recall at 5']} of {LEAST_RECALL}: {'held' if held else 'MISSED'}"
    )
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "corpus_search.json").write_text(json.dumps({"attempts": count, **figures}, indent=1) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
