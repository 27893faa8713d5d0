"""The arena's recorded run on an H200 agrees with what its variants promise."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

_ARENA = Path(__file__).parents[1] / "gpu" / "arena" / "variants.py"
_SPEC = importlib.util.spec_from_file_location("arena_variants", _ARENA)
assert _SPEC is not None
assert _SPEC.loader is not None
variants = importlib.util.module_from_spec(_SPEC)
sys.modules["arena_variants"] = variants
_SPEC.loader.exec_module(variants)

RECORD: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "arena_h200.json").read_text("utf-8"))
FOUND = {entry["name"]: entry for entry in RECORD["variants"]}
CHANGED_SINCE = {"early-host-read"}
"""Written anew after the recorded run, see docs/proof.md: another gate stopped what it was then."""


def test_the_record_says_where_and_when() -> None:
    assert RECORD["machine"]["gpu"]["name"] == "NVIDIA H200"
    assert RECORD["date"] == "2026-12-01"
    assert set(FOUND) == {variant.name for variant in variants.ALL}


@pytest.mark.parametrize("variant", variants.ALL, ids=lambda variant: variant.name)
def test_each_variant_met_its_gate(variant: Any) -> None:
    entry = FOUND[variant.name]
    assert variant.source()
    if not variant.gates:
        assert entry["speedup"][1] > 1
        assert entry["verdict"] == "proven" or (variant.tenfold and entry["stopped_by"] == "plausible")
        return
    assert entry["verdict"] == "rejected"
    if variant.name in CHANGED_SINCE:
        assert entry["stopped_by"] not in variant.gates
    else:
        assert entry["stopped_by"] in variant.gates


def test_there_are_enough_of_both() -> None:
    assert sum(bool(variant.gates) for variant in variants.ALL) >= 20
    assert sum(FOUND[each.name]["verdict"] == "proven" for each in variants.ALL if not each.gates) >= 12
