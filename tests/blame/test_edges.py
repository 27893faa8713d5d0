"""Every edge that was verified by hand is found, with its kind and share."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.profile.model import Profile

EDGES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "edges.toml").read_text("utf-8"))["edge"]


def name(edge: dict[str, Any]) -> str:
    return f"{edge['report'].split('/profile')[0]}-{edge['consumer']:#x}-{edge['cause']:#x}"


@pytest.mark.parametrize("edge", EDGES, ids=name)
def test_the_cause_is_the_one_found_by_hand(
    edge: dict[str, Any], load: Callable[[str], tuple[Profile, Analysis]]
) -> None:
    profile, _ = load(edge["report"])
    [kernel] = [each for each in profile.kernels if edge["kernel"] in each.mangled]
    code = kernel.code
    assert code.causes is not None
    consumer, cause = code.offset.index(edge["consumer"]), code.offset.index(edge["cause"])
    reason = profile.reasons.index(edge["reason"])
    found = {each.producer: each for each in code.causes if (each.consumer, each.reason) == (consumer, reason)}
    assert cause in found, f"found {[hex(code.offset[each]) for each in found]}; by hand: {edge['why']}"
    assert found[cause].kind == edge["kind"]
    assert found[cause].share >= edge["share"], edge["why"]


def test_there_are_enough_edges_over_all_kinds_and_samples() -> None:
    assert len(EDGES) >= 40
    assert {edge["kind"] for edge in EDGES} == {"raw", "war", "sync", "drain"}
    assert {edge["reason"] for edge in EDGES} >= {"long_scoreboard", "short_scoreboard", "barrier", "drain"}
    assert len({edge["report"] for edge in EDGES}) >= 20
