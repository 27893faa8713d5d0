"""Parsl's pilot jobs run the same campaign: worker processes here, a lost one, and two jobs of a real Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from optimas_lsp.campaign.design import EngineEntry, read
from optimas_lsp.campaign.engine import configuration, workers_of
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.process import CHILDREN, LostError
from optimas_lsp.campaign.results import Results, ResultsError
from optimas_lsp.errors import ConfigError
from optimas_lsp.prove.runner.process import descendants
from tests.campaign.watching import command_of, courses, parent_of, start, until

if TYPE_CHECKING:
    from tests.campaign.conftest import Write


def test_an_engine_is_parsls_configuration(tmp_path: Path) -> None:
    entry = EngineEntry(
        kind="htex",
        gpus=("0", "1"),
        workers_per_gpu=2,
        retries=4,
        provider={"kind": "SlurmProvider", "partition": "gpu", "max_blocks": 3, "launcher": "SrunLauncher"},
        options={"heartbeat_period": 10, "heartbeat_threshold": 40},
    )
    made = configuration(entry, tmp_path)
    [executor] = made.executors
    assert executor.available_accelerators == ["0", "1", "0", "1"]
    assert (executor.provider.partition, type(executor.provider.launcher).__name__) == ("gpu", "SrunLauncher")
    assert (executor.heartbeat_threshold, made.retries) == (40, 4)
    assert workers_of(entry) == 12


def test_what_is_ended_with_the_campaign_is_not_tried_again(tmp_path: Path) -> None:
    cost = configuration(EngineEntry(retries=2), tmp_path).retry_handler
    lost = LostError("its process died")
    CHILDREN.open()  # a campaign that ended in this process left it closed
    assert cost(lost, None) == 1
    assert cost(ResultsError("cannot be written"), None) > 2
    CHILDREN.end_all()
    try:
        assert cost(lost, None) > 2
    finally:
        CHILDREN.open()


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ({"kind": "htex", "provider": {"kind": "SlurmProvidr"}}, "'engine.provider.kind': Parsl has no SlurmProvidr"),
        ({"kind": "htex", "provider": {"partitio": "x"}}, "'engine.provider.partitio': Parsl's LocalProvider does not"),
        ({"kind": "htex", "options": {"max_threads": 1}}, "'engine.options.max_threads'"),
        ({"kind": "htex", "options": {"poll_period": "x"}}, "'engine.options'"),
        ({"kind": "threads", "gpus": ("0",)}, "'engine.gpus' is for kind"),
    ],
)
def test_what_parsl_does_not_know_is_told_by_its_key(tmp_path: Path, engine: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(EngineEntry.model_validate(engine), tmp_path, where="campaign.toml")
    assert words in caught.value.sentence()


@pytest.mark.full
@pytest.mark.timeout(600)
def test_experiments_of_a_killed_worker_are_run_again_and_nothing_stays_behind(campaign: Write, tmp_path: Path) -> None:
    options = "options = { heartbeat_period = 2, heartbeat_threshold = 6, poll_period = 100 }"
    file = campaign(
        evidence=("pc", "rl"),
        repetitions=8,
        engine=f'kind = "htex"\nretries = 3\n{options}\nprovider = {{ max_blocks = 2 }}',
    )
    process = start("run", str(file), "--accept")
    results = Results(tmp_path / "results")
    running: set[int] = set()
    until(lambda: len(results.keys()) >= 2 and running.update(courses()) is None and running)
    worker = parent_of(next(iter(running)))
    pool = parent_of(worker)
    kin = {pool, *(pid for each in (process.pid, pool) for pid, _pages in descendants(each))}
    os.kill(worker, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert "16 of 16 (100 %)" in stdout
    assert "failed" not in stdout
    assert results.keys() == {each.key for each in Plan.of(read(file)).experiments}
    until(lambda: not any(Path("/proc", str(pid)).exists() for pid in kin), 30)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("slurm")
def test_two_pilot_jobs_of_a_real_slurm_share_a_campaign(campaign: Write, tmp_path: Path) -> None:
    provider = (
        "[engine.provider]\n"
        'kind = "SlurmProvider"\npartition = "debug"\nexclusive = false\ncores_per_node = 1\nmem_per_node = 0\n'
        'init_blocks = 2\nmax_blocks = 2\nwalltime = "00:10:00"\n'
    )
    file = campaign(
        evidence=("pc", "rl"),
        repetitions=4,
        engine='kind = "htex"\nretries = 2\noptions = { address = "127.0.0.1", cores_per_worker = 0.5 }\n' + provider,
    )
    file.write_text(file.read_text("utf-8").replace("workers = 2", "workers = 1"), "utf-8")
    process = start("run", str(file), "--accept")
    stdout, stderr = process.communicate(timeout=500)
    assert process.returncode == 0, stderr
    assert "8 of 8 (100 %)" in stdout
    assert "failed" not in stdout
    jobs = {path.name for path in (tmp_path / "results" / "parsl").rglob("*.submit")} or {
        path.name for path in (tmp_path / "results" / "parsl").rglob("parsl.*block*")
    }
    assert len(jobs) >= 2
    left = subprocess.run(["squeue", "-h", "-o", "%i %T"], capture_output=True, text=True, check=True)
    assert "RUNNING" not in left.stdout


@pytest.mark.full
@pytest.mark.timeout(300)
def test_an_interrupt_ends_the_pilot_jobs_too(campaign: Write, tmp_path: Path) -> None:
    file = campaign(evidence=("pc", "rl"), repetitions=20, engine='kind = "htex"')
    process = start("run", str(file), "--accept", start_new_session=True)
    results = Results(tmp_path / "results")
    running: set[int] = set()
    until(lambda: results.keys() and running.update(courses()) is None and running)
    pool = parent_of(parent_of(next(iter(running))))
    kin = {pool, *(pid for each in (process.pid, pool) for pid, _pages in descendants(each))}
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    until(lambda: not courses() and not any(Path("/proc", str(pid)).exists() for pid in kin), 30)
    finished = results.keys()
    assert all(results.row(key)["key"] == key for key in finished)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_lost_engine_ends_the_campaign_in_words_and_keeps_what_is_finished(campaign: Write, tmp_path: Path) -> None:
    file = campaign(evidence=("pc", "rl"), repetitions=20, engine='kind = "htex"')
    process = start("run", str(file), "--accept")
    results = Results(tmp_path / "results")
    until(results.keys)
    [interchange] = (pid for pid, _pages in descendants(process.pid) if b"interchange" in command_of(pid))
    os.kill(interchange, signal.SIGKILL)
    _, stderr = process.communicate(timeout=200)
    assert process.returncode == 2, stderr
    assert "Parsl cannot go on" in stderr
    finished = results.keys()
    assert not any(results.row(key)["ending"] == "failed" for key in finished)
