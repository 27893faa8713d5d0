"""``optimas score`` on outcomes in files, and the scores that a rewrite carries."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))
from made_outcomes import SOURCE, NoProposal, comparison, proposal, rewriting, row

from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema
from optimas_lsp.rewrite.outcome import Rewriting


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


def written(folder: Path, outcome: Rewriting, name: str = "outcome.json") -> Path:
    path = folder / name
    path.write_text(outcome.model_dump_json(by_alias=True), "utf-8")
    return path


def test_json_is_the_published_schema(tmp_path: Path) -> None:
    done = run(written(tmp_path, rewriting()), "--format", "json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    jsonschema.validate(found, json_schema("ear"))
    assert found["schema"] == "optimas.ear/1"
    assert found["localisation"]["hot_samples"]["hits"] == 150
    assert found["direction"]["given"]["value"] is None


def test_text_shows_every_measure_with_its_interval_or_reason(tmp_path: Path) -> None:
    done = run(written(tmp_path, rewriting(proposal(cites=("BL-1", "PC-99")))))
    assert "20.0 % (1 of 5 findings; 3.6 to 62.4 %)" in done.stdout
    assert "50.0 % (1 of 2 citations; 9.5 to 90.5 %)" in done.stdout
    assert "invented                 PC-99" in done.stdout
    assert "not measurable: the kernel was not profiled again" in done.stdout
    assert "taken to be as profiled" in done.stdout


def test_a_comparison_makes_the_direction_measurable(tmp_path: Path) -> None:
    compared = tmp_path / "compare.json"
    compared.write_text(comparison(row("PC-1", 100, 40), row("PC-2", 30, 60)).model_dump_json(by_alias=True), "utf-8")
    done = run(written(tmp_path, rewriting()), "--compare", compared)
    assert "directional consistency  50.0 % (1 of 2 findings" in done.stdout


def test_the_source_makes_a_refused_answer_measurable(tmp_path: Path) -> None:
    outcome = written(tmp_path, rewriting(stands=False))
    assert "--source FILE" in run(outcome).stdout
    source = tmp_path / "before.cu"
    source.write_text(SOURCE, "utf-8")
    assert "15.1 % (150 of 995 samples" in run(outcome, "--source", source).stdout
    source.write_text(SOURCE + "// changed since\n", "utf-8")
    assert "not the text that the rewrite was made for" in run(outcome, "--source", source).output


def test_no_proposal_is_not_measurable_and_no_error(tmp_path: Path) -> None:
    done = run(written(tmp_path, rewriting(NoProposal(kind="empty", sentence="nothing came"))))
    assert done.exit_code == 0
    assert done.stdout.count("not measurable: there is no proposal: nothing came") == 9


def test_a_proof_alone_says_what_it_lacks(tmp_path: Path) -> None:
    proof = {
        "schema": "optimas.proof/1", "source": "k.cu", "executor": "local", "verdict": "proven", "sentence": "proven",
        "gates": [], "not_checked": [], "recorded": None, "machine": {}, "timing": None, "job": "", "diff": "-a\n+b\n",
    }  # fmt: skip
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proof), "utf-8")
    done = run(path)
    assert done.exit_code == 0
    assert "score what optimas optimize --format json writes" in done.stdout
    compared = tmp_path / "compare.json"
    compared.write_text(comparison(row("PC-1", 100, 40)).model_dump_json(by_alias=True), "utf-8")
    assert "directional consistency  100.0 % (1 of 1" in run(path, "--compare", compared).stdout
    assert run(path, "--attempt", "1").exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "no outcome"),
        ("no json", "no outcome"),
        ("[1]", "no outcome"),
        ('{"schema": "optimas.rewrite/1"}', "status"),
    ],
)
def test_what_is_no_outcome_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8")
    done = run(path)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_a_change_of_several_rounds_is_scored_whole_and_by_round(tmp_path: Path) -> None:
    """Where the edit is can be said of the whole change; what was cited only of each round."""
    first = rewriting(proposal(cites=("PC-1",)))
    second = rewriting(proposal(SOURCE.replace("x += v;", "x = x + v;"), cites=("PC-2", "PC-3")))
    whole = second.model_copy(update={"rounds": (first, second)})
    text = run(written(tmp_path, whole)).stdout
    assert text.count("not measurable: the change is of several rounds") == 3
    assert "60.3 % (600 of 995 samples" in text
    assert "20.0 % (1 of 5 findings" in run(written(tmp_path, whole), "--round", "1").stdout
    assert "40.0 % (2 of 5 findings" in run(written(tmp_path, whole), "--round", "2").stdout
    assert "there is no round 3" in run(written(tmp_path, whole), "--round", "3").output


def test_the_page_is_written_beside_the_scores(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run(written(tmp_path, rewriting()), "--html", page)
    assert done.exit_code == 0
    assert "evidence coverage" in done.stdout
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert run(written(tmp_path, rewriting()), "--html", page, "--attempt", "1").exit_code == 2


def test_an_answer_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = run(written(tmp_path, rewriting()), "--attempt", "4")
    assert done.exit_code == 2
    assert "there is no answer 4" in done.output


def test_the_outcome_itself_is_never_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path, rewriting())
    before = path.read_bytes()
    assert run(path, "-o", path).exit_code == 2
    assert path.read_bytes() == before
