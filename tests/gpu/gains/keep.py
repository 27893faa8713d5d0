"""Keep what proofs found as entries of samples/*/outcomes.json: python keep.py JOBS [SAMPLE …].

JOBS holds the jobs that ``pack.py`` packed and ``run.sh`` proved, with their ``index.json``. An entry takes the place
of one with the same key.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from optimas_lsp.prove.executors.recorded import OUTCOMES, outcome_entry

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
ABOUT = ("file", "kernels", "label", "work_speedup", "diff", "proposal")


def main() -> None:
    """Write the entries of all samples, or of those that were named."""
    jobs = Path(sys.argv[1])
    for name, about in json.loads((jobs / "index.json").read_text("utf-8")).items():
        if about["sample"] not in (sys.argv[2:] or [about["sample"]]) or not (jobs / name / "result.json").is_file():
            continue
        entry = outcome_entry(jobs / name, {key: about[key] for key in ABOUT})
        place = SAMPLES / about["sample"] / OUTCOMES
        known = json.loads(place.read_text("utf-8"))["outcomes"] if place.is_file() else []
        kept = [each for each in known if each.get("key") != entry["key"]]
        place.write_text(json.dumps({"outcomes": [*kept, entry]}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
