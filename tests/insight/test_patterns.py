"""Pattern rules on real reports: each has programs that show it, and programs where it must stay silent."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight import knowledge
from optimas_lsp.insight.evidence import Evidence
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.insight.patterns import RULES

SAMPLES = Path(__file__).parents[2] / "samples"

SHOWS = [
    ("uncoalesced-global", "lookup", "grid[middle].energy"),
    ("uncoalesced-global", "sobol", "output["),
    ("uncoalesced-global", "blame/pointer_chase", "node = next["),
    ("bank-conflicts", "blame/bank_conflicts", "@ pattern bank_conflicts"),
    ("bank-conflicts", "shmem", "tile["),
    ("register-spills", "blame/spill", "values[k]"),
    ("unintended-double", "blame/double_in_float", "@ pattern double_in_float"),
    ("divergent-branches", "blame/divergent_branch", "@ pattern divergent_branch"),
    ("contended-atomics", "blame/contended_atomics", "@ pattern contended_atomics"),
    ("read-only-path", "blame/contended_atomics", "input["),
    ("narrow-loads", "blame/narrow_loads", "@ pattern narrow_loads"),
    ("async-copy", "blame/staged_copy", "@ pattern async_copy"),
    ("integer-division", "blame/integer_division", "@ pattern integer_division"),
    ("tail-wave", "blame/tail_wave", None),
    ("tail-wave", "blame/few_blocks", None),
    ("low-occupancy", "blame/low_occupancy", None),
    ("low-occupancy", "stencil", None),
]
"""(rule, program, words of the line it is shown on; None: it is about the whole kernel)."""

SILENT = [
    ("uncoalesced-global", "stream"),
    ("uncoalesced-global", "accuracy"),
    ("bank-conflicts", "blame/staged_copy"),
    ("bank-conflicts", "accuracy"),
    ("register-spills", "stencil"),
    ("register-spills", "stream"),
    ("unintended-double", "lookup"),
    ("unintended-double", "stream"),
    ("unintended-double", "blame/two_loads"),
    ("divergent-branches", "stream"),
    ("divergent-branches", "blame/slow_warp"),
    ("contended-atomics", "accuracy"),
    ("contended-atomics", "blame/two_loads"),
    ("read-only-path", "accuracy"),
    ("read-only-path", "stream"),
    ("narrow-loads", "stream"),
    ("narrow-loads", "blame/two_loads"),
    ("async-copy", "accuracy"),
    ("async-copy", "blame/slow_warp"),
    ("integer-division", "blame/divergent_branch"),
    ("integer-division", "stream"),
    ("tail-wave", "accuracy"),
    ("low-occupancy", "accuracy"),
    ("low-occupancy", "blame/two_loads"),
]


@cache
def patterns(program: str) -> tuple[Evidence, ...]:
    [report] = [path for path in (SAMPLES / program).iterdir() if path.name in ("profile.ncu-rep", "profile.ncu-repz")]
    _, analysis = load_analysis(report, Settings())
    return tuple(each for kernel in analysis.kernels for each in kernel.evidence if each.source == "pt")


def line_of(evidence: Evidence, program: str) -> str:
    place = evidence.shown or evidence.location
    assert place is not None
    path = SAMPLES / program / Path(place.file).name
    return path.read_text("utf-8").splitlines()[place.line - 1]


@pytest.mark.parametrize(("rule", "program", "words"), SHOWS)
def test_a_pattern_is_found_where_it_is(rule: str, program: str, words: str | None) -> None:
    found = [each for each in patterns(program) if each.rule == rule]
    assert found, f"{rule} is not found in {program}"
    assert all(each.level in ("act", "hot") for each in found)
    if words is not None:
        assert words in line_of(found[0], program)


@pytest.mark.parametrize(("rule", "program"), SILENT)
def test_a_pattern_stays_silent_where_it_is_not(rule: str, program: str) -> None:
    assert [each.text for each in patterns(program) if each.rule == rule] == []


def test_every_rule_is_shown_and_silent_somewhere() -> None:
    assert {rule for rule, _, _ in SHOWS} == set(RULES)
    assert {rule for rule, _ in SILENT} == set(RULES)


def test_every_rule_has_its_page() -> None:
    pages = Path(knowledge.__file__).parent / "rules"
    assert all((pages / f"{rule}.toml").is_file() for rule in RULES)


@pytest.mark.parametrize("program", sorted({program for _, program, _ in SHOWS}))
def test_a_finding_says_what_it_costs_what_helps_and_what_it_buys_at_most(program: str) -> None:
    for each in patterns(program):
        assert "Usually helps: " in each.text
        assert each.bound is None or each.bound.speedup >= 1
        assert each.expects
