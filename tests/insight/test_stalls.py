"""The table of stall reasons holds what every room relies on."""

from __future__ import annotations

import pytest

from optimas_lsp.insight.stalls import StallReason, is_stall, reason, table
from optimas_lsp.profile.model import NOT_STALLED

NCU_2025_3 = {
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instructions",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
    "warpgroup_arrive",
}


def test_every_reason_of_the_profiler_is_in_the_table() -> None:
    assert set(table()) >= NCU_2025_3


@pytest.mark.parametrize("row", table().values(), ids=lambda row: row.name)
def test_a_row_explains_itself(row: StallReason) -> None:
    assert row.known
    assert row.waits_for
    assert row.meaning.endswith(".")
    assert row.ignore_when.endswith(".")
    assert row.remedies or not row.actionable, "whoever is told to act is told how"
    assert row.stalled == is_stall(row.name)


def test_the_reasons_that_are_no_stall_agree_with_the_model() -> None:
    assert {name for name, row in table().items() if not row.stalled} == NOT_STALLED


def test_an_unknown_reason_is_a_stall_we_admit_not_to_know() -> None:
    row = reason("warp_drive")
    assert not row.known
    assert not row.actionable
    assert "knows a stall reason we do not: 'warp_drive'" in row.meaning
