"""Keep what proofs found as entries of samples/*/outcomes.json: python keep.py JOBS OUT.json.

JOBS holds the jobs as they were packed, with their ``index.json``; OUT.json is what ``run.sh`` brought from the GPU
machine. An entry takes the place of those that it covers (``recorded.keep``). What a machine without a GPU, or without
a working compute-sanitizer or witness, left as *not proven* is named and not kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from optimas_lsp.prove.executors.recorded import OUTCOMES, keep, outcome_entry

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
KEPT = ("proven", "rejected")
ABOUT = ("file", "kernels", "label", "work_speedup", "diff", "proposal")


def main() -> None:
    """Write the entries."""
    jobs = Path(sys.argv[1])
    index: dict[str, dict[str, Any]] = json.loads((jobs / "index.json").read_text("utf-8"))
    results: list[dict[str, Any]] = json.loads(Path(sys.argv[2]).read_text("utf-8"))
    machines = [each["result"].get("machine") for each in results]
    machine = next((each for each in machines if each and each.get("gpu")), None)
    for found in results:
        name, about = found["name"], index[found["name"]]
        if found["verdict"] not in KEPT:
            skipped = (gate for gate in found["result"]["gates"] if gate["status"] == "skipped")
            why = next((f"{gate['name']}: {gate['sentence']}" for gate in skipped), "it has no result")
            sys.stdout.write(f"{name} was not kept ({found['verdict']}): {why}\n")
            continue
        result = {**found["result"], "machine": found["result"].get("machine") or machine}  # OUT.json is of one machine
        (jobs / name / "result.json").write_text(json.dumps(result), "utf-8")
        said = {"verified": "the result names the job that was packed: it gives the same bundle hash"}
        entry = outcome_entry(jobs / name, {**said, **{key: about[key] for key in ABOUT}})
        keep(entry, SAMPLES / about["sample"] / OUTCOMES)
        sys.stdout.write(f"{name}: {found['verdict']}\n")


if __name__ == "__main__":
    main()
