"""``optimas prove`` on a sample: what it says here, where no GPU is, and why it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from benchmarks.guardrails import entries
from optimas_lsp.cli.app import app
from optimas_lsp.cli.schema import json_schema
from optimas_lsp.prove.executors.recorded import record

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "samples" / "accuracy" / "profile.ncu-rep"
GOOD = next(each for each in entries("honest") if each.id == "accuracy: several loads in flight")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The accuracy sample in a folder of its own; its build command only copies, for this is not about nvcc."""
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "accuracy"
    folder.mkdir()
    shutil.copy(ROOT / "samples" / "accuracy" / "accuracy.cu", folder)
    target = (ROOT / "samples" / "accuracy" / "optimas.toml").read_text("utf-8")
    build = next(line for line in target.splitlines() if line.startswith("build ="))
    (folder / "optimas.toml").write_text(target.replace(build, 'build = [["cp", "accuracy.cu", "built"]]'), "utf-8")
    (tmp_path / "proposal.json").write_text(GOOD.proposal.model_dump_json(), "utf-8")
    return folder


def run(program: Path, *options: str, accept: bool = True) -> tuple[int, str, str]:
    proposal = str(program.parent / "proposal.json")
    command = ["prove", str(program / "accuracy.cu"), "--proposal", proposal, "--profile", str(REPORT), *options]
    command += ["--accept"] if accept else []
    result = CliRunner().invoke(app, command)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="says what happens without a GPU")
def test_without_a_gpu_it_says_not_proven_and_why(program: Path) -> None:
    before = {path: path.read_bytes() for path in program.rglob("*")}
    job = program.parent / "job"
    status, out, _ = run(program, "--format", "json", "--job", str(job))
    proof = json.loads(out)
    jsonschema.validate(proof, json_schema("proof"))
    assert status == 1
    assert proof["verdict"] == "not proven"
    assert proof["sentence"].startswith("not proven: there is no NVIDIA GPU on this machine (determinism, run, compare")
    assert proof["diff"].startswith("--- a/accuracy.cu")
    assert json.loads((job / "job.json").read_text())["kernels"] == ["_Z15accuracy_kernelPKfPKiiiPiS3_"]
    assert {path: path.read_bytes() for path in program.rglob("*")} == before
    record(job, program.parent / "records")
    status, out, _ = run(program, "--executor", "recorded", "--records", str(program.parent / "records"))
    assert status == 1
    assert "recorded on a machine without a GPU, 20" in out
    assert out.splitlines()[-1].startswith("not proven: ")


def started(program: Path, sleep: str) -> subprocess.Popen[bytes]:
    """``optimas prove`` in a process of its own, while its build waits in ``sleep``."""
    toml, mark = program / "optimas.toml", program.parent / "started"
    waiting = f'build = [["sh", "-c", "(setsid sleep {sleep} &); echo x > {mark}; exec sleep {sleep}"]]'
    toml.write_text(toml.read_text().replace('build = [["cp", "accuracy.cu", "built"]]', waiting), "utf-8")
    entry = "import sys; from optimas_lsp.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", entry, "prove", str(program / "accuracy.cu")]
    command += ["--proposal", str(program.parent / "proposal.json"), "--profile", str(REPORT), "--accept"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE)
    while not mark.exists():
        assert process.poll() is None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    return process


def sleepers(sleep: str) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found += [entry.name] if f"sleep\0{sleep}".encode() in (entry / "cmdline").read_bytes() else []
    return found


def test_an_interruption_ends_the_proof_and_everything_it_started(program: Path) -> None:
    process = started(program, "331")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 130
    assert b"optimas: interrupted" in err
    assert sleepers("331") == []


def test_killed_outright_it_leaves_nothing_running_and_its_folder_goes_at_the_next_start(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = program.parent / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    toml = (program / "optimas.toml").read_text("utf-8")
    process = started(program, "335")
    process.kill()
    process.communicate(timeout=180)
    (left,) = place.glob("optimas-scratch-*")
    tick = threading.Event()
    while sleepers("335"):
        tick.wait(0.05)
    (program / "optimas.toml").write_text(toml, "utf-8")
    run(program)
    assert not left.exists()
    assert list(place.glob("optimas-scratch-*")) == []


def test_a_refused_proposal_is_not_even_built(program: Path) -> None:
    bad = GOOD.proposal.model_dump_json().replace("int count = 0;", "int count = system(0);")
    (program.parent / "proposal.json").write_text(bad, "utf-8")
    status, out, _ = run(program)
    assert status == 1
    assert out.splitlines()[-1].startswith("rejected by static: process-call: ")
    assert "build" not in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--executor", "ssh"], "--executor ssh needs a host"),
        (["--executor", "recorded"], "--executor recorded needs the results"),
        (["--inputs", "huge"], "--inputs huge: there is no such input; choose of: all, small, default, large"),
        (["--executor", "recorded", "--records", "nowhere"], "nowhere: there is no such folder"),
        (["--executor", "recorded", "--records", "docs"], "no result was recorded for this job"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(program: Path, options: list[str], words: str) -> None:
    status, _, err = run(program, *options)
    assert status == 2
    assert words in err


def test_nothing_is_run_that_was_not_accepted_for_the_folder(program: Path) -> None:
    status, out, err = run(program, accept=False)
    assert (status, out) == (2, "")
    assert (
        "never accepted, and nobody can be asked here: run in a copy of the folder (the proof, each many times)" in err
    )
    assert "cp accuracy.cu built; build/accuracy small" in err
    assert run(program, accept=True)[0] == 1
    assert run(program, accept=False)[0] == 1


def test_without_a_target_what_was_inferred_is_shown_before_it_is_run(program: Path) -> None:
    (program / "optimas.toml").unlink()
    status, _, err = run(program, accept=False)
    assert status == 2
    assert (
        "the proof, each many times; accuracy.cu defines main; no build file is about it; optimas-build/accuracy" in err
    )
    assert "nvcc -O3 -arch=sm_90 -lineinfo -o optimas-build/accuracy accuracy.cu; optimas-build/accuracy" in err


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="builds with nvcc")
def test_an_inferred_target_is_built_and_told(program: Path) -> None:
    (program / "optimas.toml").unlink()
    shutil.copy(ROOT / "samples" / "accuracy" / "rank.cuh", program)
    _, out, _ = run(program)
    assert "pass     build: both versions build" in out
    assert "open     the target was inferred: accuracy.cu defines main; no build file is about it" in out


def test_a_kernel_without_a_program_says_what_is_needed(program: Path) -> None:
    (program / "optimas.toml").unlink()
    source = program / "accuracy.cu"
    source.write_text(source.read_text("utf-8").replace("int main(", "int program("), "utf-8")
    status, _, err = run(program)
    assert status == 2
    assert (
        "no file beside accuracy.cu defines main; write or name a program that runs the kernel on its real input" in err
    )


def test_inputs_left_out_are_said(program: Path) -> None:
    _, out, _ = run(program, "--inputs", "small")
    assert "inputs left out: default, large" in out


def test_a_reprofile_and_every_inputs_time_are_part_of_the_job(program: Path) -> None:
    job = program.parent / "job"
    run(program, "--job", str(job), "--inputs", "all", "--reprofile")
    packed = json.loads((job / "job.json").read_text())
    assert set(packed["time_inputs"]) == {"small", "default", "large"}
    wanted = packed["reprofile"]
    assert wanted[wanted.index("--kernel-name") + 1] == "regex:^(_Z15accuracy_kernelPKfPKiiiPiS3_)$"
    assert wanted[:2] == ["--section", "SourceCounters"]
    assert int(wanted[wanted.index("--launch-count") + 1]) >= 1


def test_by_default_one_input_is_timed_and_nothing_profiled_again(program: Path) -> None:
    job = program.parent / "job"
    run(program, "--job", str(job))
    packed = json.loads((job / "job.json").read_text())
    assert "time_inputs" not in packed
    assert "reprofile" not in packed
    assert "timing" not in packed
    assert set(packed["target"]["inputs"]) == {"small", "default", "large"}


def test_settings_about_time_reach_the_job(program: Path) -> None:
    toml = program / "optimas.toml"
    more = "[prove]\nminimum_effect = 0.05\nany_slower = 'reject'\ntime_inputs = 'all'\n"
    toml.write_text(more + toml.read_text("utf-8"), "utf-8")
    job = program.parent / "job"
    run(program, "--job", str(job))
    packed = json.loads((job / "job.json").read_text())
    assert packed["timing"] == {"min_effect": 0.05, "any_slower": "reject", "every_input": True}
    assert len(packed["time_inputs"]) == 3
