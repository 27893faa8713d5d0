"""The commands on the sample programs' real reports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema

RUNNER = CliRunner()
ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"


def report(sample: str, stem: str = "profile") -> Path:
    """The report of a program, packed or not."""
    [found] = [path for path in (SAMPLES / sample).glob("*.ncu-rep*") if path.name.partition(".")[0] == stem]
    return found


def run(*arguments: str | Path) -> str:
    result = RUNNER.invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def analyze_json(*arguments: str | Path) -> Any:
    return json.loads(run("analyze", *arguments, "--format", "json"))


@pytest.mark.parametrize("sample", ["accuracy", "stream", "shmem", "softmax_triton", "cub_adjacent"])
def test_json_of_a_real_report_is_the_published_schema(sample: str) -> None:
    found = analyze_json(report(sample), "--source", SAMPLES / sample, "--all")
    jsonschema.Draft202012Validator(json_schema("analysis")).validate(found)
    assert found["report"]["tool"] == "ncu"
    assert "H200" in found["report"]["device"]


def test_findings_are_located_in_the_workspace_that_was_given() -> None:
    found = analyze_json(report("accuracy"), "--source", SAMPLES / "accuracy")
    every = [each for kernel in found["kernels"] for each in kernel["evidence"]]
    shown = [each["shown"] for each in every if each["source"] == "pc"]
    assert {Path(each["path"]).name for each in shown} <= {"accuracy.cu", "rank.cuh"}


def test_a_distilled_report_says_the_same_as_the_report(tmp_path: Path) -> None:
    whole = analyze_json(report("stream"))
    for name, size in (("stream.optimas.json", "more"), ("stream.optimas.json.zst", "less")):
        # The report is itself compressed, so plain JSON is larger than it, and the command says so.
        assert f"{size} than the report" in run("distill", report("stream"), "-o", tmp_path / name)
        distilled = analyze_json(tmp_path / name)
        assert distilled["kernels"] == whole["kernels"]
        assert distilled["report"]["sha256"] == whole["report"]["sha256"]
    plain = json.loads((tmp_path / "stream.optimas.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(json_schema("profile")).validate(plain)


def test_the_listing_of_accuracy_answers_in_its_first_lines() -> None:
    lines = run("analyze", report("accuracy")).splitlines()
    assert lines[2].startswith("accuracy_kernel  100.0 % of GPU time")
    first = next(at for at, row in enumerate(lines) if "accuracy.cu:40" in row)
    assert first < 12
    assert lines[first].endswith("float score = scores[(size_t)row * classes + c];")
    assert any("▲ BL-1" in row and "% of 17,946 samples wait for this line" in row for row in lines[first:])
    assert any("█" in row and "rank.cuh:9" in row for row in lines[first:])
    assert any("PC-1" in row and "samples: warps wait here for" in row for row in lines)
    assert max(map(len, lines)) <= 120


def test_a_report_without_lines_says_why_and_what_to_do() -> None:
    assert "-lineinfo" in run("analyze", report("accuracy", "profile-nolineinfo"))
    assert "--section SourceCounters" in run("analyze", report("accuracy", "profile-basic"))


def test_two_instantiations_are_told_apart_in_the_listing() -> None:
    text = run("analyze", report("shmem"))
    assert "mix_tiles<double>" in text
    assert "mix_tiles<float>" in text


def test_doctor_names_the_rule_for_every_source_of_a_report() -> None:
    text = run("doctor", "--report", report("accuracy"), "--source", SAMPLES / "accuracy")
    assert str(SAMPLES / "accuracy" / "accuracy.cu") in text.replace("\n", "")


@pytest.mark.parametrize("sample", ["accuracy", "softmax_triton"])
def test_the_demo_shows_squiggles_hover_and_lens_through_the_real_server(sample: str) -> None:
    code = "from optimas_lsp.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", sample],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    if sample == "accuracy":
        assert "RECORDED, not measured now: proven: kernel time" in done.stdout
        assert "recorded on" in done.stdout
        assert "rules hold" in done.stdout
        assert "compiled here: the candidate builds" in done.stdout or "missing " in done.stdout
        assert "EAR  hot samples on edited lines" in done.stdout
        assert "+            float scores_ahead[8];" in done.stdout
        assert "Optimise the kernel" in done.stdout
    rows = done.stdout.splitlines()
    squiggle = next(at for at, row in enumerate(rows) if "~~~" in row)
    source = rows[squiggle - 1]
    start, end = rows[squiggle].index("~"), rows[squiggle].rindex("~") + 1
    assert source[start:end].strip() == source[start:end] != ""
    assert any("% of GPU time" in row for row in rows)
    assert any("warning long_scoreboard: " in row for row in rows)
    assert any("Hover on" in row for row in rows)
    assert any("long_scoreboard" in row and "%" in row for row in rows)
    assert "Neovim" in done.stdout


def test_sources_that_are_elsewhere_or_changed_are_said_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    notes = {each["code"] for each in analyze_json(report("accuracy"), "--source", tmp_path / "empty")["notes"]}
    assert "sources-not-found" in notes
    text = (SAMPLES / "accuracy" / "accuracy.cu").read_text("utf-8")
    (tmp_path / "accuracy.cu").write_text("// a new first line\n" + text, "utf-8")
    (tmp_path / "rank.cuh").write_bytes((SAMPLES / "accuracy" / "rank.cuh").read_bytes().replace(b"\n", b"\r\n"))
    changed = [
        each["text"]
        for each in analyze_json(report("accuracy"), "--source", tmp_path)["notes"]
        if each["code"] == "changed-since-profiling"
    ]
    [one] = changed
    assert str(tmp_path / "accuracy.cu") in one


def test_the_same_name_in_two_namespaces_is_two_kernels_and_launches_of_one_combine() -> None:
    updates = [each for each in analyze_json(report("stencil"))["kernels"] if each["base_name"] == "update"]
    assert len({each["mangled"] for each in updates}) == len(updates) == 2
    many = analyze_json(report("sweep"))["kernels"]
    assert sum(each["launches"] for each in many) > 100
    assert all(each["launches"] > 1 for each in many)
    assert len({each["mangled"] for each in many}) == len(many)


def spoilt(data: bytes) -> dict[str, bytes]:
    """Ways in which a copied report goes wrong."""
    middle = len(data) // 2
    return {
        "half": data[:middle],
        "a few bytes": data[:10],
        "zeros in the middle": data[:middle] + bytes(4096) + data[middle + 4096 :],
        "no end": data[:-1],
    }


@pytest.mark.parametrize("how", ["half", "a few bytes", "zeros in the middle", "no end"])
@pytest.mark.parametrize("stem", ["accuracy", "stream"])
def test_a_spoilt_report_is_one_sentence_or_still_whole(tmp_path: Path, stem: str, how: str) -> None:
    original = report(stem)
    place = tmp_path / original.name
    place.write_bytes(spoilt(original.read_bytes())[how])
    result = RUNNER.invoke(app, ["analyze", str(place)])
    if result.exit_code == 0:
        assert "samples" in result.stdout
        return
    assert result.exit_code == 2
    assert result.stdout == ""
    [sentence] = result.stderr.splitlines()
    assert place.name in sentence
    assert ";" in sentence, "a remedy follows"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_ctrl_c_while_a_report_is_read_ends_the_workers_too(tmp_path: Path) -> None:
    code = "from optimas_lsp.cli import main; main()"
    command = subprocess.Popen(
        [sys.executable, "-c", code, "analyze", report("sweep")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OPTIMAS_CACHE_DIR": str(tmp_path)},
        cwd=ROOT,
    )
    watched = psutil.Process(command.pid)
    workers: list[psutil.Process] = []
    while not workers and command.poll() is None:
        workers = watched.children(recursive=True)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=180)
    assert (command.returncode, errors.decode()) == (130, "optimas: interrupted\n")
    _, alive = psutil.wait_procs(workers, timeout=180)
    assert not alive
