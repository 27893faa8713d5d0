"""The goals over all samples: how much of the scoreboard stalls one line explains, and nothing without a cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.insight.quality import KernelQuality, pooled, quality
from optimas_lsp.profile.model import Profile

SAMPLES = Path(__file__).parents[2] / "samples"
REPORTS = sorted(
    str(path.relative_to(SAMPLES))
    for path in SAMPLES.glob("**/profile.ncu-rep*")
    if path.suffix in (".ncu-rep", ".ncu-repz")
)


@pytest.fixture(scope="module")
def every(load: Callable[[str], tuple[Profile, Analysis]]) -> list[KernelQuality]:
    return [kernel for report in REPORTS for kernel in quality(load(report)[0])]


def test_one_line_holds_the_blame_for_at_least_95_percent_of_the_samples(every: list[KernelQuality]) -> None:
    assert pooled(every)["by_line"].one >= 0.95


def test_under_half_a_percent_has_no_cause(every: list[KernelQuality]) -> None:
    assert pooled(every)["by_instruction"].none < 0.005


def test_barriers_explain_more_than_registers_alone(every: list[KernelQuality]) -> None:
    pool = pooled(every)
    assert pool["def_use_by_line"].one < pool["by_line"].one
    assert pool["def_use_by_instruction"].none > pool["by_instruction"].none


def test_every_instruction_of_every_sample_is_decoded(every: list[KernelQuality]) -> None:
    assert [
        (kernel.base_name, kernel.instructions - kernel.decoded)
        for kernel in every
        if kernel.decoded != kernel.instructions
    ] == []


def test_shares_sum_to_one(every: list[KernelQuality]) -> None:
    for kernel in every:
        if kernel.scoreboard_samples:
            assert sum(kernel.by_instruction.model_dump().values()) == pytest.approx(1)
            assert sum(kernel.def_use_by_instruction.model_dump().values()) == pytest.approx(1)


def test_samples_in_a_library_are_shown_on_the_users_line(every: list[KernelQuality]) -> None:
    cub = next(kernel for kernel in every if kernel.base_name == "variation_kernel")
    assert cub.moved_from_library > 0.5 * cub.samples


def test_the_causes_of_one_finding_sum_to_one(load: Callable[[str], tuple[Profile, Analysis]]) -> None:
    for report in REPORTS:
        for kernel in load(report)[1].kernels:
            for each in kernel.evidence:
                if each.source == "pc":
                    assert each.causes
                    assert sum(cause.share for cause in each.causes) == pytest.approx(1, abs=1e-3)
                    assert all(cause.opcode for cause in each.causes)


def test_no_bound_passes_the_kernels_ceiling(load: Callable[[str], tuple[Profile, Analysis]]) -> None:
    for report in REPORTS:
        for kernel in load(report)[1].kernels:
            ceiling = kernel.roofline.ceiling if kernel.roofline else None
            for each in kernel.evidence:
                if each.source in ("pc", "bl") and each.not_issued:
                    assert each.bound is not None
                    assert each.bound.speedup >= 1
                    if ceiling is not None:
                        assert each.bound.speedup <= max(1.0, ceiling.speedup) + 1e-3
