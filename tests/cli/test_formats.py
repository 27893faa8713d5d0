"""``optimas analyze --format sarif|html``, ``--reduction`` and ``optimas compare`` as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app

ROOT = Path(__file__).parents[2]
ACCURACY = ROOT / "samples" / "accuracy" / "profile.ncu-rep"
SWEEP = ROOT / "samples" / "sweep" / "profile.ncu-repz"
BEFORE, AFTER = (ROOT / "tests" / "insight" / "reports" / f"adjacent-{name}.ncu-repz" for name in ("before", "after"))

pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_sarif_goes_to_standard_output() -> None:
    log = json.loads(run("analyze", ACCURACY, "--source", ACCURACY.parent, "--format", "sarif"))
    assert log["version"] == "2.1.0"
    assert log["runs"][0]["results"]


def test_html_goes_to_a_file(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("analyze", ACCURACY, "--format", "html", "-o", page) == ""
    text = page.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "accuracy_kernel" in text
    assert len(text.encode()) < 2_000_000


def test_reduction_prints_bytes_before_and_after_and_what_is_covered() -> None:
    text = run("analyze", SWEEP, "--reduction")
    numbers = {
        name: text.split(name)[1].split("\n")[0].strip()
        for name in ("raw bytes", "evidence bytes", "reduced by", "covered")
    }
    assert int(numbers["raw bytes"].replace(",", "")) > 10_000_000
    assert int(numbers["evidence bytes"].replace(",", "")) < 6000
    assert float(numbers["reduced by"].split()[0]) >= 99.9
    assert float(numbers["covered"].split()[0]) >= 90.0


def test_quality_says_how_much_of_the_waits_is_explained() -> None:
    table = run("analyze", ACCURACY, "--quality")
    assert "one line" in table
    assert "accuracy_kernel" in table
    [(report, (kernel,))] = json.loads(run("analyze", ACCURACY, "--quality", "--format", "json")).items()
    assert report == str(ACCURACY)
    assert kernel["by_instruction"]["none"] < 0.005
    assert kernel["decoded"] == kernel["instructions"]


def test_two_reports_of_one_kernel_share_their_observations() -> None:
    other = ACCURACY.parent / "sweep.ncu-repz"
    first, second = json.loads(run("analyze", ACCURACY, other, "--format", "json"))
    for analysis in (first, second):
        (kernel,) = analysis["kernels"]
        assert kernel["importance"]["observations"] == 25
        assert next(each["id"] for each in kernel["evidence"] if each["source"] == "ia") == "IA-1"


def test_compare_as_text_says_how_much_faster() -> None:
    text = run("compare", BEFORE, AFTER)
    assert "3.95x faster" in text
    assert "as implied" in text


def test_compare_as_json_follows_its_published_schema() -> None:
    import jsonschema

    found = json.loads(run("compare", BEFORE, AFTER, "--format", "json"))
    assert found["schema"] == "optimas.compare/1"
    jsonschema.validate(found, json.loads(run("schema", "compare")))


def test_compare_as_html_is_a_page(tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    run("compare", BEFORE, AFTER, "--format", "html", "-o", page)
    assert "What became of the findings" in page.read_text("utf-8")
