"""Optimise every CUDA sample on this machine's GPU as a user would: python3 run.py WORK OUT.json [AT_ONCE [SECONDS]].

Each sample is copied to WORK without its records, so that nothing is looked up, and rewritten by ``optimas optimize``
with the catalogue, a race of three candidates, the whole proof of the winner and a new profile. OUT.json holds how long
each took, from the start of the process to its end, and what it said; a sample that is in it is not done again. After
SECONDS none is begun, and what runs is stopped as if it had not been begun.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ALL = ("accuracy", "sobol", "stream", "shmem", "adjacent", "lookup", "stencil", "cub_adjacent", "sweep")
OPTIONS = ("--candidates", "3", "--reprofile", "--accept", "--format", "json")
SHORTEST = 40.0
"""Seconds within which no search ends: with less time left none is begun."""


def optimised(sample: str, work: Path, end: float | None) -> dict[str, Any] | None:
    """What ``optimas optimize`` said of one sample and how long it took; None when there was no time for it."""
    began = time.monotonic()
    left = None if end is None else end - began
    if left is not None and left < SHORTEST:
        return None
    place = work / sample
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "samples" / sample, place, ignore=shutil.ignore_patterns("build", "outcomes.json"))
    [report] = place.glob("profile.ncu-rep*")
    words = ["optimize", str(place / f"{sample}.cu"), "--profile", str(report), *OPTIONS]
    private = {f"OPTIMAS_{name}_DIR": str(work / name.lower() / sample) for name in ("STATE", "DATA")}
    inherited = os.environ.get("PYTHONPATH", "")
    environment = {
        **os.environ,
        **private,
        "OPTIMAS_CACHE_DIR": str(work / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), inherited]),
    }
    entry = "import sys; from optimas_lsp.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", entry, *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=left)
    except subprocess.TimeoutExpired:
        return None
    seconds = time.monotonic() - began
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = None
    return {
        "sample": sample,
        "options": OPTIONS,
        "seconds": round(seconds, 1),
        "status": done.returncode,
        "said": said,
        "stderr": done.stderr[-4000:],
    }


def main() -> None:
    """Optimise all, print a line each as they end."""
    work, out = Path(sys.argv[1]), Path(sys.argv[2])
    at_once = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    end = time.monotonic() + float(sys.argv[4]) if len(sys.argv) > 4 else None
    results: list[dict[str, Any]] = json.loads(out.read_text("utf-8")) if out.is_file() else []
    known = {each["sample"] for each in results}
    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(optimised, sample, work, end) for sample in ALL if sample not in known]
        for future in as_completed(waiting):
            found = future.result()
            if found is None:
                continue
            results.append({**found, "at_once": at_once})
            sentence = (found["said"] or {}).get("sentence") or found["stderr"][-300:]
            sys.stdout.write(f"{found['sample']}\t{found['seconds']} s\t{found['status']}\t{sentence}\n")
            sys.stdout.flush()
            unfinished = out.with_suffix(".tmp")
            unfinished.write_text(json.dumps(results, indent=1), "utf-8")
            unfinished.replace(out)
    sys.stdout.write(f"{len(results)} of {len(ALL)} samples were optimised\n")


if __name__ == "__main__":
    main()
