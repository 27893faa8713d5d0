"""What finding causes costs and how much it explains, over the samples' reports.

``python benchmarks/blame.py`` distils the 128-launch report with and without causes, each in a process of its own, and
prints one line "name value unit" each; it exits with 1 when the budget is missed (twice the time, 1.3 times the
memory). ``python benchmarks/blame.py --table`` prints the Markdown table of docs/blame.md instead.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from optimas_lsp.insight.load import ENRICH
from optimas_lsp.insight.quality import KernelQuality, Shares, pooled, quality
from optimas_lsp.profile.store import open_profile

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
LARGE = SAMPLES / "sweep" / "profile.ncu-repz"
MOST_TIME, MOST_MEMORY = 2.0, 1.3
RUNS = 3

HEAD = ("report", "kernel", "samples", "certain", "dominant", "shared", "none", "one line", "def-use", "def-use none")

DISTIL = """
import sys
from pathlib import Path
from optimas_lsp.profile.store import open_profile
if __name__ == "__main__":
    open_profile(Path(sys.argv[1]), enrich=sys.argv[2] or None, cache_dir=Path(sys.argv[3]))
"""


def distil(enrich: str) -> tuple[float, float]:
    """(seconds, peak MB over the whole process tree) of one cold distillation."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "distil.py"
        script.write_text(DISTIL, "utf-8")
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, str(script), str(LARGE), enrich, str(Path(folder) / "cache")],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": folder},
        )
        peak = 0
        tree = psutil.Process(child.pid)
        while child.poll() is None:
            peak = max(peak, resident(tree))
            time.sleep(0.02)
        assert child.returncode == 0
        return time.perf_counter() - start, peak / 1e6


def resident(tree: psutil.Process) -> int:
    """Memory of a process and its children, counting shared pages once where the system says so (bytes)."""
    total = 0
    try:
        for process in (tree, *tree.children(recursive=True)):
            try:
                total += process.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
    except psutil.NoSuchProcess:
        return total
    return total


def cost() -> int:
    """Print and judge what causes add to the time and memory of distilling."""
    runs = [(distil(""), distil(ENRICH)) for _ in range(RUNS)]
    plain_s, with_s = (min(run[side][0] for run in runs) for side in (0, 1))
    plain_mb, with_mb = (min(run[side][1] for run in runs) for side in (0, 1))
    figures = {
        "blame distil without causes": (plain_s, "s"),
        "blame distil with causes": (with_s, "s"),
        "blame time ratio": (with_s / plain_s, f"(at most {MOST_TIME})"),
        "blame peak without causes": (plain_mb, "MB"),
        "blame peak with causes": (with_mb, "MB"),
        "blame memory ratio": (with_mb / plain_mb, f"(at most {MOST_MEMORY})"),
    }
    for name, (value, unit) in figures.items():
        print(f"{name} {value:.2f} {unit}")
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    found = {name: {"value": value, "unit": unit} for name, (value, unit) in figures.items()}
    (out / "blame.json").write_text(json.dumps({"machine": platform.machine(), **found}, indent=2), "utf-8")
    return 0 if with_s <= MOST_TIME * plain_s and with_mb <= MOST_MEMORY * plain_mb else 1


def table() -> int:
    """Print the quality of every sample as Markdown."""
    every: list[KernelQuality] = []
    ordinary: list[KernelQuality] = []
    print(f"| {' | '.join(HEAD)} |")
    print(f"|---|---|{'--:|' * (len(HEAD) - 2)}")
    for report in sorted(SAMPLES.glob("**/profile.ncu-rep*")):
        for kernel in quality(open_profile(report, enrich=ENRICH)):
            if kernel.scoreboard_samples:
                every.append(kernel)
                if (SAMPLES / "blame") not in report.parents:
                    ordinary.append(kernel)
                print(row(str(report.parent.relative_to(SAMPLES)), kernel))
    print(total("all", every))
    print(total("without `blame/`", ordinary))
    moved = sum(kernel.moved_from_library + kernel.moved_from_never_executed for kernel in every)
    decoded, instructions = (sum(getattr(kernel, name) for kernel in every) for name in ("decoded", "instructions"))
    print(f"\n{decoded:,} of {instructions:,} instructions decoded; {moved:,} samples moved to a line of the program.")
    return 0


def total(name: str, kernels: list[KernelQuality]) -> str:
    """The line of the table for several kernels together."""
    pool = pooled(kernels)
    count = sum(kernel.scoreboard_samples for kernel in kernels)
    cells = figures_of(pool["by_instruction"], pool["by_line"], pool["def_use_by_line"])
    return f"| **{name}** | | {count:,} | {' | '.join(f'**{cell}**' for cell in cells)} |"


def row(report: str, kernel: KernelQuality) -> str:
    """One line of the table."""
    cells = figures_of(kernel.by_instruction, kernel.by_line, kernel.def_use_by_line)
    return f"| {report} | {kernel.base_name} | {kernel.scoreboard_samples:,} | {' | '.join(cells)} |"


def figures_of(sure: Shares, line: Shares | None, register: Shares | None) -> list[str]:
    """Percentages in the order of the columns."""
    shares = [sure.certain, sure.dominant, sure.shared, sure.none]
    shares += [line.one if line else float("nan")]
    shares += [register.one, register.none] if register else [float("nan")] * 2
    return [f"{100 * share:.1f} %" for share in shares]


if __name__ == "__main__":
    sys.exit(table() if "--table" in sys.argv else cost())
