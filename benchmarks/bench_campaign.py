"""What a campaign costs beside its experiments: 10,000 of them against a simulated target that takes 10 ms.

``python benchmarks/bench_campaign.py [COUNT]`` prints ``name value unit`` lines. Parsl runs it on two threads. Nothing
is proposed, built or proven: the *simulated* target sleeps and gives an outcome as large as a real one. Own time is
processor time, which the sleep does not take, so that it holds on a busy machine, too.
"""

from __future__ import annotations

import dataclasses
import gc
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _lsp import report

from optimas_lsp.campaign.dataset import rows_of
from optimas_lsp.campaign.design import EngineEntry, read
from optimas_lsp.campaign.experiment import Axes, Experiment
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.progress import Progress
from optimas_lsp.campaign.results import Results
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.run import Run, lanes_of
from optimas_lsp.campaign.tables import tables
from optimas_lsp.campaign.worker import summary_of

COUNT = 10_000
TAKES_S = 0.010
SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "accuracy"
CHANCE = random.Random(20261201)
OUTCOME = {"schema": "simulated", "text": [f"{CHANCE.random():.6f} of a line of an outcome" for _ in range(2000)]}
"""About 75 KB of JSON, as a real outcome of a sample is."""

CAMPAIGN = """\
name = "simulated"
[design]
inputs = ["small", "default", "large"]
repetitions = {repetitions}
[[program]]
name = "accuracy"
folder = "{folder}"
source = "{folder}/accuracy.cu"
profile = "{folder}/profile.ncu-rep"
"""


def simulated(task: dict[str, Any]) -> dict[str, Any]:
    """Stands in for a rewrite: takes its time and keeps a result that says that it is simulated."""
    time.sleep(TAKES_S)
    axes = Axes(**task["axes"])
    plain = {"key": task["key"], **axes.plain(), "ending": "nothing", "sentence": "simulated", "total_s": TAKES_S}
    row = Row.model_validate(plain)
    Results(Path(task["results"])).keep(row.key, row.model_dump(mode="json", by_alias=True), OUTCOME)
    return summary_of(row)


def resident_mb() -> float:
    """Memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    """Plan, run, look again, report."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    with tempfile.TemporaryDirectory(prefix="optimas-bench-") as folder:
        file = Path(folder) / "campaign.toml"
        file.write_text(CAMPAIGN.format(folder=SAMPLE, repetitions=-(-count // 21)), "utf-8")
        cpu = time.process_time()
        whole = Plan.of(read(file))
        plan = dataclasses.replace(whole, experiments=whole.experiments[:count])
        planned = time.process_time() - cpu
        memory: list[float] = []

        def tell(progress: Progress, _experiment: Experiment) -> None:
            if progress.done % max(1, count // 20) == 0:
                gc.collect()
                memory.append(resident_mb())

        results = Results(Path(folder) / "results")
        engine = EngineEntry(workers=2)
        run = Run(plan.experiments, lanes_of(plan), engine, results, simulated, tell)
        cpu, wall = time.process_time(), time.perf_counter()
        run.go()
        own, took = time.process_time() - cpu, time.perf_counter() - wall
        cpu = time.process_time()
        run.go()
        again = time.process_time() - cpu
        cpu = time.process_time()
        tables(rows_of(results.rows(), where=file))
        told = time.process_time() - cpu
        size = sum(path.stat().st_size for path in (results.folder / "experiments").rglob("*.zst"))
    early, late = memory[len(memory) // 10], memory[-1]
    report(
        "campaign",
        {
            "campaign.experiments": (count, ""),
            "campaign.plan_per_experiment": (1000 * planned / count, "ms"),
            "campaign.own_per_experiment": (1000 * own / count, "ms"),
            "campaign.wall_per_experiment": (1000 * took / count, "ms"),
            "campaign.nothing_left": (again, "s"),
            "campaign.report": (told, "s"),
            "campaign.resident_early": (early, "MB"),
            "campaign.resident_late": (late, "MB"),
            "campaign.result_size": (size / count / 1000, "KB"),
        },
    )


if __name__ == "__main__":
    main()
