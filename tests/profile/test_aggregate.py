"""Sums of samples over lines."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimas_lsp.profile.aggregate import (
    aggregate,
    by_not_issued,
    innermost,
    locate,
    margin,
    outermost,
    sum_by_line,
)
from optimas_lsp.profile.model import Frame

CHAINS = (
    (Frame(file=0, line=1),),
    (Frame(file=1, line=7), Frame(file=0, line=2)),
    (Frame(file=1, line=8), Frame(file=0, line=2)),
    (Frame(file=0, line=0),),
    (Frame(file=2, line=3),),
    (Frame(file=-1, line=3),),
    (Frame(file=3, line=3),),
)


@pytest.fixture(scope="module")
def profile(make):
    """Nine instructions; counts are powers of two, so that a sum tells which were added."""
    chain = (0, 0, 1, 2, 3, 4, 5, 6, -1)
    cells = tuple((at, 0, 2**at, 2**at if at % 2 else 0) for at in range(9))
    return make.profile((make.kernel(chains=CHAINS, chain=chain, cells=cells),), ((0, 1.0),))


def _lines(sums):
    return {(item.file, item.line): item.samples for item in sums.lines}


def test_an_instruction_counts_for_its_innermost_line(profile):
    assert _lines(aggregate(profile, 0)) == {(0, 1): 1 + 2, (1, 7): 4, (1, 8): 8}


def test_any_frame_of_the_chain_can_be_chosen(profile):
    assert _lines(aggregate(profile, 0, outermost)) == {(0, 1): 3, (0, 2): 4 + 8}


def test_unattributed_samples_say_why(profile):
    sums = aggregate(profile, 0)
    assert {item.why: item.samples for item in sums.why_unattributed} == {
        "line-0": 16,
        "generated": 32,
        "no-file": 64 + 128,
        "no-lineinfo": 256,
    }
    assert sums.unattributed == 16 + 32 + 64 + 128 + 256
    assert all(item.text for item in sums.why_unattributed)


def test_a_frame_that_the_caller_declines_is_unattributed(profile):
    sums = aggregate(profile, 0, lambda chain: None)
    assert (sums.lines, sums.unattributed) == ((), sums.total)


def test_selected_and_not_selected_are_no_stalls(make):
    cells = ((0, 0, 10, 5), (0, 1, 20, 6), (0, 2, 40, 0), (0, 3, 80, 0), (0, 4, 160, 7))
    sums = aggregate(make.profile((make.kernel(cells=cells),), ((0, 1.0),)), 0)
    assert (sums.total, sums.stalled, sums.not_issued) == (310, 10 + 20 + 160, 18)
    (line,) = sums.lines
    assert (line.samples, line.stalled, line.not_issued, line.share) == (310, 190, 18, 1.0)
    assert [item.reason for item in line.reasons] == [4, 3, 2, 1, 0]


def test_lines_are_ranked_by_not_issued_samples_on_request(make):
    chains = ((Frame(file=0, line=1),), (Frame(file=0, line=2),))
    kernel = make.kernel(chains=chains, chain=(0, 1), cells=((0, 0, 100, 1), (1, 0, 50, 40)))
    sums = aggregate(make.profile((kernel,), ((0, 1.0),)), 0)
    assert [item.line for item in sums.lines] == [1, 2]
    assert [item.line for item in by_not_issued(sums)] == [2, 1]


def test_a_share_of_thirty_percent_of_two_hundred_samples_has_a_margin_of_six_points():
    assert margin(0.30, 200) == pytest.approx(0.0635, abs=1e-4)
    assert margin(0.0, 0) == 0.0


def test_a_kernel_without_samples_has_no_lines(make):
    sums = aggregate(make.profile((make.kernel(),), ((0, 1.0),)), 0)
    assert (sums.total, sums.lines, sums.unattributed) == (0, (), 0)


def test_execution_counts_sum_over_lines(profile):
    located = locate(profile, profile.kernels[0])
    assert sum_by_line(located, [1, 10, 100, 1000, 1, 1, 1, 1, 1]) == {(0, 1): 11, (1, 7): 100, (1, 8): 1000}


@st.composite
def kernels(draw):
    """A random kernel: chains, one chain an instruction and samples without repeated cells."""
    frames = st.builds(Frame, file=st.integers(-1, 3), line=st.integers(0, 4))
    chains = draw(st.lists(st.lists(frames, min_size=1, max_size=3).map(tuple), min_size=1, max_size=5).map(tuple))
    chain = draw(st.lists(st.integers(-1, len(chains) - 1), min_size=1, max_size=12).map(tuple))
    cells = draw(
        st.dictionaries(
            st.tuples(st.integers(0, len(chain) - 1), st.integers(0, 4)),
            st.tuples(st.integers(1, 10**12), st.integers(0, 10**6)),
            max_size=20,
        )
    )
    return chains, chain, tuple((*key, *value) for key, value in cells.items())


@given(kernels(), st.sampled_from([innermost, outermost]))
def test_sums_equal_a_count_by_hand(make, drawn, pick):
    chains, chain, cells = drawn
    profile = make.profile((make.kernel(chains=chains, chain=chain, cells=cells),), ((0, 1.0),))
    sums = aggregate(profile, 0, pick)
    expected: Counter[tuple[int, int]] = Counter()
    for instruction, _, samples, _ in cells:
        frame = pick(chains[chain[instruction]]) if chain[instruction] >= 0 else None
        if frame and frame.file in (0, 1) and frame.line > 0:
            expected[frame.file, frame.line] += samples
    assert _lines(sums) == dict(expected)
    assert sums.total == sum(cell[2] for cell in cells)
    assert sums.total == sums.unattributed + sum(item.samples for item in sums.lines)
    assert sums.not_issued == sum(cell[3] for cell in cells)
    for line in sums.lines:
        assert sum(item.samples for item in line.reasons) == line.samples
