"""Prove every packed job on this machine's GPU: python3 fight.py JOBS OUT.json [AT_ONCE [SECONDS]].

JOBS holds one folder a job (``pack.py`` makes them), taken in the order of their names. Builds and runs of different
jobs overlap; timings take turns. After SECONDS no job is begun, and what runs is stopped; started again, each goes on
where it was. OUT.json holds what was decided so far at any moment, so that a machine may be taken away.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

SHORTEST = 15.0
"""Seconds within which no proof ends: with less time left none is begun."""

PATIENCE = 10.0
"""Seconds that a runner may take to stop."""


def prove(job: Path, end: float | None) -> dict[str, object] | None:
    """Run one job's runner and return what it decided; None when there was no time for it."""
    began = time.monotonic()
    left = None if end is None else end - began
    if left is not None and left < SHORTEST:
        return None
    command = [sys.executable, str(job / "runner.pyz"), str(job)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as runner:
        try:
            _, stderr = runner.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            runner.terminate()  # it keeps what it has, and goes on there when it is started again
            try:
                runner.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                runner.kill()
            return None
    try:
        result = json.loads((job / "result.json").read_text("utf-8"))
    except OSError:
        result = {"verdict": None, "gates": [], "error": stderr[-2000:]}
    stopped = next((gate for gate in result["gates"] if gate["status"] == "fail"), None)
    return {
        "name": job.name,
        "verdict": result["verdict"],
        "stopped_by": stopped["name"] if stopped else None,
        "sentence": stopped["sentence"] if stopped else "",
        "seconds": round(time.monotonic() - began, 1),
        "stderr": stderr[-500:],
        "result": result,
    }


def main() -> None:
    """Prove all, print a line each as they end."""
    jobs = sorted(path for path in Path(sys.argv[1]).iterdir() if (path / "job.json").is_file())
    out, at_once = Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 6
    end = time.monotonic() + float(sys.argv[4]) if len(sys.argv) > 4 else None
    results: list[dict[str, object]] = []
    with ThreadPoolExecutor(at_once) as pool:
        for future in as_completed([pool.submit(prove, job, end) for job in jobs]):
            outcome = future.result()
            if outcome is None:
                continue
            results.append(outcome)
            line = [str(outcome[name]) for name in ("name", "verdict", "stopped_by")]
            line += [str(outcome["sentence"])[:160], f"{outcome['seconds']} s", str(outcome["stderr"])[-200:]]
            sys.stdout.write("\t".join(line) + "\n")
            sys.stdout.flush()
            unfinished = out.with_suffix(".tmp")
            unfinished.write_text(json.dumps(sorted(results, key=lambda each: str(each["name"])), indent=1), "utf-8")
            unfinished.replace(out)
    sys.stdout.write(f"{len(results)} of {len(jobs)} jobs were proven or stopped\n")


if __name__ == "__main__":
    main()
