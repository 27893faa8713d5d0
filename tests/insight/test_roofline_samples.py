"""Our verdicts against the profiler's own rule on every launch of every sample (see docs/roofline.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.insight.roofline import roofline
from optimas_lsp.profile.model import Launch, Profile

SAMPLES = Path(__file__).parents[2] / "samples"
REPORTS = sorted(path.relative_to(SAMPLES).as_posix() for path in SAMPLES.glob("*/*.ncu-rep*"))

AGREES = {
    "High Memory Throughput": {"memory"},
    "High Compute Throughput": {"compute"},
    "High Throughput": {"memory", "compute"},
    "Balanced Throughput": {"memory", "compute"},
    "Latency Issue": {"latency"},
    "Small Grid": {"latency"},
}
"""Titles of the profiler's bottleneck rule and our verdicts that say the same."""


def bottleneck(profile: Profile, launch: Launch) -> str | None:
    titles = (profile.rules[at].title for at in launch.rules if profile.rules[at].identifier == "SOLBottleneck")
    return next((title for title in titles if title), None)


@pytest.mark.parametrize("name", REPORTS)
def test_every_launch_gets_the_verdict_of_the_profilers_own_rule(name: str, sample: Callable[[str], Profile]) -> None:
    profile = sample(name)
    for launch in profile.launches:
        found, title = roofline(profile, [launch]), bottleneck(profile, launch)
        assert found is not None
        if title is not None:
            assert found.verdict in AGREES[title], f"launch {launch.index}: {found.text} but the profiler: {title}"


@pytest.mark.parametrize("name", REPORTS)
def test_ceilings_are_below_the_measured_time_and_come_from_the_report(
    name: str, sample: Callable[[str], Profile]
) -> None:
    profile = sample(name)
    for at in range(len(profile.kernels)):
        found = roofline(profile, [launch for launch in profile.launches if launch.kernel == at])
        assert found is not None
        assert found.peaks_from == "report"
        assert found.ceiling is not None
        assert 0 < found.ceiling.time_ns <= found.time_ns
        assert found.ceiling.speedup == pytest.approx(found.time_ns / found.ceiling.time_ns)
        assert found.ceiling.limited_by in found.ceiling.each_ns
        if found.ceiling.work_speedup is not None:
            assert found.ceiling.work_speedup >= found.ceiling.speedup


def test_a_copy_moves_what_it_reads_and_writes(sample: Callable[[str], Profile]) -> None:
    """stream's copy: DRAM bytes are close to two arrays, and DRAM is what limits it."""
    profile = sample("stream/profile.ncu-repz")
    at = next(index for index, kernel in enumerate(profile.kernels) if kernel.base_name == "copy_kernel")
    found = roofline(profile, [launch for launch in profile.launches if launch.kernel == at])
    assert found is not None
    assert found.verdict == "memory"
    assert found.ceiling is not None
    assert found.ceiling.limited_by == "dram"
    assert found.levels["dram"].peak_bytes_per_s == pytest.approx(4.8e12, rel=0.01)
    assert found.precision == "none"


def test_flop_of_triad_are_two_an_element(sample: Callable[[str], Profile]) -> None:
    profile = sample("stream/profile.ncu-repz")
    at = next(index for index, kernel in enumerate(profile.kernels) if kernel.base_name == "triad_kernel")
    (launch,) = (launch for launch in profile.launches if launch.kernel == at)
    found = roofline(profile, [launch])
    assert found is not None
    assert found.precision == "fp64"
    threads = launch.grid[0] * launch.block[0]
    assert found.precisions["fp64"].flop == pytest.approx(2 * threads, rel=0.01)


def test_a_basic_report_has_a_verdict_and_no_bytes(sample: Callable[[str], Profile]) -> None:
    profile = sample("accuracy/profile-basic.ncu-rep")
    found = roofline(profile, profile.launches)
    assert found is not None
    assert found.verdict == "latency"
    assert found.levels["dram"].bytes is None
    assert found.levels["dram"].achieved_pct == pytest.approx(47, abs=2)


def test_bytes_that_only_moved_because_sectors_were_written_in_part_do_not_limit_what_is_plausible(
    sample: Callable[[str], Profile],
) -> None:
    """sobol writes 134 MB of points, 4 bytes a sector: 2.1 GB cross DRAM; 3.82 times faster was measured."""
    profile = sample("sobol/profile.ncu-repz")
    found = roofline(profile, profile.launches)
    assert found is not None
    assert found.ceiling is not None
    assert found.ceiling.work_speedup == pytest.approx(2.966, abs=0.01)
    moved = found.levels["dram"].bytes
    assert moved is not None
    useful = 4 * 32 * 2**20
    assert found.ceiling.useful_speedup == pytest.approx(2.966 * moved / useful, rel=0.01)
    assert found.ceiling.plausible_speedup == found.ceiling.useful_speedup


@pytest.mark.parametrize(
    "name", ["accuracy/profile.ncu-rep", "stream/profile.ncu-repz", "cub_adjacent/profile.ncu-repz"]
)
def test_where_whole_sectors_are_used_nothing_is_left_out(name: str, sample: Callable[[str], Profile]) -> None:
    profile = sample(name)
    for at in range(len(profile.kernels)):
        found = roofline(profile, [launch for launch in profile.launches if launch.kernel == at])
        assert found is not None
        assert found.ceiling is not None
        assert found.ceiling.useful_speedup is None
        assert found.ceiling.plausible_speedup == found.ceiling.work_speedup
