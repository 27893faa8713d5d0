"""What the analysis says of the sample programs, from their real reports."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.evidence import Analysis, KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.insight.stalls import is_stall
from optimas_lsp.profile.model import Profile

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
REPORTS = sorted(path for path in SAMPLES.glob("*/*.ncu-rep*") if path.is_file())
NAMES = [f"{path.parent.name}/{path.name}" for path in REPORTS]

HOTTEST = {
    "accuracy": ("outranks", "long_scoreboard"),
    "adjacent": ("in[i] - in[i - 1]", "long_scoreboard"),
    "lookup": ("grid[middle].energy > energy", "long_scoreboard"),
    "shmem": ("mirror[x][y] = tile[y][x]", "short_scoreboard"),
    "sobol": ("directions[dimension * kBits + bit]", "lg_throttle"),
    "softmax_triton": ("tl.store(y_row", "long_scoreboard"),
    "stencil": ("u[at - 2 * stride]", "long_scoreboard"),
    "stream": ("partial[local] += a[i] * b[i]", "long_scoreboard"),
}
"""For each program, text on the line where its costliest kernel waits most, and the reason."""


CACHE = TemporaryDirectory()


@cache
def load(report: Path, keep_all: bool) -> tuple[Profile, Analysis]:
    return load_analysis(report, Settings(), keep_all=keep_all, cache_dir=Path(CACHE.name))


@pytest.fixture(params=REPORTS, ids=NAMES)
def loaded(request: pytest.FixtureRequest) -> tuple[Profile, Analysis]:
    """Profile and whole analysis of one report."""
    return load(request.param, True)


def test_every_program_has_its_report() -> None:
    assert set(HOTTEST) <= {path.parent.name for path in REPORTS}


def test_no_sample_is_lost(loaded: tuple[Profile, Analysis]) -> None:
    profile, analysis = loaded
    everything = {(kernel.mangled, kernel.code.sha256): sum(kernel.samples.all_) for kernel in profile.kernels}
    assert sum(kernel.samples.total for kernel in analysis.kernels) == sum(everything.values())
    for kernel in analysis.kernels:
        totals = kernel.samples
        assert sum(line.samples for line in kernel.lines) + totals.unattributed == totals.total
        assert sum(why.samples for why in totals.why_unattributed) == totals.unattributed
        assert totals.not_issued <= totals.total
        for line in kernel.lines:
            assert sum(reason.samples for reason in line.reasons) == line.samples
            assert line.share == pytest.approx(line.samples / totals.total)


def test_every_stalled_sample_with_a_line_is_in_exactly_one_finding(loaded: tuple[Profile, Analysis]) -> None:
    for kernel in loaded[1].kernels:
        found = [each for each in kernel.evidence if each.source == "pc"]
        stalled = sum(line.stalled for line in kernel.lines)
        assert sum(each.samples for each in found) == stalled
        assert all(is_stall(each.rule) for each in found)


def test_ids_are_unique_and_findings_come_costliest_first(loaded: tuple[Profile, Analysis]) -> None:
    every = [each.id for kernel in loaded[1].kernels for each in kernel.evidence]
    assert len(set(every)) == len(every)
    for kernel in loaded[1].kernels:
        kept = [each.not_issued for each in kernel.evidence if each.source == "pc" and each.level != "note"]
        assert kept == sorted(kept, reverse=True)


def test_shares_of_gpu_time_sum_to_one(loaded: tuple[Profile, Analysis]) -> None:
    shares = [kernel.share for kernel in loaded[1].kernels]
    assert sum(share for share in shares if share is not None) == pytest.approx(1)
    assert any(kernel.hot for kernel in loaded[1].kernels)


def test_an_analysis_survives_its_own_json(loaded: tuple[Profile, Analysis]) -> None:
    analysis = loaded[1]
    assert Analysis.model_validate_json(analysis.model_dump_json(by_alias=True)) == analysis


def report(sample: str, stem: str = "profile") -> Path:
    """The report of a program, packed or not."""
    [found] = [path for path in REPORTS if path.parent.name == sample and path.name.partition(".")[0] == stem]
    return found


def hottest(report: Path) -> tuple[Profile, KernelAnalysis]:
    profile, analysis = load(report, False)
    return profile, analysis.kernels[0]


@pytest.mark.parametrize("sample", HOTTEST)
def test_the_hottest_line_of_each_program(sample: str) -> None:
    words, reason = HOTTEST[sample]
    profile, kernel = hottest(report(sample))
    first = next(each for each in kernel.evidence if each.source == "pc")
    texts = {source.path: (source.text or "").splitlines() for source in profile.files}
    assert first.location is not None
    frames = [first.location, *first.inlined_at]
    lines = [texts[each.file][each.line - 1] for each in frames if each.line <= len(texts[each.file])]
    assert any(words in line for line in lines), lines
    assert first.rule == reason
    spot = first.shown or first.location
    warned = first.level == "act" or any(
        each.source == "bl" and each.level == "act" and spot in each.waits for each in kernel.evidence
    )
    assert warned, "the Warning is on the line itself or on the line it waits for"


def test_accuracy_waits_for_memory_in_one_comparison() -> None:
    _, kernel = hottest(report("accuracy"))
    first = kernel.evidence[0]
    assert first.share > 0.7
    assert first.margin < 0.01
    assert kernel.issue_active == pytest.approx(0.27, abs=0.05)
    assert kernel.facts["registers_per_thread"] == 16


def test_a_report_without_line_information_says_so_and_still_names_what_warps_wait_for() -> None:
    _, kernel = hottest(report("accuracy", "profile-nolineinfo"))
    assert kernel.samples.unattributed == kernel.samples.total > 0
    assert "-lineinfo" in kernel.samples.why_unattributed[0].text
    assert not kernel.lines


def test_a_basic_report_has_no_samples_and_a_note_with_the_remedy() -> None:
    _, analysis = load(report("accuracy", "profile-basic"), False)
    assert analysis.kernels[0].samples.total == 0
    assert any("SourceCounters" in note.text for note in analysis.notes)


def test_two_instantiations_of_one_template_are_two_kernels() -> None:
    _, analysis = load(report("shmem"), False)
    assert [kernel.base_name for kernel in analysis.kernels].count("mix_tiles") == 2


@pytest.mark.parametrize("sample", HOTTEST)
def test_every_kernel_of_a_program_is_found_where_it_is_defined(sample: str) -> None:
    profile, analysis = load(report(sample), False)
    texts = {source.path: (source.text or "").splitlines() for source in profile.files}
    places: list[tuple[str, int]] = []
    for kernel in analysis.kernels:
        assert kernel.location is not None
        assert kernel.base_name in texts[kernel.location.file][kernel.location.line - 1]
        places.append((kernel.location.file, kernel.location.line))
    assert len(set(places)) == len(places) or sample == "shmem", "only instantiations share a definition"
