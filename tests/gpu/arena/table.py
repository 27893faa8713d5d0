"""The tables of docs/proof.md from what the arena's proofs gave: python table.py OUT.json.

Ends with 1 when a cheat was not stopped by one of its gates, or an honest rewrite was not proven; those are named last.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from variants import ALL, Variant


def cheat(variant: Variant, found: dict[str, Any]) -> str:
    """Its row."""
    sentence = str(found["sentence"]).replace("|", "\\|")
    return f"| {variant.name}: {variant.why} | {found['stopped_by']} | {sentence} |"


def honest(variant: Variant, found: dict[str, Any]) -> str:
    """Its row."""
    effect = (found["result"].get("timing") or {}).get("kernel_ns")
    gain = "not timed" if effect is None else "{speedup:.4g} ({low:.4g} to {high:.4g})".format_map(effect)
    person = "" if found["verdict"] == "proven" else f"; not proven, *{found['stopped_by']}*: {found['sentence']}"
    return f"| {variant.name}: {variant.why} | {gain}{person} |"


def main() -> int:
    """Print both tables and what is not as it must be."""
    results = {each["name"]: each for each in json.loads(Path(sys.argv[1]).read_text("utf-8"))}
    ran = [each for each in ALL if each.name in results]
    lines = ["| cheat | stopped by | its sentence |", "|---|---|---|"]
    lines += [cheat(each, results[each.name]) for each in ran if each.gates]
    lines += ["", "| honest rewrite | kernel time, times shorter (95 % interval) |", "|---|---|"]
    lines += [honest(each, results[each.name]) for each in ran if not each.gates]
    wrong = [f"{each.name}: not run" for each in ALL if each not in ran]
    for each in ran:
        verdict, gate = results[each.name]["verdict"], results[each.name]["stopped_by"]
        if each.gates and (verdict != "rejected" or gate not in each.gates):
            wrong.append(f"{each.name}: {verdict} by {gate} instead of rejected by {' or '.join(each.gates)}")
        if not each.gates and verdict != "proven" and not (each.tenfold and gate == "plausible"):
            wrong.append(f"{each.name}: {verdict} by {gate} instead of proven")
    sys.stdout.write("\n".join([*lines, "", *wrong]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
