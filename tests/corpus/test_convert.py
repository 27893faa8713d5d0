"""From a rewriting to entries: how far each answer came, which text it changed, what of a proof is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.corpus.code import base_name, code_of, licence_of, original_text
from optimas_lsp.corpus.convert import Context, entries_of
from optimas_lsp.corpus.model import Ending, slug
from optimas_lsp.rewrite.compile import Compiled
from optimas_lsp.rewrite.guard.model import RuleVerdict, Verdict
from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.proposal import Proposal

TIMING = {
    "input": "default",
    "pairs": 7,
    "source": "cupti",
    "kernel_ns": {"baseline": 300.0, "candidate": 200.0, "speedup": 1.5, "low": 1.4, "high": 1.6, "noise": [0, 0]},
    "program_s": {"baseline": 1.0, "candidate": 0.9, "speedup": 1.11, "low": 1.0, "high": 1.2},
}
DETAILS = {
    "gates": [
        {"name": "compare", "status": "pass", "sentence": "identical", "seconds": 0.5, "files": ["a"], "facts": {}},
        {"name": "time", "status": "pass", "sentence": "1.5 times", "seconds": 9.0},
    ],
    "timing": TIMING,
    "not_checked": ["a gap"],
    "machine": {"gpu": {"name": "NVIDIA H200", "driver": "580.1"}, "tools": {"nvcc": "13.0", "ncu": None}},
    "job": "f" * 64,
    "recorded": None,
}
REFUSED = Verdict(
    accepted=False,
    rules=(RuleVerdict(id="scope", status="fail", message="too far"), RuleVerdict(id="size", status="pass")),
)
FAILED = Compiled(status="failed", sentence="nvcc said no")
NO_NVCC = Compiled(status="no-compiler", sentence="nvcc was not found")


def proof(state: str) -> Proof:
    return Proof.model_validate({"state": state, "sentence": f"{state}: 1.5 times", "details": DETAILS})


@pytest.mark.parametrize(
    ("change", "ending"),
    [
        ({}, "not-proven"),
        ({"proof": proof("proven")}, "proven"),
        ({"proof": proof("refuted"), "stopped_at": "prove"}, "refuted"),
        ({"proof": proof("not-proven")}, "not-proven"),
        ({"proof": None, "screened": proof("refuted")}, "refuted"),
        ({"proof": None, "screened": proof("not-proven")}, "not-proven"),
        ({"proof": None, "verdict": REFUSED, "stopped_at": "guard"}, "refused"),
        ({"proof": None, "compiled": FAILED, "stopped_at": "compile"}, "not-built"),
        ({"proof": None, "compiled": NO_NVCC, "stopped_at": "compile"}, "not-proven"),
        ({"proof": None, "compiled": Compiled(status="compiled", sentence=""), "stopped_at": "compile"}, "refused"),
    ],
)
def test_how_far_an_answer_came(rewriting: Rewriting, change: dict[str, Any], ending: Ending) -> None:
    attempt = rewriting.attempts[0].model_copy(update=change)
    (entry,) = entries_of(rewriting.model_copy(update={"attempts": (attempt,)}))
    assert entry.ending == ending
    assert entry.transformations
    if change.get("stopped_at") == "guard":
        assert [(gate.name, gate.status) for gate in entry.gates] == [("guard:scope", "fail")]


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [(NoProposal(kind="refusal", sentence="it declined"), "unusable"), (Proposal(functions=()), "nothing")],
)
def test_an_answer_without_a_change_has_no_steps(rewriting: Rewriting, outcome: Any, ending: Ending) -> None:
    reply = rewriting.attempts[0].reply.model_copy(update={"outcome": outcome, "text": "secret words of the answer"})
    attempt = rewriting.attempts[0].model_copy(update={"reply": reply, "proof": None, "diff": "", "verdict": None})
    (entry,) = entries_of(rewriting.model_copy(update={"attempts": (attempt,), "edited": None, "chosen": None}))
    assert (entry.ending, entry.steps, entry.functions, entry.bit_exact) == (ending, (), (), None)
    assert "secret words" not in entry.model_dump_json()
    assert entry.code.startswith("__global__ void adjacent_kernel")  # the file is still there


def test_gates_times_and_machine_of_a_proof_are_kept(rewriting: Rewriting) -> None:
    attempt = rewriting.attempts[0].model_copy(update={"proof": proof("proven")})
    (entry,) = entries_of(rewriting.model_copy(update={"attempts": (attempt,)}))
    assert [(gate.name, gate.seconds) for gate in entry.gates if not gate.name.startswith("guard:")] == [
        ("compare", 0.5),
        ("time", 9.0),
    ]
    timing = entry.timing
    assert timing is not None
    assert timing.kernel is not None
    assert timing.program is not None
    assert (timing.pairs, timing.kernel.speedup, timing.kernel.low, timing.kernel.high) == (7, 1.5, 1.4, 1.6)
    assert (timing.program.before_ns, timing.gpu) == (1e9, None)
    assert entry.device.driver == "580.1"
    assert {tool.name: tool.version for tool in entry.tools}["nvcc"] == "13.0"
    assert entry.not_checked == ("a gap",)
    assert entry.origin.job == "f" * 64


def test_scores_belong_to_the_answer_that_stands(rewriting: Rewriting) -> None:
    first = rewriting.attempts[0]
    two = (first, first.model_copy(update={"number": 2}))
    scored = rewriting.model_copy(update={"attempts": two, "chosen": 1, "scores": {"a": 1}, "explanation": ("so",)})
    one, other = entries_of(scored)
    assert (one.scores, one.explanation) == ({"a": 1}, ("so",))
    assert (other.scores, other.explanation) == (None, ())


def test_the_original_text_is_what_the_edits_were_made_to(rewriting: Rewriting) -> None:
    text = Path(rewriting.source).read_text("utf-8")
    assert original_text(rewriting) == text
    later = rewriting.model_copy(update={"edited": None})
    assert original_text(later) == text
    assert original_text(later.model_copy(update={"base_sha256": "0" * 64})) is None
    assert original_text(later.model_copy(update={"source": "/not/there.cu"})) is None


def test_a_licence_is_what_the_source_says_or_what_was_given(rewriting: Rewriting) -> None:
    assert licence_of("// SPDX-License-Identifier: BSD-3-Clause\nint x;") == "BSD-3-Clause"
    assert licence_of("/* SPDX-License-Identifier: Apache-2.0 OR MIT */") == "Apache-2.0 OR MIT"
    assert licence_of("// Copyright somebody") is None
    assert entries_of(rewriting)[0].origin.licence is None
    assert entries_of(rewriting, context=Context(licence="MIT"))[0].origin.licence == "MIT"


def test_code_is_that_of_the_functions_that_could_be_changed() -> None:
    text = (
        "__device__ int twice(int a) { return 2 * a; }\nint host() { return 1; }\n"
        "__global__ void k(int* a) { *a = twice(*a); }\n"
    )
    found = code_of(text, ("k", "twice"), "a.cu")
    assert "host" not in found
    assert found.index("twice") < found.index("__global__")
    assert code_of(text, ("missing",), "a.cu") == text


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("void mix_tiles<float>(const T1 *, T1 *, int)", "mix_tiles"),
        ("interior::update(const double *, Grid)", "update"),
        ("plain", "plain"),
        ("void ns::k<ns::t<int>, 3>(int)", "k"),
    ],
)
def test_base_names(name: str, base: str) -> None:
    assert base_name(name) == base


def test_spellings_of_one_transformation_are_one() -> None:
    assert {slug(each) for each in ("Vectorised load", "vectorised_load", " vectorised-load ")} == {"vectorised-load"}
