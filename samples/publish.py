"""Makes ``samples/corpus/``: the recorded outcomes of the samples, with the evidence of their profiles, as a dataset.

    python samples/publish.py            # writes samples/corpus
    python samples/publish.py --to DIR   # writes it elsewhere, for instance to compare

Needs optimas-lsp with its ``campaign`` extra; no GPU: what was measured stands in ``outcomes.json`` and the reports.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from optimas_lsp.corpus.export import export, rows_for
from optimas_lsp.corpus.recorded import recorded_entries
from optimas_lsp.corpus.store import Row

HERE = Path(__file__).resolve().parent
TITLE = "Optimas samples: attempts at nine small CUDA programs on an NVIDIA H200"
PROJECT = "optimas-lsp samples"
LICENCE = "Apache-2.0"


def publish(folder: Path) -> int:
    """Write the dataset into ``folder`` and return the number of attempts."""
    entries = [
        entry
        for outcomes in sorted(HERE.glob("*/outcomes.json"))
        for entry in recorded_entries(outcomes, project=PROJECT, licence=LICENCE)
    ]
    rows = rows_for(Row(entry=entry) for entry in entries)
    export(rows, folder, title=TITLE, forms=("jsonl", "parquet"))
    return len(rows)


def main() -> int:
    """Publish and say how much it is."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--to", type=Path, default=HERE / "corpus", help="the dataset's folder")
    folder = options.parse_args().to
    print(f"{publish(folder)} attempts in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
