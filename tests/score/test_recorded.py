"""What the samples' candidates did on an H200, scored: their real reports, proposals and proofs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _recorded import Recorded, measured_pair, recorded, samples

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
        assert "times" in told[-1]


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
