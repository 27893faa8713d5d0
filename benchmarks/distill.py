"""What distilling costs: ``python benchmarks/distill.py [--repeat N]`` prints ``name value unit`` lines.

The report is samples/sweep (128 launches). A *plain walk* is one process that goes once over the same launches
through the ncu_report API: every counter's value, every instance of every stall reason with samples and of the
execution counts, each address resolved once, every rule. Both run as whole processes pinned to one core for
``over_walk``; ``one_worker`` and ``two_workers`` time ``open_profile`` itself with two cores to use. Each figure is
the best of ``--repeat`` runs, taken in turns so that a busy machine disturbs all alike.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import zstandard
from _lsp import report

from optimas_lsp.profile.limits import Limits
from optimas_lsp.profile.store import open_profile

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "samples" / "sweep" / "profile.ncu-repz"
STALL = "smsp__pcsamp_warps_issue_stalled_"
EXECUTED = ("inst_executed", "thread_inst_executed_true")


def plain_walk(path: str) -> int:
    """The walk that distilling is compared with; returns how many launches there were."""
    import ncu_report

    opened = ncu_report.load_report(path)
    resolved: dict[tuple[str, int], object] = {}
    launches = 0
    for which in range(opened.num_ranges()):
        section = opened.range_by_idx(which)
        for at in range(section.num_actions()):
            action = section.action_by_idx(at)
            launches += 1
            name = action.name(action.NameBase_MANGLED), action.name(action.NameBase_DEMANGLED)
            metrics = {each: action.metric_by_name(each) for each in action.metric_names()}
            values = {each: metric.as_double() for each, metric in metrics.items()}
            seen = set()
            for each, metric in metrics.items():
                if (each.startswith(STALL) and values[each]) or each in EXECUTED:
                    ids = metric.correlation_ids()
                    seen |= {(ids.as_uint64(k), metric.as_uint64(k))[0] for k in range(metric.num_instances())}
            for address in seen:
                if (name[0], address) not in resolved:
                    info = action.source_info(address)
                    place = (info.file_name(), info.line()) if info else None
                    resolved[name[0], address] = place, action.sass_by_pc(address)
            action.rule_results_as_dicts()
            action.source_files()
    return launches


def timed(work: list[str], cores: int) -> tuple[float, float, float, float]:
    """Wall seconds, CPU seconds, peak MB of any one process, and seconds of the work itself, on ``cores`` cores."""
    usable = sorted(os.sched_getaffinity(0))[:cores]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, __file__, *work, "--cores", ",".join(map(str, usable))],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak, work_itself = (float(word) for word in run.stdout.split())
    return wall, cpu, peak, work_itself


def child(arguments: argparse.Namespace) -> None:
    """One measured piece of work in a process of its own; prints its largest process's peak in MB, and seconds."""
    os.sched_setaffinity(0, [int(core) for core in arguments.cores.split(",")])
    start = time.perf_counter()
    if arguments.walk:
        plain_walk(arguments.walk)
    if arguments.distill:
        with tempfile.TemporaryDirectory() as cache:
            limits = Limits(workers=arguments.workers)
            open_profile(Path(arguments.distill), limits=limits, cache_dir=Path(cache))
    who = resource.RUSAGE_SELF if arguments.walk else resource.RUSAGE_CHILDREN
    print(resource.getrusage(who).ru_maxrss / 1024, time.perf_counter() - start)


def cached_open(repeat: int) -> tuple[float, float]:
    """Milliseconds to open the cached profile: the first time in a process, and the best of ``repeat`` more."""
    with tempfile.TemporaryDirectory() as cache:
        open_profile(REPORT, cache_dir=Path(cache))
        code = (
            "import sys, time, pathlib\n"
            "from optimas_lsp.profile.store import open_profile\n"
            "for _ in range(int(sys.argv[3])):\n"
            "    start = time.perf_counter()\n"
            "    open_profile(pathlib.Path(sys.argv[1]), cache_dir=pathlib.Path(sys.argv[2]))\n"
            "    print(time.perf_counter() - start)\n"
        )
        runs = [
            subprocess.run(
                [sys.executable, "-c", code, str(REPORT), cache, str(repeat)],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            ).stdout.split()
            for _ in range(repeat)
        ]
    first = min(float(run[0]) for run in runs)
    later = min(float(value) for run in runs for value in run[1:])
    return first * 1e3, later * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--walk", help=argparse.SUPPRESS)
    parser.add_argument("--distill", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--cores", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.walk or arguments.distill:
        child(arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder) / "sweep.ncu-rep"
        with REPORT.open("rb") as packed, sweep.open("wb") as plain:
            zstandard.ZstdDecompressor().copy_stream(packed, plain)
        walks, ones, alone, twos = [], [], [], []
        for _ in range(arguments.repeat):
            walks.append(timed(["--walk", str(sweep)], cores=1))
            ones.append(timed(["--distill", str(sweep), "--workers", "1"], cores=1))
            alone.append(timed(["--distill", str(sweep), "--workers", "1"], cores=2))
            twos.append(timed(["--distill", str(sweep), "--workers", "2"], cores=2))
    first, later = cached_open(arguments.repeat)
    wall_walk, wall_one = min(walks)[0], min(ones)[0]
    one_worker, two_workers = (min(each[3] for each in runs) for runs in (alone, twos))
    figures = {
        "distill.walk_wall": (wall_walk, "s"),
        "distill.one_core_wall": (wall_one, "s"),
        "distill.over_walk_wall": (wall_one / wall_walk, "ratio"),
        "distill.over_walk_cpu": (min(each[1] for each in ones) / min(each[1] for each in walks), "ratio"),
        "distill.one_worker": (one_worker, "s"),
        "distill.two_workers": (two_workers, "s"),
        "distill.two_workers_speedup": (one_worker / two_workers, "ratio"),
        "distill.walk_peak": (max(each[2] for each in walks), "MB"),
        "distill.one_worker_peak": (max(each[2] for each in ones), "MB"),
        "distill.two_workers_peak": (max(each[2] for each in twos), "MB"),
        "distill.cached_open_first": (first, "ms"),
        "distill.cached_open": (later, "ms"),
    }
    report("distill", figures)


if __name__ == "__main__":
    main()
