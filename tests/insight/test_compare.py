"""Two real profiles of one kernel, before and after its accesses were coalesced, and comparisons made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from made import analysis, heat, kernel, pc, place

from optimas_lsp.config import Settings
from optimas_lsp.insight.changes import Comparison
from optimas_lsp.insight.compare import Pair, compare
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.profile.model import Code, Device, Kernel, Launch, Profile, Samples, SourceFile, Tool

REPORTS = Path(__file__).parent / "reports"


def load(name: str, cache: Path) -> Pair:
    pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
    return load_analysis(REPORTS / name, Settings(), keep_all=True, cache_dir=cache)


@pytest.fixture(scope="module")
def coalesced(profile_cache: Path) -> Comparison:
    """adjacent_kernel on an H200: each thread works on neighbouring elements, then neighbouring threads do."""
    return compare(load("adjacent-before.ncu-repz", profile_cache), load("adjacent-after.ncu-repz", profile_cache))


def test_a_real_gain_is_seen_with_its_cause(coalesced: Comparison) -> None:
    (found,) = coalesced.kernels
    assert found.matched_by == "mangled"
    assert found.same_work
    assert found.speedup == pytest.approx(3.95, abs=0.1)
    assert found.time.moved == "down"
    assert (found.verdict_before, found.verdict_after) == ("memory", "latency")
    sectors = next(each for each in found.counters if each.metric == "lts__t_sectors")
    assert sectors.before is not None
    assert sectors.after is not None
    assert sectors.before > 5 * sectors.after


def test_a_share_that_grew_is_still_less_time(coalesced: Comparison) -> None:
    """long_scoreboard holds more of the samples than before, of a launch that is four times shorter."""
    (found,) = coalesced.kernels
    row = next(each for each in found.stalls if each.reason == "long_scoreboard")
    assert row.share_after > row.share_before
    assert row.cost.moved == "down"


def test_every_finding_that_moved_moved_as_it_implied(coalesced: Comparison) -> None:
    (found,) = coalesced.kernels
    assert found.consistency.moved >= 5
    assert found.consistency.share == 1.0
    assert {each.where for each in found.evidence} >= {"line", "kernel"}


def test_the_gain_lies_between_the_two_ceilings(coalesced: Comparison) -> None:
    """It passes what the old accesses allowed, and not what the same DRAM bytes allow."""
    (found,) = coalesced.kernels
    assert found.ceiling_before is not None
    assert found.ceiling_before.work_speedup is not None
    assert found.speedup is not None
    assert found.ceiling_before.speedup < found.speedup < found.ceiling_before.work_speedup


def test_a_profile_against_itself_moved_nowhere(profile_cache: Path) -> None:
    pair = load("adjacent-before.ncu-repz", profile_cache)
    found = compare(pair, pair)
    (only,) = found.kernels
    assert only.speedup == 1.0
    assert {only.time.moved, *(each.cost.moved for each in only.stalls)} == {"same"}
    assert only.consistency.moved == 0
    assert only.consistency.share is None
    assert "both reports are the same file" in found.notes


def test_the_way_back_is_inconsistent(profile_cache: Path) -> None:
    found = compare(load("adjacent-after.ncu-repz", profile_cache), load("adjacent-before.ncu-repz", profile_cache))
    (only,) = found.kernels
    assert only.time.moved == "up"
    assert only.consistency.share is not None
    assert only.consistency.share < 0.5


def made(
    *kernels: KernelAnalysis,
    texts: dict[str, str] | None = None,
    times: tuple[float | None, ...] = (1e6,),
    sha: str = "0",
) -> Pair:
    """A profile with the launches of ``times`` for each kernel, and its analysis."""
    empty = Code(sha256="", offset=(), sass=(), chain=(), chains=())
    profile = Profile(
        distiller="test",
        report_name="r",
        report_sha256=sha,
        report_bytes=1,
        tool=Tool(name="ncu", version="1"),
        device=Device(name="GPU", compute_capability=(9, 0)),
        metrics=(),
        reasons=(),
        files=tuple(SourceFile(path=path, text=text) for path, text in (texts or {}).items()),
        kernels=tuple(
            Kernel(mangled=each.mangled, name=each.name, base_name=each.base_name, code=empty, samples=Samples())
            for each in kernels
        ),
        launches=tuple(
            Launch(
                index=len(times) * at + n, kernel=at, grid=each.grid, block=each.block, duration_ns=time, counters=()
            )
            for at, each in enumerate(kernels)
            for n, time in enumerate(times)
        ),
    )
    found = analysis(*kernels)
    return profile, found.model_copy(update={"report": found.report.model_copy(update={"sha256": sha})})


def test_noise_is_no_change() -> None:
    """One percent of time and one percent of 1,000 samples are within what repeats."""
    before = made(kernel(pc(1, 2, samples=100), lines=(heat(2, long_scoreboard=100),)), times=(1.00e6,))
    after = made(kernel(lines=(heat(2, long_scoreboard=110),)), times=(1.01e6,), sha="1")
    (found,) = compare(before, after).kernels
    assert found.time.moved == "same"
    assert found.stalls[0].cost.moved == "same"


def test_the_spread_of_three_launches_widens_the_noise() -> None:
    before = made(kernel(), times=(1.0e6, 1.2e6, 0.8e6))
    after = made(kernel(), times=(1.1e6, 1.3e6, 0.9e6), sha="1")
    (found,) = compare(before, after).kernels
    assert found.time.moved == "same"
    assert found.time.noise > 2e5


def test_a_finding_follows_its_line() -> None:
    """Two lines were added above; the finding on line 2 is compared with line 4."""
    texts = ({"/src/k.cu": "a\nload\nb\n"}, {"/src/k.cu": "x\ny\na\nload\nb\n"})
    before = made(kernel(pc(1, 2, samples=500), lines=(heat(2, long_scoreboard=500),)), texts=texts[0])
    after = made(kernel(lines=(heat(4, long_scoreboard=100),)), texts=texts[1], sha="1")
    (found,) = compare(before, after).kernels
    (only,) = found.evidence
    assert only.where == "line"
    assert (only.change.before, only.change.after) == pytest.approx((5e5, 1e5))
    assert only.consistent is True


def test_a_changed_line_is_compared_over_the_lines_that_replaced_it() -> None:
    texts = ({"/a/k.cu": "a\nold load\nb\n"}, {"/b/k.cu": "a\nnew\nload\nb\n"})
    cells = (
        heat(2, "/a/k.cu", long_scoreboard=500),
        heat(2, "/b/k.cu", long_scoreboard=200),
        heat(3, "/b/k.cu", wait=9),
    )
    before = made(kernel(pc(1, 2, samples=500, location=place(2, "/a/k.cu")), lines=cells[:1]), texts=texts[0])
    after = made(kernel(lines=cells[1:]), texts=texts[1], sha="1")
    (found,) = compare(before, after).kernels
    assert found.evidence[0].where == "block"
    assert found.evidence[0].change.after == pytest.approx(2e5)


def test_a_deleted_line_is_judged_over_the_whole_kernel() -> None:
    texts = ({"/src/k.cu": "a\nload\nb\n"}, {"/src/k.cu": "a\nb\n"})
    before = made(kernel(pc(1, 2, samples=500), lines=(heat(2, long_scoreboard=500),)), texts=texts[0])
    after = made(kernel(lines=(heat(2, long_scoreboard=490),)), texts=texts[1], sha="1")
    (found,) = compare(before, after).kernels
    assert found.evidence[0].where == "kernel"
    assert found.evidence[0].consistent is None


def test_a_cause_is_judged_by_the_lines_that_wait_for_it() -> None:
    cause = pc(1, 1, source="bl", id="BL-1", waits=(place(3),), samples=500)
    text = {"/src/k.cu": "load\nb\nuse\n"}
    before = made(kernel(cause, lines=(heat(3, long_scoreboard=500),)), texts=text)
    after = made(kernel(lines=(heat(3, long_scoreboard=50),)), texts=text, sha="1")
    (found,) = compare(before, after).kernels
    assert found.evidence[0].change.before == pytest.approx(5e5)
    assert found.evidence[0].consistent is True


def test_kernels_match_by_mangled_name_then_by_base_name() -> None:
    one, two = kernel(mangled="_Z1av", base_name="a"), kernel(mangled="_Z1bv", base_name="b")
    renamed = kernel(mangled="_Z1bi", base_name="b")
    found = compare(made(one, two), made(renamed, one, sha="1"))
    assert {(each.name, each.matched_by) for each in found.kernels} == {("a", "mangled"), ("b", "base-name")}


def test_a_renamed_kernel_is_compared_and_said_so_in_one_program_only() -> None:
    old, new = kernel(mangled="_Z3oldv", base_name="old"), kernel(mangled="_Z3newv", base_name="new")
    renamed = compare(made(old, texts={"/src/k.cu": "a\n"}), made(new, texts={"/else/k.cu": "b\n"}, sha="1"))
    assert [each.matched_by for each in renamed.kernels] == ["only-kernels"]
    assert "old is compared with new: the names differ, and no other kernel is left" in renamed.notes
    others = compare(made(old, texts={"/src/k.cu": "a\n"}), made(new, texts={"/src/m.cu": "b\n"}, sha="1"))
    assert others.kernels == ()
    assert (others.only_before, others.only_after) == (("old",), ("new",))


def test_kernels_without_a_partner_are_named() -> None:
    found = compare(
        made(kernel(mangled="x", base_name="x"), kernel(mangled="y", base_name="y")), made(kernel(), sha="1")
    )
    assert found.kernels == ()
    assert set(found.only_before) == {"x", "y"}
    assert found.only_after == ("k",)
    assert "the reports have no kernel in common, so nothing is compared" in found.notes


def test_without_durations_shares_are_compared_and_no_speedup_is_claimed() -> None:
    before = made(kernel(pc(1, 2, samples=500), lines=(heat(2, long_scoreboard=500),)), times=(None,))
    after = made(kernel(lines=(heat(2, long_scoreboard=100),)), times=(None,), sha="1")
    (found,) = compare(before, after).kernels
    assert found.speedup is None
    assert found.stalls[0].cost.unit == "share"
    assert found.stalls[0].cost.moved == "down"


def test_a_report_without_samples_says_nothing_about_stalls(profile_cache: Path) -> None:
    """Not sampled is unknown, not 0: no stall appeared or went away between these two reports of one program."""
    accuracy = Path(__file__).parents[2] / "samples" / "accuracy"
    basic = load_analysis(accuracy / "profile-basic.ncu-rep", Settings(), keep_all=True, cache_dir=profile_cache)
    full = load_analysis(accuracy / "profile.ncu-rep", Settings(), keep_all=True, cache_dir=profile_cache)
    for pair, which in (((basic, full), "first"), ((full, basic), "second")):
        found = compare(*pair)
        (only,) = found.kernels
        assert only.stalls
        assert {each.cost.moved for each in only.stalls} == {"unknown"}
        assert all(each.consistent is None for each in only.evidence if each.source in {"pc", "bl"})
        assert f"accuracy_kernel has no samples in the {which} report: its stalls are not compared" in found.notes
