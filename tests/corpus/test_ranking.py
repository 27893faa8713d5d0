"""What failed before sinks in the catalogue's ranking of a real kernel, what was proven rises, and a no counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from entries import attempt
from hypothesis import given, settings
from hypothesis import strategies as st

from optimas_lsp.config import Settings
from optimas_lsp.corpus import Corpus
from optimas_lsp.corpus.dataset import rows_of
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.rewrite.backends.embedded import MOST
from optimas_lsp.rewrite.catalogue.propose import RankedProposal, _State, propose, shortlist
from optimas_lsp.rewrite.experience import HIGHEST, LOWEST, Experience, Record
from optimas_lsp.rewrite.proposal import FunctionText, Proposal

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "adjacent"


@pytest.fixture(scope="session")
def kernel(profile_cache: Path) -> KernelAnalysis:
    """The kernel of ``samples/adjacent`` with its evidence."""
    _, analysis = load_analysis(SAMPLE / "profile.ncu-repz", Settings(), cache_dir=profile_cache)
    return analysis.kernels[0]


def ranked(kernel: KernelAnalysis, experience: Experience | None) -> tuple[RankedProposal, ...]:
    source = SAMPLE / "adjacent.cu"
    return propose(source.read_text("utf-8"), source, kernel, experience=experience)


def place(proposals: tuple[RankedProposal, ...], name: str) -> int:
    """How far down the first proposal with this transformation is."""
    return next(at for at, each in enumerate(proposals) if name in each.transformations)


def test_without_experience_the_ranking_is_as_it_was(kernel: KernelAnalysis) -> None:
    assert ranked(kernel, Experience()) == ranked(kernel, None)


def test_a_transformation_that_keeps_failing_on_a_rule_sinks_with_all_it_is_part_of(
    corpus: Corpus, kernel: KernelAnalysis
) -> None:
    before = ranked(kernel, None)
    best = before[0].transformations[0]
    others = {each for proposal in before for each in proposal.transformations} - {best}
    assert others
    corpus.store.add(
        [attempt(number, "refuted", transformation=best, rule="long_scoreboard") for number in range(8)]
        + [attempt(100 + number, "refuted", transformation=best, rule="lg_throttle") for number in range(8)]
    )
    after = ranked(kernel, corpus.experience({each.rule for each in kernel.evidence}))
    assert best not in after[0].transformations
    assert place(after, best) > place(before, best) == 0
    assert {each.label for each in after} == {each.label for each in before}  # nothing is lost, it only waits
    scores = {each.label: each.score for each in before}
    for each in after:
        if best in each.transformations:
            assert each.score < scores[each.label]


def test_what_was_proven_elsewhere_rises(corpus: Corpus, kernel: KernelAnalysis) -> None:
    before = ranked(kernel, None)
    name = next(
        each for proposal in before for each in proposal.transformations if each not in before[0].transformations
    )
    corpus.store.add([attempt(number, "proven", transformation=name, speedup=2.5) for number in range(8)])
    after = ranked(kernel, corpus.experience())
    assert place(after, name) <= place(before, name)
    single = next(each for each in after if set(each.transformations) == {name})
    assert single.score > next(each.score for each in before if each.label == single.label)


def test_rejected_edits_change_the_next_ranking(corpus: Corpus, kernel: KernelAnalysis) -> None:
    best = ranked(kernel, None)[0].transformations[0]
    entries = [attempt(number, "not-proven", transformation=best) for number in range(8)]
    corpus.store.add(entries)
    undecided = ranked(kernel, corpus.experience())
    assert undecided == ranked(kernel, None)
    for entry in entries:
        assert corpus.reject(entry.key, "nobody here can read this", "rejected") is None
    after = ranked(kernel, corpus.experience())
    assert place(after, best) > place(undecided, best)


@given(st.floats(0.05, 0.97), st.floats(0.05, 0.97), st.floats(0.2, 3))
def test_experience_levels_no_two_promises(one: float, other: float, favour: float) -> None:
    low, high = sorted((one, other))
    scores = [_State("", "k", (), promise, favour).score for promise in (low, high)]
    assert 0 < scores[0] <= scores[1] < 1
    assert scores[0] < scores[1] or high - low < 1e-9
    assert (scores[0] > low) == (favour > 1) or favour == 1


@settings(derandomize=True)  # worths that are equal but for the last bit may swap places
@given(st.lists(st.floats(0.05, 0.97), min_size=1, max_size=12), st.floats(0.2, HIGHEST))
def test_experience_that_favours_all_alike_changes_no_order_of_tries(promises: list[float], favour: float) -> None:
    proposal = Proposal(functions=(FunctionText(function="k", text="x"),))

    def tried(factor: float) -> list[str]:
        made = [
            RankedProposal(
                label=str(at),
                score=_State("", "k", (), promise, factor).score,
                transformations=("a",),
                steps=tuple(f"{step} {at % step}" for step in (2, 3, 4)),
                path="k.cu",
                proposal=proposal,
                favour=factor,
            )
            for at, promise in enumerate(dict.fromkeys(round(each, 3) for each in promises))
        ]
        return [each.label for each in shortlist(made, len(made))]

    assert tried(favour) == tried(1.0)


def test_the_best_change_of_a_sample_stays_among_those_tried_with_experience_of_the_others(
    corpus: Corpus, profile_cache: Path
) -> None:
    """``benchmarks/experience.py`` has the figures for every sample."""
    rows = [row for file in sorted((SAMPLE.parent / "corpus" / "data").glob("*.jsonl")) for _, row in rows_of(file)]
    known = [row for row in rows if not isinstance(row, str)]
    own = [row for row in known if row.file == "accuracy.cu" and row.effect is not None and row.ending == "proven"]
    best = max(own, key=lambda row: row.effect.speedup if row.effect is not None else 0.0)
    corpus.store.add([row.entry for row in known if row.file != "accuracy.cu"])
    source = SAMPLE.parent / "accuracy" / "accuracy.cu"
    _, analysis = load_analysis(source.with_name("profile.ncu-rep"), Settings(), cache_dir=profile_cache)
    rules = {each.rule for each in analysis.kernels[0].evidence}
    found = propose(source.read_text("utf-8"), source, analysis.kernels[0], experience=corpus.experience(rules))
    texts = {each.function: each.text for each in best.functions}
    tried = [{each.function: each.text for each in one.proposal.functions} for one in shortlist(found, MOST)]
    assert texts in tried


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.none() | st.floats(0.01, 1000), st.sampled_from(["", "wait"]))
def test_the_factor_is_bounded_grows_with_proofs_and_falls_with_failures(
    proven: int, failed: int, effect: float | None, rule: str
) -> None:
    def factor(proofs: int, failures: int) -> float:
        record = Record(transformation="a", rule=rule, tries=proofs + failures, proven=proofs, effect=effect)
        return Experience(records=(record,)).factor("a", ("wait",))

    assert LOWEST <= factor(proven, failed) <= HIGHEST
    assert factor(proven + 1, failed) >= factor(proven, failed) * (1 if proven + failed else 0)
    if proven + failed:
        assert factor(proven, failed + 1) <= factor(proven, failed)
    if effect is None and proven == failed:
        assert factor(proven, failed) == pytest.approx(1)


def test_tries_on_the_same_rule_count_more_than_tries_elsewhere() -> None:
    here = Record(transformation="a", rule="wait", tries=4, proven=0)
    anywhere = Record(transformation="a", rule="", tries=4, proven=0)
    assert (
        Experience(records=(here,)).factor("a", ("wait",)) < Experience(records=(anywhere,)).factor("a", ("wait",)) < 1
    )
    assert Experience(records=(here,)).factor("a", ("barrier",)) == 1
