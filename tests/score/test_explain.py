"""Explanations come from the data: each says what was cited, who caused it, what was done and what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import (
    EVIDENCE,
    GIVEN,
    TIMING,
    NoProposal,
    comparison,
    kernel,
    proposal,
    proven,
    rewriting,
    row,
)

from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.score import explain
from optimas_lsp.score.explain import chains


def told(outcome: Rewriting) -> str:
    return "\n".join(explain(outcome))


def test_the_chain_goes_from_the_evidence_to_the_measured_effect() -> None:
    text = told(rewriting(proof=proven(), compared=comparison(row("PC-1", 100, 40)).model_dump(mode="json")))
    rows = text.split("\n")
    assert rows[0] == "1. read-only-loads in k, k.cu:6-7"
    labels = [each.partition(":")[0] for each in rows[1:]]
    assert labels == [
        "Evidence", "Cause", "What that means", "Change", "A change that helps shows as", "Measured", "Effect"
    ]  # fmt: skip
    assert "PC-1: in 60.0 ± 1.0 % of 1,000 samples warps wait at k.cu:8 for a value from global" in text
    assert "PC-1 waits for the value loaded at k.cu:6 (LDG)." in text
    assert "By the line that is waited for: 60.0 ± 3.0 % for k.cu:6 (BL-1, long_scoreboard)." in text
    assert "PC-1: long_scoreboard 100 ns before, 40 ns after (noise ± 5 ns): as implied." in text
    assert "All launches of a run took 2 µs together before and 1 µs after: 2.000 times shorter" in text
    assert "shorter (95 % interval of the ratio 1.900 to 2.100" in text
    assert "The whole program: the same within the noise" in text


def test_the_knowledge_base_says_what_a_rule_means_once() -> None:
    one = proposal(cites=("PC-1",)).changes[0]
    both = proposal().model_copy(update={"changes": (one, one)})
    assert told(rewriting(both)).count("What that means: long_scoreboard") == 1


def changed(*changes: dict[str, object]) -> Rewriting:
    """An outcome of several changes, each the usual one but for what is given."""
    usual = proposal().changes[0]
    made = tuple(usual.model_copy(update=each) for each in changes)
    return rewriting(proposal().model_copy(update={"changes": made}))


def test_changes_of_the_same_evidence_stand_together_and_tell_it_once() -> None:
    text = told(
        changed(
            {"evidence": GIVEN, "transformation": "restrict-pointers", "original_lines": (1, 11)},
            {"evidence": ("PC-1",), "transformation": "unroll-loop", "original_lines": (5, 5)},
        )
    )
    rows = text.split("\n")
    assert rows[0] == "1. restrict-pointers and unroll-loop in k"
    assert [row.partition(":")[0] for row in rows].count("Evidence") == 1
    assert text.count("PC-1: in") == 1
    first, second = [row for row in rows if row.startswith("Change: ")]
    assert first.startswith("Change: restrict-pointers, k.cu:1-11: Mark pointers")
    assert second.startswith("Change: unroll-loop, k.cu:5: Unroll a hot loop")
    assert "for both changes together" in told(
        changed({"evidence": GIVEN}, {"evidence": ("PC-1",)}).model_copy(update={"proof": proven()})
    )


def test_further_evidence_of_a_later_change_is_told_and_the_rest_referred_to() -> None:
    text = told(changed({"evidence": ("PC-1",)}, {"evidence": ("PC-1", "PC-2")}))
    assert text.count("PC-1: in 60.0 ± 1.0 %") == 1
    second = text.partition("\n2. ")[2]
    assert "PC-2: in 20.0 ± 1.0 % warps wait at k.cu:10" in second
    assert "As told above: PC-1." in second
    assert text.count("of 1,000 samples") == 1
    assert text.count("Condition:") == 1


def test_a_small_wait_is_named_with_its_share_and_not_explained() -> None:
    small = tuple(each.model_copy(update={"share": 0.02}) if each.id == "PC-3" else each for each in EVIDENCE)
    outcome = changed({"evidence": GIVEN}).model_copy(update={"analysis": kernel(evidence=small)})
    text = told(outcome)
    assert "Smaller: PC-3 (wait, 2.0 %)." in text
    assert "wait: The compiler made the instruction wait" not in text


def test_the_catalogues_own_reason_is_told_and_a_models_that_looks_like_it_is_not() -> None:
    reason = "unroll a hot loop (4 times, line 5): unrolled, iterations overlap"
    outcome = changed({"transformation": "unroll-loop", "reason": reason})
    assert "iterations overlap" not in told(outcome.model_copy(update={"backend": "openai"}))
    ours = told(outcome.model_copy(update={"backend": "catalogue"}))
    assert "Change: Unroll a hot loop (4 times): unrolled, iterations overlap." in ours  # the file's lines are above


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
    assert "2.000 times longer (95 % interval of the ratio 1.961 to 2.041" in text
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
    assert "On input large: 1.100 times longer (1.087 to 1.111)." in text
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
