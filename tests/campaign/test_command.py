"""`optimas campaign` on real samples, as a process: run, resume, interrupt, report."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from optimas_lsp.campaign.design import read
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.results import Results
from optimas_lsp.rewrite.compile import find_compiler
from tests.campaign.watching import MAIN, courses, start, until

if TYPE_CHECKING:
    from tests.campaign.conftest import Write

SAMPLES = Path(__file__).parents[2] / "samples"


def optimas(*words: str) -> subprocess.CompletedProcess[str]:
    process = start(*words)
    stdout, stderr = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def test_a_campaign_runs_resumes_exports_and_reports(campaign: Write, tmp_path: Path) -> None:
    file = campaign("accuracy", "sobol", evidence=("pc", "ia"))
    shutil.copytree(SAMPLES / "accuracy", tmp_path / "records" / "accuracy")
    only = file.read_text("utf-8").replace(f'records = "{SAMPLES}"', f'records = "{tmp_path / "records"}"')
    file.write_text(only, "utf-8")
    done = optimas("run", str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 of 4 (100 %)")
    results = Results(tmp_path / "results")
    endings = sorted(row["ending"] for row in results.rows())
    assert endings == ["no-evidence", "no-evidence", "not-proven", "proven"]  # accuracy has a record, sobol none
    kept = results.outcome(next(row["key"] for row in results.rows() if row["ending"] == "not-proven"))
    assert kept is not None
    assert kept["schema"] == "optimas.rewrite/1"
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results" / "experiments").rglob("*.zst")}
    assert "4 of 4" in optimas("run", str(file)).stdout
    assert {path: path.stat().st_mtime_ns for path in before} == before

    file = campaign("accuracy", "sobol", evidence=("pc", "ia", "rl"))
    status = json.loads(optimas("status", str(file), "--format", "json").stdout)
    assert (status["finished"], status["total"]) == (4, 6)
    dataset = tmp_path / "dataset.jsonl"
    assert optimas("export", str(file), "-o", str(dataset)).returncode == 0
    assert str(tmp_path) not in dataset.read_text("utf-8")
    from_file, from_results = (optimas("report", str(each), "--format", "csv") for each in (dataset, file))
    assert from_file.returncode == 0, from_file.stderr
    assert from_file.stdout == from_results.stdout


@pytest.mark.skipif(find_compiler() is None, reason="nvcc is not installed (pip install 'optimas-lsp[proof]')")
def test_recorded_results_are_labelled_and_a_time_of_another_input_is_none(campaign: Write, tmp_path: Path) -> None:
    file = campaign(evidence=("pc",), inputs=("default", "large"), build=True)
    refused = optimas("run", str(file))
    assert refused.returncode == 2
    assert "never accepted" in refused.stderr
    assert "nvcc -O3" in refused.stderr
    assert not (tmp_path / "results" / "experiments").exists()
    done = optimas("run", str(file), "--accept")
    assert done.returncode == 0, done.stderr
    rows = {row["input"]: row for row in Results(tmp_path / "results").rows()}
    assert [row["ending"] for row in rows.values()] == ["proven", "proven"]
    assert rows["default"]["speedup"] == pytest.approx(1.742, abs=0.001)
    assert rows["default"]["recorded"].startswith("recorded on NVIDIA H200, 2026-12-01")
    assert rows["large"]["speedup"] is None
    assert rows["large"]["timed_input"] == "default"
    assert rows["default"]["build_s"] > 0


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_every_process_and_keeps_what_is_finished(
    campaign: Write, tmp_path: Path, sent: signal.Signals
) -> None:
    file = campaign(evidence=("pc", "rl"), repetitions=20)
    process = start("run", str(file), start_new_session=True)
    results = Results(tmp_path / "results")
    until(lambda: results.keys() and courses())
    os.killpg(process.pid, sent)
    _, stderr = process.communicate(timeout=180)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    until(lambda: not courses(), 60)
    finished = results.keys()
    assert 0 < len(finished) < 40
    assert all(results.row(key)["key"] == key for key in finished)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_killed_at_twenty_moments_nothing_is_lost_or_repeated(campaign: Write, tmp_path: Path) -> None:
    import random

    file = campaign("accuracy", "sobol", evidence=("pc", "rl", "pc+rl", "pc+rl+ia", "ia"), repetitions=5)
    wanted = {each.key for each in Plan.of(read(file)).experiments}
    results = Results(tmp_path / "results")
    chance = random.Random(9)
    seen: dict[Path, tuple[int, bytes]] = {}
    for _ in range(20):
        process = start("run", str(file))
        count = len(results.keys())
        goal = min(len(wanted), count + chance.randint(0, 4))
        until(lambda goal=goal, process=process: len(results.keys()) >= goal or process.poll() is not None)
        try:
            process.communicate(timeout=chance.uniform(0, 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        until(lambda: not courses(), 30)
        now = set(map(results.place, results.keys()))
        for path, (changed, data) in seen.items():
            assert path in now, "a finished result was lost"
            assert path.stat().st_mtime_ns == changed, "a finished experiment was repeated"
            assert path.read_bytes() == data
        seen = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in now}
    assert optimas("run", str(file)).returncode == 0
    assert results.keys() == wanted
    assert all(path.stat().st_mtime_ns == changed for path, (changed, _) in seen.items())
    assert not list((tmp_path / "results").rglob("*.part"))


def test_a_plain_install_plans_and_exports_and_says_what_running_needs(campaign: Write, tmp_path: Path) -> None:
    file = campaign(evidence=("pc",))
    without = "import sys; sys.modules.update(dict.fromkeys(('parsl', 'scipy', 'pandas', 'pyarrow', 'sklearn')))\n"
    dataset = tmp_path / "dataset"

    def plain(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", without + MAIN, "campaign", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)

    assert "1 experiments" in plain("plan", str(file)).stdout
    assert plain("export", str(file), "-o", f"{dataset}.csv").returncode == 0
    assert plain("report", f"{dataset}.csv").returncode == 0
    for words, package in (
        (("run", str(file)), "parsl"),
        (("export", str(file), "-o", f"{dataset}.parquet"), "pyarrow"),
    ):
        done = plain(*words)
        assert done.returncode == 2
        assert f"needs the package {package}, which is not installed" in done.stderr
        assert "pip install 'optimas-lsp[campaign]'" in done.stderr
