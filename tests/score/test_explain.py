"""Explanations come from the data: each says what was cited, who caused it, what was done and what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import GIVEN, TIMING, NoProposal, comparison, proposal, proven, rewriting, row

from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.score import explain
from optimas_lsp.score.explain import chains


def told(outcome: Rewriting) -> str:
    return "\n".join(explain(outcome))


def test_the_chain_goes_from_the_evidence_to_the_measured_effect() -> None:
    text = told(rewriting(proof=proven(), compared=comparison(row("PC-1", 100, 40)).model_dump(mode="json")))
    rows = text.split("\n")
    assert rows[0] == "1. read-only-loads in k, lines 6 to 7"
    labels = [each.partition(":")[0] for each in rows[1:]]
    assert labels == [
        "Evidence", "Cause", "What that means", "Change", "A change that helps shows as", "Measured", "Effect"
    ]  # fmt: skip
    assert "PC-1: 60.0 ± 1.0 % of 1,000 samples are of warps that wait at k.cu:8" in text
    assert "PC-1 waits for the value loaded at k.cu:6 (LDG, 100 % of this wait, certain)" in text
    assert "PC-1: long_scoreboard 100 ns before, 40 ns after (noise ± 5 ns): as implied." in text
    assert "The kernel took 2 µs before and 1 µs after: 2 times shorter (95 % interval of the ratio 1.9 to 2.1" in text
    assert "The whole program: the same within the noise" in text


def test_the_knowledge_base_says_what_a_rule_means_once() -> None:
    one = proposal(cites=("PC-1",)).changes[0]
    both = proposal().model_copy(update={"changes": (one, one)})
    assert told(rewriting(both)).count("What that means: long_scoreboard") == 1


def test_nothing_measured_is_said_and_not_made_up() -> None:
    text = told(rewriting())
    assert "Not profiled again" in text
    assert "Not measured" in text
    assert "times" not in text.rpartition("Effect:")[2]


def test_a_refuted_change_says_what_the_proof_said() -> None:
    slower = {"baseline": 1000, "candidate": 2000, "speedup": 0.5, "low": 0.49, "high": 0.51}
    details = {**TIMING, "timing": {"kernel_ns": slower, "pairs": 5, "input": "default"}}
    proof = Proof(state="refuted", sentence="rejected by time: slower", details=details)
    text = told(rewriting(status="refuted", proof=proof))
    assert "2 times longer" in text
    assert "The outcome is rejected by time: slower." in text


def test_recorded_figures_say_where_and_when() -> None:
    assert "recorded on NVIDIA H200, 2026-12-01" in told(
        rewriting(proof=proven(recorded="recorded on NVIDIA H200, 2026-12-01"))
    )


def test_other_inputs_and_what_disturbed_the_measurement_are_told() -> None:
    slower = {"baseline": 1000, "candidate": 1100, "speedup": 0.909, "low": 0.9, "high": 0.92}
    timing = {**TIMING["timing"], "level": 0.99, "warnings": ["the clock changed"]}
    timing["inputs"] = {"default": {"kernel_ns": timing["kernel_ns"]}, "large": {"kernel_ns": slower, "pairs": 3}}
    text = told(rewriting(proof=proven(timing=timing)))
    assert "99 % interval of the ratio" in text
    assert "On input large: 1.1 times longer (0.9 to 0.92)." in text
    assert "On input default:" not in text
    assert "Beware: the clock changed." in text


def test_a_models_own_words_never_pass_for_an_explanation() -> None:
    lie = (
        proposal().changes[0].model_copy(update={"reason": "it is 100 times faster", "transformation": "magic\x1b[31m"})
    )
    text = told(rewriting(proposal().model_copy(update={"changes": (lie,)})))
    assert "100 times" not in text
    assert "\x1b" not in text
    assert "the proposer's own name" in text


def test_an_invented_citation_is_named_as_such() -> None:
    assert "Cited, but not in the profile: PC-99." in told(rewriting(proposal(cites=("PC-99",)), stands=False))


def test_without_an_applied_change_there_is_nothing_to_explain() -> None:
    assert explain(rewriting(NoProposal(kind="empty", sentence="nothing came"))) == ()
    assert explain(rewriting(proposal().model_copy(update={"functions": ()}))) == ()


def test_every_cited_finding_is_named() -> None:
    [chain] = chains(rewriting(proposal(cites=GIVEN)))
    assert all(name in " ".join(text for _, text in chain.steps) for name in GIVEN)
