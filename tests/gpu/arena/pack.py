"""Pack one proof job a variant of the arena: python pack.py JOBS."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from variants import ALL, PROGRAM

from optimas_lsp.prove.bundle import pack
from optimas_lsp.prove.target import parse_target

TARGET = {
    "build": [["nvcc", "-O3", "-arch=sm_90", "-lineinfo", "-o", "arena", "arena.cu"]],
    "inputs": {
        "odd": ["./arena", "1000", "777", "3"],
        "small": ["./arena", "96", "160", "5"],
        "large": ["./arena", "4096", "2048", "7"],
    },
    "ignore": ["^time"],
    "binary": "arena",
    "time_limit_s": 20,
    "time_input": "large",
    "sanitize_input": "small",
}
KERNELS = ["_Z6smoothPKfPfii", "_Z10count_binsPKfPji"]


def main() -> None:
    """Write JOBS/NAME for every variant."""
    destination = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "arena.cu").write_bytes(PROGRAM.read_bytes())
        for variant in ALL:
            pack(
                Path(folder),
                parse_target(TARGET, where="pack.py"),
                {"arena.cu": variant.source().encode()},
                destination / variant.name,
                kernels=KERNELS,
                static={"status": "pass", "sentence": "left out: the arena tries the proof itself"},
                options={"timing": {"min_pairs": 5, "max_pairs": 7, "budget_s": 12}},
            )


if __name__ == "__main__":
    main()
