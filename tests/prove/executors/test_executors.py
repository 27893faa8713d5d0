"""Wherever a job runs, events arrive, its end is believed only when its runner sealed it, and cancelling ends it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.executors.outcome import Event, Executor, ExecutorError, Running, read_outcome
from optimas_lsp.prove.executors.recorded import NotRecordedError, Recorded, record
from optimas_lsp.prove.executors.slurm import Slurm
from optimas_lsp.prove.executors.ssh import Ssh, unpack
from optimas_lsp.prove.proving import proof_action
from optimas_lsp.prove.runner.process import descendants
from optimas_lsp.prove.runner.record import seal
from optimas_lsp.prove.target import parse_target

SLEEPS = [["sh", "-c", "(setsid sh -c 'sleep 300 & exec sleep 300' &); exec sleep 300"]]


def _sleepers() -> set[int]:
    found: set[int] = set()
    for pid, _pages in descendants(1):
        try:
            if b"sleep\x00300" in Path("/proc", str(pid), "cmdline").read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


def _proves(executor: Executor, job: Path) -> list[Event]:
    running = executor.submit(job)
    events = list(running.events())
    outcome = running.collect()
    assert outcome.verdict == "not proven"
    assert [gate.status for gate in outcome.gates][:3] == ["pass", "pass", "skipped"]
    assert any(event.stage == "done" for event in events)
    assert (job / "logs" / "build" / "candidate-0.err").is_file()
    return events


def _is_cancelled(executor: Executor, job: Path) -> None:
    before = _sleepers()
    running: Running = executor.submit(job)
    for event in running.events():
        if event.stage == "build":
            break
    watchdog = threading.Event()
    while len(_sleepers() - before) < 3:
        assert not watchdog.wait(0.05)
    running.cancel()
    assert _sleepers() - before == set()


def test_a_job_runs_here(packed: Any) -> None:
    _proves(Local(), packed().folder)


def test_cancelling_here_ends_everything(packed: Any) -> None:
    job = packed(build=SLEEPS).folder
    _is_cancelled(Local(), job)
    assert not (job / "result.json").exists() or json.loads((job / "result.json").read_text())["verdict"] is None


def test_a_python_that_is_not_there_is_named(packed: Any) -> None:
    with pytest.raises(ExecutorError, match="no-such-python: cannot be started"):
        Local("no-such-python").submit(packed().folder)


def test_a_success_needs_the_seal_and_the_exit_status(packed: Any) -> None:
    job = packed()
    job.run()
    forged = {**job.result, "verdict": "proven"}
    (job.folder / "result.json").write_text(json.dumps(forged))
    with pytest.raises(ExecutorError, match="not written by its runner"):
        read_outcome(job.folder, "key", 0)
    forged["seal"] = seal(forged, b"key")
    (job.folder / "result.json").write_text(json.dumps(forged))
    with pytest.raises(ExecutorError, match="ended with exit status -9"):
        read_outcome(job.folder, "key", -9)
    assert read_outcome(job.folder, "key", 0).verdict == "proven"


def test_a_candidate_that_kills_its_runner_gains_nothing(packed: Any) -> None:
    with pytest.raises(ExecutorError, match=r"ended before the proof did \(exit status -9\)"):
        Local().submit(packed(build=[["sh", "-c", "kill -9 $PPID; sleep 5"]]).folder).collect()


def test_a_runner_that_vanished_left_no_result(packed: Any) -> None:
    with pytest.raises(ExecutorError, match="left no result"):
        read_outcome(packed().folder, "key", -9)


def test_a_recorded_result_is_given_for_exactly_this_job(packed: Any, tmp_path: Path) -> None:
    job = packed()
    (tmp_path / "records").mkdir()
    with pytest.raises(NotRecordedError, match="no result was recorded for this job"):
        Recorded(tmp_path / "records").submit(job.folder)
    with pytest.raises((ExecutorError, OSError)):
        record(job.folder, tmp_path / "records")
    job.run()
    record(job.folder, tmp_path / "records")
    running = Recorded(tmp_path / "records").submit(job.folder)
    assert running.collect().verdict == "not proven"
    assert str(running.collect().recorded).startswith("recorded on a machine without a GPU, 20")
    assert [event.stage for event in running.events()] == ["recorded"]


def test_a_job_that_was_changed_has_no_recorded_result(packed: Any, tmp_path: Path) -> None:
    job = packed()
    (job.folder / "patch" / "main.c").write_text("int main(void) { return 1; }\n")
    with pytest.raises(ExecutorError, match="changed after it was packed"):
        Recorded(tmp_path).submit(job.folder)


def test_sbatch_is_asked_as_configured(tmp_path: Path) -> None:
    asked = Slurm("gpus", "project", "gpu:h200:1", "00:10:00", ("--qos=short",)).arguments(tmp_path)
    wanted = ["--partition=gpus", "--account=project", "--gres=gpu:h200:1", "--time=00:10:00", "--qos=short"]
    assert asked[-5:] == wanted


def test_what_comes_back_stays_in_the_jobs_folder(tmp_path: Path) -> None:
    import io
    import tarfile

    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("logs/../../outside", "job.json", "logs/fine"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "job").mkdir()
    with pytest.raises(ExecutorError, match="cannot be unpacked"):
        unpack(stream.getvalue(), tmp_path / "job", ["logs", "result.json"])
    assert not (tmp_path / "outside").exists()
    assert not (tmp_path / "job" / "job.json").exists()


@pytest.mark.full
def test_a_job_runs_over_ssh(packed: Any, loopback: Ssh) -> None:
    _proves(loopback, packed().folder)
    assert list(Path(loopback.folder).iterdir()) == []


@pytest.mark.full
def test_cancelling_over_ssh_ends_everything_there(packed: Any, loopback: Ssh) -> None:
    _is_cancelled(loopback, packed(build=SLEEPS).folder)
    assert list(Path(loopback.folder).iterdir()) == []


@pytest.mark.full
def test_a_lost_connection_ends_everything_there(packed: Any, loopback: Ssh) -> None:
    class Lost:
        def submit(self, job: Path) -> Running:
            running: Any = loopback.submit(job)
            running.cancel = lambda: (running._process.kill(), _until_gone())
            return running

    before = _sleepers()

    def _until_gone() -> None:
        for _ in range(400):
            if not _sleepers() - before:
                return
            threading.Event().wait(0.05)

    _is_cancelled(Lost(), packed(build=SLEEPS).folder)
    for _ in range(400):
        if not list(Path(loopback.folder).iterdir()):
            return
        threading.Event().wait(0.05)
    raise AssertionError("the job's folder is still there")


@pytest.mark.full
def test_a_host_that_refuses_is_quoted(packed: Any, loopback: Ssh) -> None:
    job = packed().folder
    with pytest.raises(ExecutorError, match=r"127\.0\.0\.1"):
        Ssh("127.0.0.1", ("-p", "1", *loopback.options)).submit(job)
    with pytest.raises(ExecutorError, match="no host name"):
        Ssh("-oProxyCommand=touch /tmp/x").submit(job)


def test_what_reaches_another_machine_is_part_of_what_is_accepted() -> None:
    target = parse_target({"inputs": {"default": ["run"]}}, where="optimas.toml")
    hidden = Ssh("gpu.example.org", ("-oProxyCommand=touch x",))
    shown = proof_action(target, hidden)
    assert shown is not None
    assert "ssh -o BatchMode=yes -T '-oProxyCommand=touch x' -- gpu.example.org" in shown.sentence()
    places: tuple[Executor, ...] = (
        Local(), Ssh("gpu.example.org"), hidden, Ssh("other.example.org"), Slurm("a"), Slurm("b")
    )  # fmt: skip
    actions = [proof_action(target, each) for each in places]
    assert len({each.identity() for each in actions if each is not None}) == len(places)


@pytest.mark.full
@pytest.mark.usefixtures("slurm")
def test_a_job_runs_under_slurm(packed: Any) -> None:
    events = _proves(Slurm(gpus="", time="5"), packed().folder)
    states = [event.text.split(": ")[1] for event in events if event.stage == "slurm"]
    assert states[-1] in {"done", "ended"}


@pytest.mark.full
@pytest.mark.usefixtures("slurm")
def test_cancelling_under_slurm_ends_everything(packed: Any) -> None:
    _is_cancelled(Slurm(gpus="", time="5"), packed(build=SLEEPS).folder)


@pytest.mark.full
@pytest.mark.usefixtures("slurm")
def test_what_slurm_refuses_is_quoted(packed: Any) -> None:
    with pytest.raises(ExecutorError, match="sbatch refused"):
        Slurm(partition="no-such-partition", gpus="").submit(packed().folder)
