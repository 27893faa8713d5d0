"""Keep what the arena's proofs decided as ``tests/prove/data/arena_h200.json``: python keep.py OUT.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parents[2] / "prove" / "data" / "arena_h200.json"


def row(found: dict[str, Any]) -> dict[str, Any]:
    """One variant's outcome; ``speedup``: kernel time, times shorter, with its interval."""
    effect = (found["result"].get("timing") or {}).get("kernel_ns")
    gain = None if effect is None else [float(f"{effect[name]:.5g}") for name in ("speedup", "low", "high")]
    return {**{name: found[name] for name in ("name", "verdict", "stopped_by", "sentence")}, "speedup": gain}


def main() -> None:
    """Write the record."""
    results: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    machines = (each["result"].get("machine") or {} for each in results)
    record = {
        "date": max(str(each["result"].get("finished") or "") for each in results)[:10],
        "machine": next(each for each in machines if each.get("gpu")),
        "variants": [row(each) for each in sorted(results, key=lambda each: str(each["name"]))],
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
