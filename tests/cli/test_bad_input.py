"""Every wrong input ends in one sentence that names the place and the remedy, and in exit status 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from tests.insight.synthetic import kernel, line, profile

RUNNER = CliRunner()


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A distilled profile of one kernel."""
    place = tmp_path / "good.optimas.json"
    subject = profile(kernel([line(1)], [(0, "long_scoreboard", 900, 700), (0, "selected", 100, 0)]))
    place.write_text(subject.model_dump_json(), "utf-8")
    return place


def sentence(*arguments: str | Path) -> str:
    """Run the command, which must fail with one sentence and print nothing else; returns the sentence."""
    result = RUNNER.invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    [text] = result.stderr.splitlines()
    assert text.startswith("optimas: ")
    return text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.ncu-rep", b""),
        ("random.ncu-rep", bytes(range(256)) * 16),
        ("empty.optimas.json", b""),
        ("random.optimas.json", os.urandom(4096)),
        ("cut.optimas.json.zst", b"\x28\xb5\x2f\xfd\x04"),
        ("other.optimas.json", b'{"hello": 1}'),
        ("newer.optimas.json", b'{"schema_version": "optimas.profile/9"}'),
    ],
)
def test_a_file_that_is_no_report(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    for command in ("analyze", "doctor --report"):
        assert name in sentence(*command.split(), tmp_path / name)


@pytest.mark.parametrize(("name", "said"), [("a.nsys-rep", "a trace of Nsight Systems"), ("a.csv", "holds no lines")])
def test_what_is_often_taken_for_a_report(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_bytes(b"something else")
    assert said in sentence("analyze", tmp_path / name)


def test_a_report_that_does_not_exist(tmp_path: Path) -> None:
    assert "no such file" in sentence("analyze", tmp_path / "none.ncu-rep")


def test_a_folder_instead_of_a_report(tmp_path: Path) -> None:
    assert "folder" in sentence("analyze", tmp_path)


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.ncu-rep")
    assert "caf" in sentence("analyze", name)


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a.ncu-rep").symlink_to("b.ncu-rep")
    (tmp_path / "b.ncu-rep").symlink_to("a.ncu-rep")
    assert "a.ncu-rep" in sentence("analyze", tmp_path / "a.ncu-rep")


def test_a_kernel_pattern_that_is_no_pattern(report: Path) -> None:
    assert "not a regular expression" in sentence("analyze", report, "--kernel", "k(")


def test_a_kernel_that_is_not_in_the_report_names_those_that_are(report: Path) -> None:
    assert "the report's kernels are: k" in sentence("analyze", report, "--kernel", "nope")


def test_a_name_out_of_a_report_cannot_drive_the_terminal(tmp_path: Path) -> None:
    place = tmp_path / "evil.optimas.json"
    evil = kernel([line(1)], [(0, "wait", 10, 0)]).model_copy(update={"base_name": "k\x1b]0;title\x07\x9b2J"})
    place.write_text(profile(evil).model_dump_json(), "utf-8")
    assert sentence("analyze", place, "--kernel", "nope").isprintable()


def test_a_distilled_form_larger_than_its_report_says_more(report: Path, tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["distill", str(report), "-o", str(tmp_path / "out.optimas.json")])
    assert result.exit_code == 0
    assert "% more than the report" in result.stdout
    assert "-" not in result.stdout.split("bytes, ")[1]


def test_a_source_folder_that_is_none(report: Path, tmp_path: Path) -> None:
    assert "no folder" in sentence("analyze", report, "--source", tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[hot_kernel]\ncoverage = 0.5\n", "unknown key 'hotKernel' (did you mean 'hotKernels"),
        ("[lines]\nminimum_samples = 'many'\n", "lines.minimumSamples"),
        ("[lines\n", "not valid TOML"),
        ("[hot_kernels]\ncoverage = 7\n", "hotKernels.coverage"),
    ],
)
def test_settings_that_are_wrong(report: Path, tmp_path: Path, toml: str, says: str) -> None:
    (tmp_path / "optimas.toml").write_text(toml, "utf-8")
    text = sentence("analyze", report, "--source", tmp_path)
    assert says in text
    assert "optimas.toml" in text


def test_the_report_is_never_overwritten(report: Path, tmp_path: Path) -> None:
    before = report.read_bytes()
    alias = tmp_path / "alias.json"
    alias.symlink_to(report)
    for target in (report, alias, tmp_path / "x" / ".." / report.name):
        (tmp_path / "x").mkdir(exist_ok=True)
        assert "the report itself" in sentence("analyze", report, "--format", "json", "-o", target)
    assert "the report itself" in sentence("distill", report, "-o", report)
    assert report.read_bytes() == before


def test_an_output_that_is_a_folder_or_in_none(report: Path, tmp_path: Path) -> None:
    assert "this is a folder" in sentence("analyze", report, "-o", tmp_path)
    assert "does not exist" in sentence("analyze", report, "-o", tmp_path / "no" / "file")


def test_a_distilled_profile_under_a_name_nobody_would_recognise(report: Path, tmp_path: Path) -> None:
    assert ".optimas.json" in sentence("distill", report, "-o", tmp_path / "out.txt")


def test_a_schema_that_does_not_exist() -> None:
    assert "choose one of: profile, analysis" in sentence("schema", "nope")


@pytest.mark.parametrize("address", ["", "localhost", ":12", "localhost:", "localhost:99999", "localhost:http"])
def test_an_address_that_is_none(address: str) -> None:
    if address:
        assert "not HOST:PORT" in sentence("lsp", "--tcp", address)


def test_one_bad_report_among_several_is_named_and_the_others_are_shown(report: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.ncu-rep").write_bytes(b"")
    result = RUNNER.invoke(app, ["analyze", str(report), str(tmp_path / "bad.ncu-rep")])
    assert result.exit_code == 2
    assert "bad.ncu-rep" in result.stderr
    assert "long_scoreboard" in result.stdout


def test_debug_shows_the_traceback_as_well(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["analyze", str(tmp_path / "none.ncu-rep"), "--debug"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "no such file" in result.stderr


def test_reduction_and_quality_refuse_a_form_they_do_not_have(report: Path) -> None:
    assert "--reduction is text of its own" in sentence("analyze", report, "--reduction", "--format", "html")
    assert "--quality is a table or JSON" in sentence("analyze", report, "--quality", "--format", "sarif")


def test_searching_attempts_by_what_cannot_be_names_what_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path))
    assert "proven, refuted" in sentence("corpus", "search", "--ending", "faster")
    assert "there is no rule 'slow'" in sentence("corpus", "search", "--rule", "slow")


def test_a_folder_without_a_dataset_is_called_so(tmp_path: Path) -> None:
    assert "there is no dataset here" in sentence("corpus", "validate", tmp_path)


def test_a_folder_instead_of_a_source_is_called_so(report: Path, tmp_path: Path) -> None:
    assert "this is a folder" in sentence("optimize", tmp_path, "--profile", report)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("coverage", " (did you mean 'hotKernels.coverage'?)"),
        ("optimise", "'; see"),
        ("rewrite.modell", "'rewrite.model'"),
    ],
)
def test_a_wrong_key_leads_to_the_one_that_was_meant_or_to_none(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, meant: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("optimas.toml").write_text(f"{key} = 1\n", "utf-8")
    assert meant in sentence("analyze", report)
