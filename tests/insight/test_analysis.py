"""What the analysis makes of small profiles whose answer is known by construction."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimas_lsp.config import Lines, Settings
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.evidence import Analysis
from optimas_lsp.profile.model import Frame, Profile, SourceFile
from tests.insight.synthetic import GENERATED, LIBRARY, REASONS, USER, kernel, line, profile

REPORT = Path("k.ncu-rep")


def run(subject: Profile, *, keep_all: bool = False, settings: Settings | None = None) -> Analysis:
    return analyze(subject, settings or Settings(), report_path=REPORT, keep_all=keep_all)


def one_hot_line(total: int = 1000, counters: dict[str, float] | None = None) -> Profile:
    stalled = total * 9 // 10
    rows = [(0, "long_scoreboard", stalled, stalled // 2), (1, "selected", total - stalled, 0)]
    return profile(kernel([line(7), line(8)], rows), counters=counters)


def test_a_dominant_actionable_stall_is_worth_changing() -> None:
    [found] = run(one_hot_line()).kernels[0].evidence
    assert (found.id, found.source, found.rule, found.level) == ("PC-1", "pc", "long_scoreboard", "act")
    assert (found.samples, found.not_issued, found.share) == (900, 450, 0.9)
    assert found.margin == pytest.approx(1.96 * (0.9 * 0.1 / 1000) ** 0.5)
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("/home/ada/app/kernel.cu", 7)
    assert "90.0 ± 1.9 % of 1,000 samples" in found.text
    assert "global" in found.text


def test_lines_and_unattributed_samples_sum_to_the_total() -> None:
    chains = [line(7), None, line(0), line(3, GENERATED), (Frame(file=-1, line=4),)]
    rows = [(at, "wait", 100 + at, at) for at in range(5)] + [(0, "selected", 11, 0)]
    [found] = run(profile(kernel(chains, rows)), keep_all=True).kernels
    totals = found.samples
    assert sum(each.samples for each in found.lines) + totals.unattributed == totals.total == 521
    assert {each.why: each.samples for each in totals.why_unattributed} == {
        "line-0": 101 + 102,
        "generated": 103,
        "no-file": 104,
    }
    assert all(each.text for each in totals.why_unattributed)


def test_a_kernel_without_line_information_says_how_to_get_it() -> None:
    [found] = run(profile(kernel([None, None], [(0, "wait", 300, 100), (1, "barrier", 300, 100)]))).kernels
    assert not found.evidence
    assert not found.lines
    [why] = found.samples.why_unattributed
    assert (why.why, why.samples) == ("no-lineinfo", 600)
    assert "-lineinfo" in why.text


def test_only_reasons_that_dominate_their_line_are_kept_and_all_keeps_the_rest_with_the_same_ids() -> None:
    rows = [(0, "long_scoreboard", 600, 500), (0, "wait", 100, 90), (1, "barrier", 300, 400), (2, "wait", 5, 5)]
    subject = profile(kernel([line(7), line(8), line(9)], rows))
    kept = {each.id: each for each in run(subject).kernels[0].evidence}
    every = {each.id: each for each in run(subject, keep_all=True).kernels[0].evidence}
    assert [each.rule for each in kept.values()] == ["long_scoreboard", "barrier"]
    assert len(every) == 4
    assert kept.items() <= every.items()
    assert {every[name].level for name in every.keys() - kept.keys()} == {"note"}


def test_findings_are_ranked_by_not_issued_samples() -> None:
    rows = [(0, "long_scoreboard", 600, 10), (1, "barrier", 300, 200)]
    found = run(profile(kernel([line(7), line(8)], rows))).kernels[0].evidence
    assert [each.rule for each in found] == ["barrier", "long_scoreboard"]


def test_few_samples_are_never_a_warning_and_say_so() -> None:
    analysis = run(one_hot_line(total=150))
    [found] = analysis.kernels[0].evidence
    assert found.level == "hot"
    assert "too few samples" in found.text
    assert [note.code for note in analysis.notes] == ["few-samples"]


def test_stalls_of_a_kernel_that_issues_most_cycles_are_noise() -> None:
    analysis = run(one_hot_line(counters={"smsp__issue_active.avg.per_cycle_active": 0.83}))
    [found] = analysis.kernels[0].evidence
    assert found.level == "note"
    assert "83 % of cycles" in found.text
    assert analysis.kernels[0].issue_active == pytest.approx(0.83)
    assert "busy-schedulers" in {note.code for note in analysis.notes}


def test_a_reason_that_the_source_rarely_moves_is_never_a_warning() -> None:
    [found] = run(profile(kernel([line(7)], [(0, "wait", 900, 800)]))).kernels[0].evidence
    assert found.level == "hot"


def test_a_reason_nobody_knows_yet_is_counted_under_its_own_name() -> None:
    subject = profile(kernel([line(7)], [(0, "quantum_flux", 900, 800)]), reasons=REASONS)
    analysis = run(subject)
    [found] = analysis.kernels[0].evidence
    assert (found.rule, found.level) == ("quantum_flux", "hot")
    assert any("this profiler knows a stall reason we do not: 'quantum_flux'" in note.text for note in analysis.notes)


def test_a_library_line_is_located_in_the_library_and_shown_at_each_call_site() -> None:
    inner = Frame(file=LIBRARY, line=500)
    chains = [(inner, Frame(file=USER, line=7)), (inner, Frame(file=USER, line=9)), (inner, Frame(file=USER, line=9))]
    rows = [(0, "barrier", 400, 400), (1, "barrier", 200, 200), (2, "barrier", 100, 100)]
    found = run(profile(kernel(chains, rows))).kernels[0].evidence
    assert [(each.location and each.location.line, each.samples) for each in found] == [(500, 400), (500, 300)]
    assert [each.shown and each.shown.line for each in found] == [7, 9]
    assert [[at.line for at in each.inlined_at] for each in found] == [[7], [9]]


def test_with_a_workspace_only_its_files_are_shown(tmp_path: Path) -> None:
    def resolve(source: SourceFile) -> Path | None:
        return tmp_path / "block.cuh" if source.path.endswith("block.cuh") else None

    chain = (Frame(file=LIBRARY, line=500), Frame(file=USER, line=7))
    subject = profile(kernel([chain, line(8)], [(0, "barrier", 400, 400), (1, "barrier", 300, 300)]))
    first, second = analyze(subject, Settings(), report_path=REPORT, resolve=resolve).kernels[0].evidence
    assert first.shown is not None
    assert (first.shown.line, first.shown.path) == (500, str(tmp_path / "block.cuh"))
    assert second.shown is None


def test_an_inner_frame_without_a_line_gives_way_to_its_call_site() -> None:
    chain = (Frame(file=LIBRARY, line=0), Frame(file=USER, line=7))
    [found] = run(profile(kernel([chain], [(0, "barrier", 400, 400)]))).kernels[0].evidence
    assert found.location is not None
    assert (found.location.line, found.inlined_at) == (7, ())


def test_cold_kernels_are_listed_without_findings_unless_all_are_asked_for() -> None:
    rows = [(0, "long_scoreboard", 900, 800)]
    subject = profile(kernel([line(7)], rows, "a"), kernel([line(8)], rows, "b"), durations=[95.0, 5.0])
    hot, cold = run(subject).kernels
    assert (hot.hot, hot.share, cold.hot, cold.share) == (True, 0.95, False, 0.05)
    assert not cold.evidence
    assert not cold.lines
    assert cold.samples.total == 900
    [extra] = run(subject, keep_all=True).kernels[1].evidence
    assert (extra.level, extra.id) == ("note", "PC-2")


def test_unknown_durations_are_unknown_shares() -> None:
    rows = [(0, "long_scoreboard", 900, 800)]
    subject = profile(kernel([line(7)], rows, "a"), kernel([line(8)], rows, "b"), durations=[None, 5.0])
    analysis = run(subject)
    assert {each.base_name: (each.gpu_time_ns, each.share) for each in analysis.kernels}["a"] == (None, None)
    assert any(note.code == "no-durations" for note in analysis.notes)


def test_a_kernel_without_samples_has_no_findings_and_divides_by_nothing() -> None:
    [found] = run(profile(kernel([line(7)], [])), keep_all=True).kernels
    assert (found.samples.total, found.evidence, found.lines) == (0, (), ())


def test_thresholds_come_from_the_settings() -> None:
    rows = [(0, "long_scoreboard", 40, 40), (1, "barrier", 960, 900)]
    subject = profile(kernel([line(7), line(8)], rows))
    strict = Settings(lines=Lines(minimum_share=0.05))
    eager = Settings(lines=Lines(actionable_share=0.01))
    assert len(run(subject, settings=strict).kernels[0].evidence) == 1
    assert {each.level for each in run(subject, settings=eager).kernels[0].evidence} == {"act"}


def test_facts_are_absent_rather_than_zero() -> None:
    found = run(one_hot_line(counters={"launch__registers_per_thread": 32.0})).kernels[0]
    assert found.facts == {"registers_per_thread": 32.0}
    assert found.issue_active is None


def test_a_library_file_that_exists_here_is_still_nobody_s_to_edit(tmp_path: Path) -> None:
    def resolve(source: SourceFile) -> Path | None:
        return Path(source.path) if "cub" in source.path else tmp_path / "kernel.cu"

    chain = (Frame(file=LIBRARY, line=500), Frame(file=USER, line=7))
    subject = profile(kernel([chain], [(0, "barrier", 400, 400)]))
    [found] = analyze(subject, Settings(), report_path=REPORT, resolve=resolve).kernels[0].evidence
    assert found.shown is not None
    assert found.shown.path == str(tmp_path / "kernel.cu")
