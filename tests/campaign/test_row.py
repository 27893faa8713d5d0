"""A row says of an outcome how far it came, which check ended it, and on which input it was timed."""

from __future__ import annotations

from typing import Any

import pytest

from optimas_lsp.campaign.experiment import Axes
from optimas_lsp.campaign.outcomes import elsewhere, improved, known
from optimas_lsp.campaign.row import Row, row_of, row_of_error, without_folders
from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.compile import Compiled
from optimas_lsp.rewrite.guard.model import RuleVerdict
from optimas_lsp.rewrite.guardrails import verdict_of
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt import Prompt
from optimas_lsp.rewrite.proposal import Proposal

AXES = Axes("lookup", "lookup_kernel", "catalogue", "", "pc", "large", 1, "h200")
PROMPT = Prompt(
    kernel="k", source="k.cu", subset="pc", functions=("k",), evidence=("PC-1",), system="", user="", tokens=10
)
ANSWER = Reply(outcome=Proposal(functions=()))
EMPTY = Reply(outcome=NoProposal(kind="empty", sentence="no further transformation"))


def attempt(number: int, reply: Reply = ANSWER, **more: Any) -> Attempt:
    return Attempt(number=number, reply=reply, **more)


def outcome(status: Any, *attempts: Attempt, **more: Any) -> Row:
    rewriting = Rewriting(
        status=status,
        sentence="/home/somebody/samples/lookup.cu: it ended",
        source="lookup.cu",
        kernel="lookup_kernel",
        backend="catalogue",
        prompt=PROMPT,
        attempts=attempts,
        proof=attempts[-1].proof,
        **more,
    )
    return row_of("key", AXES, rewriting, {"start": 1.0, "select": 0.25, "compile": 4.0, "total": 6.0})


def proof(state: Any, gate: str, input_: str, speedup: float) -> Proof:
    status = "pass" if state == "proven" else "fail"
    times = {"speedup": speedup, "low": speedup - 0.01, "high": speedup + 0.01}
    gates = [{"name": "compare", "status": "pass", "seconds": 1.5}, {"name": gate, "status": status, "seconds": 40.0}]
    details = {"gates": gates, "timing": {"input": input_, "kernel_ns": times}, "machine": {"gpu": {"name": "H200"}}}
    return Proof(state=state, sentence="", details=details)


def test_code_that_the_compiler_makes_no_different_is_refused_not_unbuilt() -> None:
    rule = RuleVerdict(id="unchanged-code", status="fail", message="the machine code is the same")
    built = Compiled(status="compiled", sentence="")
    same = attempt(1, verdict=verdict_of((rule,)), compiled=built, stopped_at="compile", problem="same")
    row = outcome("manual-review", same, attempt(2, EMPTY, stopped_at="propose", problem="none"))
    assert (row.ending, row.gate, row.tries) == ("refused", "unchanged-code", "guard:unchanged-code propose:empty")
    broken = attempt(1, compiled=Compiled(status="failed", sentence=""), stopped_at="compile", problem="error")
    row = outcome("manual-review", broken)
    assert (row.ending, row.gate) == ("not-built", "failed")


@pytest.mark.parametrize(("timed", "is_known"), [("large", True), ("default", False)])
def test_a_time_of_another_input_decides_nothing_here(timed: str, is_known: bool) -> None:
    slow = attempt(1, proof=proof("refuted", "time", timed, 0.97), stopped_at="prove", problem="slower")
    row = outcome("refuted", slow, attempt(2, EMPTY, stopped_at="propose", problem="none"))
    assert (row.ending, row.gate, row.timed_input, row.gpu) == ("refuted", "time", timed, "H200")
    assert (known(row), elsewhere(row), improved(row)) == (is_known, not is_known, False)
    fast = outcome("candidate", attempt(1, proof=proof("proven", "time", timed, 1.5)), chosen=1)
    assert (fast.ending, fast.speedup) == ("proven", 1.5 if is_known else None)
    assert (known(fast), improved(fast)) == (is_known, is_known)


@pytest.mark.parametrize("kind", ["api-error", "rate-limit", "time-out"])
def test_a_service_without_an_answer_says_nothing_about_its_model(kind: Any) -> None:
    silent = Reply(outcome=NoProposal(kind=kind, sentence="no answer"))
    row = outcome("no-proposal", attempt(1, silent, stopped_at="propose", problem="no answer"))
    assert (row.ending, row.gate, known(row)) == ("failed", kind, False)
    slow = attempt(1, proof=proof("refuted", "time", "large", 0.97), stopped_at="prove", problem="slower")
    row = outcome("refuted", slow, attempt(2, silent, stopped_at="propose", problem="no answer"))
    assert (row.ending, row.gate, row.tries) == ("failed", kind, f"prove:time propose:{kind}")
    refusal = Reply(outcome=NoProposal(kind="refusal", sentence="no"))
    row = outcome("no-proposal", attempt(1, refusal, stopped_at="propose", problem="no"))
    assert (row.ending, known(row)) == ("unusable", True)
    fast = attempt(2, proof=proof("proven", "time", "large", 1.5))
    row = outcome("candidate", attempt(1, silent, stopped_at="propose", problem="no answer"), fast, chosen=2)
    assert (row.ending, row.speedup) == ("proven", 1.5)


def test_what_nobody_ran_is_not_refuted_however_many_were_looked_up() -> None:
    none = Proof(state="not-proven", sentence="no result was recorded")
    stands = attempt(1, proof=none)
    other = attempt(2, proof=none, stopped_at="prove", problem="not run")
    end = attempt(3, EMPTY, stopped_at="propose", problem="none")
    row = outcome("candidate", stands, other, end, chosen=1)
    assert (row.ending, row.gate, row.tries) == ("not-proven", "", "not-proven not-proven propose:empty")
    assert not known(row)
    for status in ("refuted", "manual-review"):
        assert outcome(status, other, end).ending == "not-proven"
    wrong = attempt(1, proof=proof("refuted", "compare", "large", 1.0), stopped_at="prove", problem="wrong")
    assert outcome("refuted", wrong, other, end).ending == "refuted"


def test_a_machine_without_a_compiler_decides_nothing() -> None:
    built = Compiled(status="no-compiler", sentence="there is no nvcc")
    row = outcome("manual-review", attempt(1, compiled=built, stopped_at="compile", problem="there is no nvcc"))
    assert (row.ending, row.gate, known(row)) == ("failed", "no-compiler", False)


def failed_unchanged(gate: str) -> Proof:
    gates = [{"name": gate, "status": "fail", "sentence": "the original fails", "facts": {"side": "baseline"}}]
    return Proof(state="not-proven", sentence="not proven: …", details={"gates": gates})


def test_a_program_that_fails_unchanged_decides_nothing_about_its_candidate() -> None:
    row = outcome("candidate", attempt(1, proof=failed_unchanged("compare")), chosen=1)
    assert (row.ending, row.gate, row.tries) == ("program-failed", "compare", "program:compare")
    assert row.sentence == "the unchanged program failed compare: the original fails"
    assert not known(row)
    built = Compiled(status="program-fails", sentence="the unchanged program does not build")
    refused = attempt(1, verdict=verdict_of((RuleVerdict(id="scope", status="fail", message=""),)), stopped_at="guard")
    row = outcome("manual-review", refused, attempt(2, compiled=built, stopped_at="compile", problem="it does not"))
    assert (row.ending, row.gate, row.tries) == ("program-failed", "build", "guard:scope program:build")
    fast = attempt(2, proof=proof("proven", "time", "large", 1.5))
    flaky = attempt(1, proof=failed_unchanged("time"), stopped_at="prove", problem="once")
    row = outcome("candidate", flaky, fast, chosen=2)
    assert (row.ending, row.tries) == ("proven", "program:time proven")


def test_a_candidate_whose_turn_never_came_was_not_run() -> None:
    none = Proof(state="not-proven", sentence="there is no GPU")
    row = outcome("candidate", attempt(1, proof=none, screened=none), attempt(2, stopped_at="prove"), chosen=1)
    assert (row.ending, row.tries) == ("not-proven", "not-proven not-proven")


def test_a_candidate_that_only_lost_to_another_is_told_apart() -> None:
    short = proof("not-proven", "time", "large", 1.2)
    lost = attempt(1, proof=short, screened=short, stopped_at="prove", problem="not chosen")
    won = attempt(2, proof=proof("proven", "time", "large", 1.5), screened=short)
    row = outcome("candidate", lost, won, chosen=2)
    assert (row.ending, row.tries) == ("proven", "compared proven")


def test_nothing_of_this_machine_is_in_a_row() -> None:
    row = outcome("no-proposal", attempt(1, EMPTY, stopped_at="propose", problem="none"))
    assert row.ending == "nothing"
    assert row.sentence == "lookup.cu: it ended"
    assert without_folders("see (/a/b c/d.txt), a/b and 3/4") == "see (b c/d.txt), a/b and 3/4"
    assert (row.start_s, row.summary_s, row.build_s, row.total_s, row.model_s) == (1.0, 0.25, 4.0, 6.0, None)


def test_missing_evidence_is_no_failure() -> None:
    assert row_of_error("key", AXES, "EvidenceMissingError", "none of the kind", {}).ending == "no-evidence"
    assert row_of_error("key", AXES, "BackendError", "no key", {}).ending == "failed"


def test_what_another_candidate_was_judged_by_is_nothing_that_the_program_fails() -> None:
    slow = attempt(1, proof=proof("refuted", "time", "large", 0.97), stopped_at="prove", problem="slower")
    flaky = attempt(2, proof=failed_unchanged("time"), stopped_at="prove", problem="once")
    for order in ((slow, flaky), (flaky, slow)):
        row = outcome("refuted", *order)
        assert (row.ending, row.gate) == ("refuted", "time")
        assert row.tries.split()[order.index(flaky)] == "program:time"
    row = outcome("refuted", slow, attempt(2, proof=failed_unchanged("sanitize"), stopped_at="prove", problem="it has"))
    assert (row.ending, row.gate) == ("program-failed", "sanitize")
    short = proof("not-proven", "determinism", "large", 1.0)
    shortly = attempt(1, proof=failed_unchanged("determinism"), screened=short, stopped_at="prove", problem="it fails")
    beside = attempt(2, proof=short, screened=short, stopped_at="prove", problem="not chosen")
    row = outcome("refuted", shortly, beside)
    assert (row.ending, row.gate) == ("program-failed", "determinism"), "a short proof leaves inputs out"
