"""Findings are ordered by what acting on them could buy, and one place to change is one finding."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from made import Bound, kernel, pc, place, roof

from optimas_lsp.insight.evidence import SampleTotals
from optimas_lsp.insight.ranking import buys, merge, rank
from optimas_lsp.insight.whole_kernel import whole_program


def order(*evidence: object, **more: object) -> list[str]:
    ((_, ranked),) = rank([kernel(*evidence, **more)])  # type: ignore[arg-type]
    return [one.evidence.id for one in ranked]


def test_the_finding_that_buys_most_comes_first() -> None:
    assert order(pc(1, 10, samples=50), pc(2, 11, samples=400), pc(3, 12, samples=200)) == ["PC-2", "PC-3", "PC-1"]


def test_what_can_be_changed_comes_before_what_only_takes_time() -> None:
    assert order(pc(1, 10, samples=400, level="hot"), pc(2, 11, samples=100), pc(3, 12, samples=500, level="note")) == [
        "PC-2",
        "PC-1",
        "PC-3",
    ]


def test_a_bound_of_its_own_counts_more_than_samples() -> None:
    bound = Bound(speedup=3.0, method="hiding")
    assert order(pc(1, 10, samples=500), pc(2, 11, samples=10, bound=bound)) == ["PC-2", "PC-1"]


def test_the_elimination_bound_is_t_over_t_minus_m_weighed_by_the_kernels_share() -> None:
    """200 of 1,000 samples gone makes the kernel 1.25 times faster; at half the GPU time that is 1 / 0.9."""
    assert buys(pc(1, 10, samples=200), kernel()) == pytest.approx(1.25)
    assert buys(pc(1, 10, samples=200), kernel(share=0.5)) == pytest.approx(1 / 0.9)


def test_nothing_buys_more_than_the_ceiling_leaves() -> None:
    assert buys(pc(1, 10, samples=800), kernel(roofline=roof(speedup=1.25))) == pytest.approx(1.25)


def test_without_samples_nothing_is_promised() -> None:
    empty = SampleTotals(total=0, stalled=0, not_issued=0, unattributed=0)
    assert buys(pc(1, 10), kernel(samples=empty)) == 1.0


def test_a_library_line_reached_twice_from_one_line_is_one_finding() -> None:
    library, user = place(7, "/cuda/block.cuh"), place(20)
    twice = [pc(n, 0, samples=100, location=library, shown=user) for n in (1, 2)]
    (one,) = merge(kernel(*twice))
    assert (one.evidence.id, one.merged, one.evidence.samples) == ("PC-1", ("PC-2",), 200)
    assert one.evidence.share == pytest.approx(0.2)


def test_two_reasons_on_a_line_stay_two_findings() -> None:
    assert len(merge(kernel(pc(1, 10), pc(2, 10, rule="wait")))) == 2


def test_a_kernel_that_becomes_faster_speeds_up_its_part_only() -> None:
    assert whole_program(2.0, 0.5) == pytest.approx(4 / 3)
    assert whole_program(2.0, None) == pytest.approx(2.0)
