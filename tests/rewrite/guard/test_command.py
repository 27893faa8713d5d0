"""``optimas guard``: the verdict as text and JSON, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from benchmarks.guardrails import Entry, entries
from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.guard.rulebook import RULES
from optimas_lsp.rewrite.proposal import Proposal

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "samples" / "accuracy" / "accuracy.cu"
HEADER = SAMPLE.with_name("rank.cuh")
REPORT = ROOT / "samples" / "accuracy" / "profile.ncu-rep"
HONEST = {each.id: each for each in entries("honest")}
GOOD = HONEST["accuracy: several loads in flight"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(tmp_path / "cache"))


def run(tmp_path: Path, proposal: str | Entry, *options: str, source: Path = SAMPLE) -> tuple[int, str, str]:
    file = tmp_path / "proposal.json"
    file.write_text(proposal if isinstance(proposal, str) else proposal.proposal.model_dump_json(), "utf-8")
    result = CliRunner().invoke(app, ["guard", str(source), "--proposal", str(file), *options])
    return result.exit_code, result.stdout, result.stderr


def changed(**fields: object) -> str:
    data = json.loads(GOOD.proposal.model_dump_json())
    data["changes"][0] |= fields
    return json.dumps(data)


def in_header(cited: str) -> str:
    """A proposal for the header's one function."""
    text = HEADER.read_text("utf-8")
    function = text[text.index("__host__") :].replace(
        "    if (score > right_score) return true;\n    return score == right_score && column < right_column;\n",
        "    return score > right_score | (score == right_score & column < right_column);\n",
    )
    change = {
        "function": "outranks",
        "original_lines": [8, 9],
        "evidence": [cited],
        "transformation": "branch-free",
        "reason": "the branch diverges",
    }
    return json.dumps({"functions": [{"function": "outranks", "text": function}], "changes": [change]})


def test_an_accepted_proposal_is_status_0_and_every_rule_is_listed(tmp_path: Path) -> None:
    status, out, _ = run(tmp_path, GOOD, "--format", "json")
    assert status == 0
    jsonschema.validate(json.loads(out), json_schema("verdict"))
    verdict = Verdict.model_validate_json(out)
    assert verdict.accepted
    assert [rule.id for rule in verdict.rules] == [rule.id for rule in RULES]
    assert verdict.rule("invented-citation").status == "skipped"


def test_a_refused_one_is_status_1_and_names_rule_and_line(tmp_path: Path) -> None:
    text = changed().replace("int count = 0;", "int count = system(0);")
    status, out, _ = run(tmp_path, text)
    assert status == 1
    assert "refused   process-call: accuracy.cu:40 as changed: 'system'" in out
    assert "accuracy_kernel:40: int count = system(0);" in out
    assert out.rstrip().endswith(f"refused: {len(RULES) - 2} of {len(RULES)} rules passed")


def test_with_a_profile_cited_evidence_must_exist(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD, "--profile", str(REPORT))[0] == 0
    status, out, _ = run(tmp_path, changed(evidence=["PC-1", "PC-4711"]), "--profile", str(REPORT))
    assert status == 1
    assert "invented-citation: the evidence 'PC-4711' does not exist; there is" in out


def test_with_a_profile_only_what_its_kernels_reach_may_change(tmp_path: Path) -> None:
    sample = ROOT / "samples" / "stencil" / "stencil.cu"
    report = sample.with_name("profile.ncu-repz")
    reached = HONEST["stencil: inverse powers hoisted in a device function"]
    assert run(tmp_path, reached, "--profile", str(report), source=sample)[0] == 0
    options = ("--profile", str(report), "--kernel", "boundary::update")
    status, out, _ = run(tmp_path, reached, *options, source=sample)
    assert status == 1
    assert "allowed-function" in out


def test_a_header_can_be_the_file_that_is_rewritten(tmp_path: Path) -> None:
    for options in ((), ("--profile", str(REPORT)), ("--profile", str(REPORT), "--kernel", "accuracy_kernel")):
        status, out, err = run(tmp_path, in_header("PC-1"), *options, source=HEADER)
        assert (status, err) == (0, ""), out
    status, out, _ = run(tmp_path, in_header("PC-4711"), "--profile", str(REPORT), source=HEADER)
    assert status == 1
    assert "invented-citation" in out


def test_a_header_of_another_program_is_status_2(tmp_path: Path) -> None:
    header = ROOT / "samples" / "lookup" / "grid.cuh"
    status, out, err = run(tmp_path, GOOD, "--profile", str(REPORT), source=header)
    assert (status, out) == (2, "")
    assert "or uses a function from it" in err
    assert "give the file that defines one of: accuracy_kernel" in err


def test_functions_and_permissions_can_be_given(tmp_path: Path) -> None:
    assert run(tmp_path, GOOD, "--function", "another")[0] == 1
    kernels = ROOT / "tests" / "rewrite" / "guard" / "corpus" / "kernels.cu"
    bounds = HONEST["saxpy: launch bounds where they are allowed"]
    assert run(tmp_path, bounds, source=kernels)[0] == 1
    status, out, _ = run(tmp_path, bounds, "--allow", "launch-bounds", source=kernels)
    assert status == 0
    assert "to prove  launch-bounds" in out


def test_permissions_in_the_settings_beside_the_source_count(tmp_path: Path) -> None:
    source = tmp_path / "kernels.cu"
    source.write_bytes((ROOT / "tests" / "rewrite" / "guard" / "corpus" / "kernels.cu").read_bytes())
    (tmp_path / "optimas.toml").write_text('[rewrite]\nallow = ["launch-bounds"]\n[guard]\nlines = 3\ngrowth = 1\n')
    bounds = HONEST["saxpy: launch bounds where they are allowed"]
    assert run(tmp_path, bounds, source=source)[0] == 0
    status, out, _ = run(tmp_path, HONEST["saxpy: float4 with a scalar tail"], source=source)
    assert status == 1
    assert "at most 7 are accepted" in out


def test_a_models_answer_around_the_proposal_is_understood(tmp_path: Path) -> None:
    assert run(tmp_path, f"Here it is:\n```json\n{changed()}\n```\n")[0] == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "answered with nothing"),
        ("I'm sorry, I can't.", "declined"),
        ('{"functions": [', "cut off"),
        ("x", "no JSON"),
    ],
)
def test_no_proposal_is_status_2_and_a_sentence(tmp_path: Path, answer: str, words: str) -> None:
    status, out, err = run(tmp_path, answer)
    assert (status, out) == (2, "")
    assert words in err


def test_bad_input_is_status_2_and_a_sentence(tmp_path: Path) -> None:
    for options, source, words in (
        ((), tmp_path / "missing.cu", "there is no such file"),
        ((), ROOT / "LICENSE", "no readable CUDA or Triton source"),
        (("--allow", "everything"), SAMPLE, "no such permission"),
        (("--profile", str(REPORT)), ROOT / "samples" / "stencil" / "stencil.cu", "none of the report's kernels"),
        (("--profile", str(SAMPLE)), SAMPLE, "accuracy.cu"),
    ):
        status, out, err = run(tmp_path, GOOD, *options, source=source)
        assert (status, out) == (2, "")
        assert words in err


def test_a_proposal_without_functions_is_refused_with_its_reason(tmp_path: Path) -> None:
    status, out, _ = run(tmp_path, Proposal(functions=()).model_dump_json())
    assert status == 1
    assert "empty: the proposal rewrites nothing" in out


def test_what_a_proposal_says_to_the_terminal_is_not_obeyed(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e"
    text = changed(transformation=hostile, evidence=[]).replace(
        "int count = 0;", f"int count = system(0); // {hostile}"
    )
    status, out, _ = run(tmp_path, text)
    assert status == 1
    assert "system" in out
    assert not set("\x1b\x07\u202e") & set(out)
    whole = json.loads(run(tmp_path, text, "--format", "json")[1])
    assert any("\x1b" in line["text"] for rule in whole["rules"] for line in rule["lines"]), "data stays what it was"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('{"functions": [{"function": "a", "text": "x", "text": "y"}]}', "says 'text' twice"),
        ('{"functions": [{"function": "a", "text": "\\ud800"}]}', "half of a character"),
    ],
)
def test_an_answer_that_readers_take_differently_is_no_proposal(tmp_path: Path, answer: str, words: str) -> None:
    status, out, err = run(tmp_path, answer)
    assert (status, out) == (2, "")
    assert words in err
