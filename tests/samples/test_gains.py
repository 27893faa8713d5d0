"""The tables of gains say what the records say: no more, no less, and never another verdict."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def test_the_tables_are_what_the_records_say() -> None:
    command = [sys.executable, str(ROOT / "samples" / "gains.py"), "--check"]
    done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_at_least_half_of_the_samples_improve_and_the_others_say_so() -> None:
    page = (ROOT / "README.md").read_text("utf-8").partition("<!-- gains -->")[2].partition("<!-- /gains -->")[0]
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert set(rows) == {place.parent.name for place in (ROOT / "samples").glob("*/outcomes.json")}
    proven = 0
    for sample, row in rows.items():
        outcomes = json.loads((ROOT / "samples" / sample / "outcomes.json").read_text("utf-8"))["outcomes"]
        improves = any(each["verdict"] == "proven" and _gains(each, "default") for each in outcomes)
        elsewhere = any(each["verdict"] == "proven" for each in outcomes)
        assert improves == ("| proven |" in row)
        assert improves or "not offered" in row or ("no gain here, but on" if elsewhere else "nothing helped") in row
        proven += improves
    assert 2 * proven >= len(rows)


def _gains(entry: dict[str, Any], name: str) -> bool:
    """Whether it is faster on this input, by what was recorded."""
    timing: dict[str, Any] = entry["timing"]
    found: dict[str, Any] = timing if timing["input"] == name else (timing.get("inputs") or {}).get(name) or {}
    return bool(found) and found["kernel_ns"]["low"] > 1 and found["kernel_ns"]["speedup"] >= 1.02


def test_what_was_too_slow_on_another_input_is_not_told_as_such_of_this_one() -> None:
    """A record that was decided by another input counts by its times of the table's."""
    spec = importlib.util.spec_from_file_location("gains", ROOT / "samples" / "gains.py")
    assert spec is not None
    assert spec.loader is not None
    gains = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gains)
    folder = ROOT / "samples" / "adjacent"
    known = json.loads((folder / "outcomes.json").read_text("utf-8"))["outcomes"]
    entry = next(each for each in known if each["timing"].get("inputs") and each["timing"]["input"] == "small")
    assert gains.on_input(entry, folder) == entry
    slower = {**entry["timing"]["inputs"]["small"], "inputs": entry["timing"]["inputs"]}
    gates = [gate for gate in entry["gates"] if gate["name"] not in {"plausible", "reprofile", "provenance"}]
    gates = [{**gate, **({"status": "fail"} if gate["name"] == "time" else {})} for gate in gates]
    found = gains.on_input({**entry, "verdict": "rejected", "timing": slower, "gates": gates}, folder)
    assert gains.said(found) == "proven"
    assert gains.kernel(found) == gains.kernel(entry)
