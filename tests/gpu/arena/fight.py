"""Prove every variant on this machine's GPU: python3 fight.py JOBS OUT.json [AT_ONCE].

JOBS holds one packed job a variant (``pack.py`` makes them). Builds and runs of different jobs overlap;
timings take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def prove(job: Path) -> dict[str, object]:
    """Run one job's runner and return what it decided."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(job / "runner.pyz"), str(job)], capture_output=True, text=True, check=False
    )
    try:
        result = json.loads((job / "result.json").read_text("utf-8"))
    except OSError:
        result = {"verdict": None, "gates": [], "error": done.stderr[-2000:]}
    stopped = next((gate for gate in result["gates"] if gate["status"] == "fail"), None)
    return {
        "name": job.name,
        "verdict": result["verdict"],
        "stopped_by": stopped["name"] if stopped else None,
        "sentence": stopped["sentence"] if stopped else "",
        "seconds": round(time.monotonic() - began, 1),
        "stderr": done.stderr[-500:],
        "result": result,
    }


def main() -> None:
    """Prove all, print a line each."""
    jobs = sorted(path for path in Path(sys.argv[1]).iterdir() if (path / "job.json").is_file())
    with ThreadPoolExecutor(int(sys.argv[3]) if len(sys.argv) > 3 else 6) as pool:
        results = []
        for outcome in pool.map(prove, jobs):
            results.append(outcome)
            line = [
                outcome["name"],
                str(outcome["verdict"]),
                str(outcome["stopped_by"]),
                str(outcome["sentence"])[:160],
            ]
            sys.stdout.write("\t".join([*line, str(outcome["seconds"]) + " s", str(outcome["stderr"])[-200:]]) + "\n")
            sys.stdout.flush()
    Path(sys.argv[2]).write_text(json.dumps(results, indent=1), "utf-8")


if __name__ == "__main__":
    main()
