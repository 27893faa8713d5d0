"""Sources that disagree are shown with the evidence on both sides; agreement stays silent."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from made import CounterImportance, heat, kernel, pc, roof, score

from optimas_lsp.insight.conflicts import conflicts
from optimas_lsp.insight.evidence import Evidence

RL = Evidence(id="RL-1", source="rl", rule="memory-bound", kernel="k", location=None)
IA = Evidence(id="IA-1", source="ia", rule="counter-importance", kernel="k", location=None)
BUSY = 0.7


def rules(*evidence: Evidence, **more: object) -> list[str]:
    return [found.rule for found in conflicts(kernel(*evidence, **more), BUSY)]  # type: ignore[arg-type]


def test_a_memory_bound_roofline_with_arithmetic_stalls_is_a_conflict() -> None:
    lines = (heat(5, math_pipe_throttle=500, long_scoreboard=100),)
    subject = kernel(pc(1, 5, rule="math_pipe_throttle", samples=500), RL, lines=lines, roofline=roof())
    (found,) = conflicts(subject, BUSY)
    assert found.rule == "memory-roofline-compute-stalls"
    assert found.evidence == ("RL-1", "PC-1")
    assert "50 %" in found.text


def test_a_memory_bound_roofline_with_memory_stalls_is_none() -> None:
    assert rules(pc(1, 5), RL, lines=(heat(5, long_scoreboard=600, wait=100),), roofline=roof()) == []


def test_a_compute_bound_roofline_with_memory_stalls_is_a_conflict() -> None:
    lines = (heat(5, long_scoreboard=600),)
    assert rules(pc(1, 5), RL, lines=lines, roofline=roof("compute", 80, 30)) == ["compute-roofline-memory-stalls"]


def test_large_stalls_at_the_ceiling_are_a_conflict() -> None:
    lines = (heat(5, long_scoreboard=600),)
    assert rules(pc(1, 5), RL, lines=lines, roofline=roof(memory=97, speedup=1.03)) == ["near-ceiling-stalls"]


def test_busy_schedulers_under_a_latency_verdict_are_a_conflict() -> None:
    assert rules(RL, roofline=roof("latency", 40, 30, 2.5), issue_active=0.8) == ["latency-roofline-busy-schedulers"]
    assert rules(RL, roofline=roof("latency", 40, 30, 2.5), issue_active=0.3) == []


def test_counters_of_another_unit_than_the_rooflines_are_a_conflict() -> None:
    limiter = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
    ranked = CounterImportance(observations=24, counters=(score("smsp__inst_executed"),))
    assert rules(RL, IA, roofline=roof(memory_limiter=limiter), importance=ranked) == ["counters-against-roofline"]


def test_a_counter_that_cannot_be_told_apart_from_the_rooflines_is_no_conflict() -> None:
    limiter = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
    counters = (score("smsp__inst_executed", together=("dram__bytes",)),)
    ranked = CounterImportance(observations=24, counters=counters)
    assert rules(RL, IA, roofline=roof(memory_limiter=limiter), importance=ranked) == []


def test_without_a_roofline_there_is_nothing_to_disagree_with() -> None:
    assert rules(pc(1, 5), lines=(heat(5, long_scoreboard=600),)) == []
