"""``optimas doctor``: what works, what does not, the remedy, and never a key's value."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from optimas_lsp.cli import checkup
from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema
from tests.insight.synthetic import FILES, kernel, line, profile

RUNNER = CliRunner()
VALUE = "sk-never-shown-anywhere"


def doctor_json(*arguments: str | Path) -> Any:
    result = RUNNER.invoke(app, ["doctor", "--format", "json", *map(str, arguments)])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_json_is_the_published_schema_and_every_absence_has_a_remedy() -> None:
    found = doctor_json()
    jsonschema.Draft202012Validator(json_schema("doctor")).validate(found)
    wanted = {"python", "nvcc", "ncu", "gpu", "counters", "cache", "corpus", "toolkit"}
    assert wanted <= {each["id"] for each in found["checks"]}
    assert all(each["remedy"] for each in found["checks"] if each["status"] != "ok")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_key_is_named_and_its_value_never_shown(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", VALUE)
    result = RUNNER.invoke(app, ["doctor", "--format", form])
    assert "OPENAI_API_KEY" in result.stdout
    assert VALUE not in result.output
    [check] = [each for each in checkup.keys({"OPENAI_API_KEY": VALUE}) if each.status == "ok"]
    assert (check.id, check.found) == ("key:OPENAI_API_KEY", "set")


def test_restricted_counters_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = tmp_path / "params"
    parameters.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    found = checkup.counters(parameters)
    assert found.status == "absent"
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found.remedy
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert checkup.counters(parameters).status == "ok"
    parameters.write_text("RmProfilingAdminOnly: 0\n")
    assert checkup.counters(parameters).status == "ok"


def test_a_reader_older_than_ncu_is_a_failure_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\necho 'Version 2099.1.0.0 (build 1)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = checkup.ncu()
    assert found.status == "failed"
    assert "pip install --upgrade ncu-report" in found.remedy


def test_a_tool_that_hangs_or_fails_is_no_failure_of_ours() -> None:
    assert checkup.run("/nonexistent/tool") == ""
    assert checkup.run("false") == ""


def test_the_rule_that_maps_each_file_is_told_and_why_none_did(tmp_path: Path) -> None:
    report = tmp_path / "k.optimas.json"
    report.write_text(profile(kernel([line(1)], [(0, "wait", 900, 700)])).model_dump_json(), "utf-8")
    sources = tmp_path / "src"
    sources.mkdir()
    (sources / "kernel.cu").write_text(FILES[0].text or "")
    rows = {each["file"]: each for each in doctor_json("--report", report, "--source", sources)["mapping"]}
    assert rows[FILES[0].path]["path"] == str(sources / "kernel.cu")
    assert rows[FILES[0].path]["rule"] == "suffix"
    assert rows[FILES[1].path]["path"] is None
    assert rows[FILES[1].path]["why"]
    text = RUNNER.invoke(app, ["doctor", "--report", str(report), "--source", str(sources)]).stdout
    assert "[suffix]" in text


def test_sources_without_a_report_are_a_sentence() -> None:
    result = RUNNER.invoke(app, ["doctor", "--source", "."])
    assert result.exit_code == 2
    assert "add --report" in result.stderr


def test_the_line_it_gives_for_a_file_that_is_not_found_works_in_optimas_toml(tmp_path: Path) -> None:
    report = tmp_path / "k.optimas.json"
    report.write_text(profile(kernel([line(1)], [(0, "wait", 900, 700)])).model_dump_json(), "utf-8")
    sources = tmp_path / "src"
    sources.mkdir()
    rows = {each["file"]: each for each in doctor_json("--report", report, "--source", sources)["mapping"]}
    said = rows[FILES[1].path]["why"]
    [given] = re.findall(r"put this at the top of optimas\.toml: (path_maps = .*)", said)
    [rule] = tomllib.loads(given)["path_maps"]
    there = sources / rule["to"]
    there.mkdir(parents=True)
    (there / FILES[1].path.rpartition("/")[2]).write_text("int main() {}\n")
    (sources / "optimas.toml").write_text(f"{given}\n[lines]\nminimum_share = 0.02\n", "utf-8")
    rows = {each["file"]: each for each in doctor_json("--report", report, "--source", sources)["mapping"]}
    assert rows[FILES[1].path]["rule"] == "path-map"
    assert rows[FILES[1].path]["path"] is not None
