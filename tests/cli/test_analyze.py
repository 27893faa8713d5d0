"""``optimas analyze`` as a person and as a program use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from tests.insight.synthetic import kernel, line, profile

RUNNER = CliRunner()


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A distilled profile of a hot kernel 'a' and a cold kernel 'b'."""
    rows = [(0, "long_scoreboard", 900, 700), (0, "wait", 40, 30), (0, "selected", 60, 0)]
    place = tmp_path / "two.optimas.json"
    subject = profile(kernel([line(1)], rows, "a"), kernel([line(1)], rows, "b"), durations=[95e3, 5e3])
    place.write_text(subject.model_dump_json(), "utf-8")
    return place


def analyze_json(*arguments: str | Path) -> Any:
    result = RUNNER.invoke(app, ["analyze", *map(str, arguments), "--format", "json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def schema(name: str) -> Any:
    result = RUNNER.invoke(app, ["schema", name])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("flags", [[], ["--all"], ["--kernel", "b"]])
def test_json_is_the_published_schema(report: Path, flags: list[str]) -> None:
    jsonschema.Draft202012Validator(schema("analysis")).validate(analyze_json(report, *flags))


@pytest.mark.parametrize("name", ["profile", "analysis", "settings", "doctor"])
def test_published_schemas_are_valid_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_the_distilled_form_is_its_published_schema(report: Path) -> None:
    jsonschema.Draft202012Validator(schema("profile")).validate(json.loads(report.read_text("utf-8")))


def test_one_report_is_an_object_and_several_are_an_array_in_the_order_given(report: Path, tmp_path: Path) -> None:
    other = tmp_path / "one.optimas.json"
    other.write_bytes(report.read_bytes())
    assert analyze_json(report)["schema"] == "optimas.analysis/1"
    paths = [each["report"]["path"] for each in analyze_json(other, report)]
    assert paths == [str(other), str(report)]


def test_a_kernel_that_was_asked_for_is_looked_at_though_it_is_cold(report: Path) -> None:
    [found] = analyze_json(report, "--kernel", "^b")["kernels"]
    assert (found["base_name"], found["hot"], found["share"]) == ("b", False, 0.05)
    assert [each["rule"] for each in found["evidence"]] == ["long_scoreboard"]


def test_all_keeps_every_reason_and_the_lines_of_cold_kernels(report: Path) -> None:
    few, every = analyze_json(report)["kernels"], analyze_json(report, "--all")["kernels"]
    assert [len(each["evidence"]) for each in few] == [1, 0]
    assert [len(each["evidence"]) for each in every] == [2, 2]
    assert [len(each["lines"]) for each in every] == [1, 1]


def test_the_listing_says_the_answer_first(report: Path) -> None:
    result = RUNNER.invoke(app, ["analyze", str(report)])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "NVIDIA H200" in lines[0]
    assert lines[2].startswith("a  95.0 % of GPU time  95 µs in 1 launch")
    assert any("94.0 ± 1.5 %  kernel.cu:1  __global__ void k() {}" not in row and "kernel.cu:1" in row for row in lines)
    assert "PC-1 90.0 ± 1.9 % of 1,000 samples" in result.stdout
    assert "not hot: b 5.0 %" in result.stdout
    assert "\x1b" not in result.stdout
    assert all(row == row.rstrip() for row in lines)


def test_output_to_a_file_is_whole_and_plain(report: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    result = RUNNER.invoke(app, ["analyze", str(report), "-o", str(target)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "long_scoreboard" in target.read_text("utf-8")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out.txt", "two.optimas.json"]


def run(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    code = "from optimas_lsp.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_a_reader_that_leaves_early_is_no_failure(report: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-c", "from optimas_lsp.cli import main; main()", "analyze", report, "--format", "json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert process.stderr == b""
    assert process.returncode == 141


def test_ctrl_c_leaves_with_130_and_one_word(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("optimas_lsp.cli.reading.open_profile", interrupted)
    result = RUNNER.invoke(app, ["analyze", str(report)])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "optimas: interrupted\n")


def test_a_terminal_without_unicode_gets_a_listing_all_the_same(report: Path) -> None:
    process = run("analyze", report, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    output, errors = process.communicate(timeout=180)
    assert (process.returncode, errors) == (0, b"")
    assert b"long_scoreboard" in output


def test_starting_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, optimas_lsp.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {
        "numpy",
        "pydantic",
        "pygls",
        "lsprotocol",
        "ncu_report",
        "tree_sitter",
        "elftools",
        "zstandard",
    }
