"""What a proof says about several inputs, from a result that a real runner wrote."""

from __future__ import annotations

import jsonschema
import pytest

from optimas_lsp.cli.schema import json_schema
from optimas_lsp.prove.executors.outcome import Outcome, parse_outcome
from optimas_lsp.prove.report import Proof, as_text, conclusion, over_inputs

SLEEPS = """#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {{ usleep(argc > 1 ? {large} : {small}); puts("sum 42"); return 0; }}
"""


@pytest.fixture
def outcome(packed, claimed_gpu) -> Outcome:
    inputs = {"default": ["build/main"], "large": ["build/main", "large"]}
    options = {
        "gates": ["static", "build", "determinism", "run", "compare", "time"],
        "timing": {"min_pairs": 3, "max_pairs": 3},
        "time_inputs": ["default", "large"],
    }
    before, after = SLEEPS.format(small=300_000, large=30_000), SLEEPS.format(small=30_000, large=300_000)
    job = packed(before, after, options=options, inputs=inputs)
    job.environment = claimed_gpu
    job.run()
    return parse_outcome(job.result, where=job.folder)


def test_every_input_has_a_row_and_a_slower_one_is_said_plainly(outcome: Outcome) -> None:
    proof = Proof(
        source="main.c",
        executor="local",
        verdict=outcome.verdict or "cancelled",
        sentence=conclusion(outcome),
        gates=outcome.gates,
        not_checked=outcome.not_checked,
        recorded=None,
        machine=outcome.machine,
        timing=outcome.timing,
        inputs=over_inputs(outcome),
        job=outcome.job,
        diff="",
    )
    jsonschema.validate(proof.model_dump(mode="json"), json_schema("proof"))
    assert [(each.input, each.result, each.what, each.pairs) for each in proof.inputs] == [
        ("default", "wins", "program", 3),
        ("large", "loses", "program", 3),
    ]
    assert all(each.low <= each.speedup <= each.high for each in proof.inputs)
    text = as_text(proof)
    table = text.splitlines()[-4:-1]
    assert table[0].split() == ["input", "result", "times", "shorter", "95", "%", "interval", "pairs"]
    assert table[1].split()[:2] == ["default", "wins"]
    assert table[2].split()[:2] == ["large", "LOSES"]
    assert "SLOWER on input large" in text


def test_one_input_makes_no_table(outcome: Outcome) -> None:
    timing = {key: value for key, value in (outcome.timing or {}).items() if key != "inputs"}
    assert over_inputs(outcome.model_copy(update={"timing": timing})) == ()
