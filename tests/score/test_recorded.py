"""What the samples' candidates did on an H200, scored: their real reports, proposals and proofs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _recorded import Recorded, measured_pair, recorded, samples

from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.score import explain, score
from optimas_lsp.score.words import as_text, in_one_line


@pytest.fixture(scope="module")
def candidates(profile_cache: Path) -> Callable[[str], list[Recorded]]:
    """The recorded candidates of one sample."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
    known: dict[str, list[Recorded]] = {}

    def of(sample: str) -> list[Recorded]:
        if sample not in known:
            known[sample] = list(recorded(sample))
        return known[sample]

    return of


def test_the_accuracy_samples_best_candidate_by_hand(candidates: Callable[[str], list[Recorded]]) -> None:
    """9 findings are given, 7 cited. Hot are rank.cuh:9, inlined at line 41 (15,454 samples), 47 (663), 40 (594),
    39 (569) and 42 (258): 17,538; the edit touches lines 39 to 42, so all but the barrier on line 47."""
    one = candidates("accuracy")[0]
    found = score(one.rewriting, original=one.original, places=one.places)
    assert (found.citations.coverage.hits, found.citations.coverage.of) == (7, 9)
    assert found.citations.precision.value == 1.0
    at = found.localisation
    assert (at.edited, at.hot, at.lines_from) == ((39, 40, 41, 42), (39, 40, 41, 42, 47), "report")
    assert (at.hot_samples.hits, at.hot_samples.of) == (15454 + 594 + 569 + 258, 17538)
    assert (at.edited_lines.hits, at.edited_lines.of) == (4, 4)
    assert found.direction.given.value is None


def assert_readable(told: tuple[str, ...], one: Recorded) -> None:
    """Every cited finding is spelled out at most once, every change has its place in a file, lengths are bounded."""
    text = "\n".join(told)
    answer = one.rewriting.attempts[-1].reply.outcome
    assert isinstance(answer, Proposal)
    name = Path(one.rewriting.source).name
    for change in answer.changes:
        first, last = change.original_lines
        assert f"{name}:{first}" in text
        assert 1 <= first <= last <= one.original.count("\n") + 1
        for cited in change.evidence:
            assert re.search(rf"\b{cited}\b", text), f"{cited} is cited and not named"
            assert len(re.findall(rf"\b{cited}: (?!\d)", text)) <= 1, f"{cited} is spelled out twice"
    assert text.count("profiled again") == 1
    assert max(map(len, told)) < 1500


def test_the_accuracy_samples_explanation_is_worth_reading(candidates: Callable[[str], list[Recorded]]) -> None:
    one = candidates("accuracy")[0]
    told = explain(one.rewriting, places=one.places)
    assert_readable(told, one)
    title, evidence, cause, means, first, second, _, _, effect = told
    assert title == "1. count-in-register and batched-loads in accuracy_kernel"
    assert evidence.startswith("Evidence: RL-1: Latency-bound: neither compute (27 % of its peak) nor memory (47 %)")
    assert "PC-1: in 85.4 ± 0.5 % of 17,946 samples warps wait at rank.cuh:9 for a value from global" in evidence
    assert "Smaller: PC-3 (wait, 1.7 %), PC-4 (wait, 1.4 %)" in evidence
    assert cause.startswith("Cause: PC-1 waits for the value loaded at accuracy.cu:40 (LDG, 99 % of this wait).")
    assert "latency-bound: Neither arithmetic nor any memory level reaches 60 % of its peak" in means
    assert first.startswith("Change: count-in-register, accuracy.cu:39-44: Count in a register and add once")
    assert "each thread counts in a register and adds once" in first
    assert second.startswith("Change: batched-loads, accuracy.cu:28-51: ")
    assert "8 loads of a thread are in flight at once instead of one" in second
    assert "719 µs together before and 413 µs after: 1.742 times shorter" in effect
    assert "The roofline allows 2.12 times at most" in effect


@pytest.mark.full
@pytest.mark.parametrize("sample", samples())
def test_every_recorded_candidate_is_scored(candidates: Callable[[str], list[Recorded]], sample: str) -> None:
    for one in candidates(sample):
        found = score(one.rewriting, original=one.original, places=one.places)
        assert found.citations.precision.value == 1.0, "the catalogue invents nothing"
        assert found.citations.coverage.value
        assert found.localisation.hot_samples.value is not None
        assert found.localisation.lost_samples == 0
        assert found.direction.given.why_not == "the kernel was not profiled again after the change"
        told = explain(one.rewriting, places=one.places)
        assert "recorded on NVIDIA H200, 2026-12-01" in told[-1]
        assert "times" in told[-1] or "the same within the noise" in told[-1]
        assert_readable(told, one)


def test_a_change_profiled_before_and_after_on_a_gpu(profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coalesced adjacent difference: all twelve findings fell by more than the noise of their samples."""
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))
    outcome, _ = measured_pair()
    found = score(outcome)
    assert (found.direction.given.hits, found.direction.given.of) == (12, 12)
    assert found.direction.given.low == pytest.approx(0.7575, abs=1e-4)
    assert found.localisation.edited == (28, 30)
    assert "direction 100 % (12 of 12)" in in_one_line(found)
    assert "75.8 to 100.0 %" in as_text(found)
    assert "as implied" in "\n".join(explain(outcome))
