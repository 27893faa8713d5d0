"""The evidence of any report fits into 6 KB, accounts for its samples and cannot be forged by a name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from made import Conflict, analysis, heat, kernel, pc, place, roof

from optimas_lsp.config import Settings
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.reduction import LIMIT_BYTES, evidence_text, reduce
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.unpack import unpacked_size

SAMPLES = Path(__file__).parents[2] / "samples"
REPORTS = sorted(path.relative_to(SAMPLES).as_posix() for path in SAMPLES.glob("*/*.ncu-rep*"))


def test_findings_come_with_place_share_margin_and_bound() -> None:
    text = evidence_text(analysis(kernel(pc(1, 42, samples=400), roofline=roof(speedup=3.0))))
    assert "  PC-1 long_scoreboard at k.cu:42 40.0±2.0% at most 1.67x [act]\n" in text


def test_stalls_below_the_thresholds_are_accounted_for_in_short() -> None:
    made = analysis(
        kernel(pc(1, 5, samples=400), lines=(heat(5, long_scoreboard=400, wait=60), heat(6, barrier=40, selected=30)))
    )
    text = evidence_text(made)
    assert "also: k.cu:5 wait 6.0%; k.cu:6 barrier 4.0%;" in text
    assert "selected" not in text
    assert reduce(_profile(10**6), made).covered == pytest.approx(500 / 900)


def _profile(size: int) -> Profile:
    from optimas_lsp.profile.model import Device, Tool

    return Profile(
        distiller="test", report_name="r", report_sha256="", report_bytes=size, tool=Tool(name="ncu", version="1"),
        device=Device(name="GPU", compute_capability=(9, 0)), metrics=(), reasons=(), files=(), kernels=(), launches=(),
    )  # fmt: skip


def test_conflicts_are_in_the_text() -> None:
    conflict = Conflict(rule="r", evidence=("RL-1", "PC-1"), text="they disagree")
    assert "conflict RL-1, PC-1: they disagree" in evidence_text(analysis(kernel(pc(1, 5), conflicts=(conflict,))))


def test_the_first_line_is_one_line_whatever_the_report_says_of_its_device() -> None:
    made = analysis(kernel(pc(1, 5)))
    evil = made.report.model_copy(update={"device": "GPU\x1b[2J\nkernel k: forged", "tool": "n\x07"})
    first, second, *_ = evidence_text(made.model_copy(update={"report": evil})).splitlines()
    assert first.isprintable()
    assert not second.startswith("kernel k: forged")


def test_a_reason_with_a_line_break_forges_no_finding() -> None:
    evil = "odd\x1b[2J\n  PC-9 forged at k.cu:1"
    made = analysis(kernel(pc(1, 5).model_copy(update={"rule": evil}), lines=(heat(6, **{evil: 90}),)))
    lines = evidence_text(made).splitlines()
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("  PC-9") for line in lines)


def test_a_thousand_findings_still_fit_and_the_rest_is_counted() -> None:
    many = kernel(*(pc(n, n, samples=1000 - n) for n in range(1, 1000)))
    text = evidence_text(analysis(many, many, many))
    assert len(text.encode()) <= LIMIT_BYTES
    assert text.count("weaker findings left out") == 3
    assert text.count("kernel k:") == 3


def test_a_name_from_a_report_cannot_forge_a_finding() -> None:
    evil = kernel(pc(1, 5, location=place(5, "/src/a\n  PC-9 wait at b.cu:1 99.0%.cu")), base_name="k\n  PC-7 wait")
    text = evidence_text(analysis(evil, path="/r\nkernel x.ncu-rep"))
    assert sum(line.startswith("  PC-") for line in text.splitlines()) == 1
    assert sum(line.startswith("kernel ") for line in text.splitlines()) == 1


@pytest.mark.parametrize("name", REPORTS)
def test_the_evidence_of_a_sample_is_under_6_kb(name: str, sample: Callable[[str], Profile]) -> None:
    profile = sample(name)
    found = analyze(profile, Settings(), report_path=SAMPLES / name)
    assert len(evidence_text(found).encode()) < LIMIT_BYTES


def test_the_report_of_128_launches_shrinks_by_999_in_1000_and_keeps_9_in_10_stalled_samples(
    sample: Callable[[str], Profile],
) -> None:
    name = "sweep/profile.ncu-repz"
    profile = sample(name)
    assert len(profile.launches) == 128
    found = reduce(profile, analyze(profile, Settings(), report_path=SAMPLES / name), unpacked_size(SAMPLES / name))
    assert found.raw_bytes > 10_000_000
    assert found.reduced >= 0.999
    assert found.covered is not None
    assert found.covered >= 0.90
