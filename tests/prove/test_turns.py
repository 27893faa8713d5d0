"""Concurrent proofs take turns on a GPU: timings alone, the rest together; each GPU has its own turns."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove.runner import tools

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from optimas_lsp.prove.runner import tools
with tools.gpu_turn(sys.argv[1] == "alone", sys.argv[2]):
    print("in", flush=True)
    sys.stdin.read()
"""
Holder = Callable[[str, str], "subprocess.Popen[str]"]


@pytest.fixture
def gpu() -> Iterator[str]:
    """The name of a GPU that only this test knows."""
    uuid = f"GPU-test-{secrets.token_hex(8)}"
    yield uuid
    for lock in Path("/tmp").glob(f"optimas-gpu-{uuid}*.lock"):
        lock.unlink()


@pytest.fixture
def holds() -> Iterator[Holder]:
    started: list[subprocess.Popen[str]] = []

    def start(how: str, uuid: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, how, uuid]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def entered(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "in\n"


def waits(pid: int) -> bool:
    """Whether the kernel has this process waiting for a lock."""
    lines = Path("/proc/locks").read_text("utf-8").splitlines()
    return any(" -> " in line and f" {pid} " in line for line in lines)


def until(condition: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(1500):
        if condition():
            return
        tick.wait(0.02)
    raise AssertionError("it did not happen within 30 s")


@pytest.mark.parametrize(("first", "second"), [("alone", "alone"), ("alone", "together"), ("together", "alone")])
def test_who_is_alone_is_alone(holds: Holder, gpu: str, first: str, second: str) -> None:
    one = holds(first, gpu)
    assert entered(one)
    two = holds(second, gpu)
    until(lambda: waits(two.pid))
    one.communicate("", timeout=180)
    assert entered(two)


def test_who_times_nothing_goes_together_and_another_gpu_is_free(holds: Holder, gpu: str) -> None:
    assert entered(holds("together", gpu))
    assert entered(holds("together", gpu))
    assert entered(holds("alone", f"{gpu}-2"))


def test_a_killed_process_gives_its_turn_back(holds: Holder, gpu: str) -> None:
    one, two = holds("alone", gpu), None
    assert entered(one)
    two = holds("alone", gpu)
    until(lambda: waits(two.pid))
    one.kill()
    assert entered(two)


def test_a_proof_waits_for_its_turn_before_it_runs_anything_and_tells_for_how_long(
    packed: Any, claimed_gpu: dict[str, str], gpu: str, tmp_path: Path
) -> None:
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.write_text(smi.read_text("utf-8").replace("GPU-none", gpu), "utf-8")
    ran = tmp_path / "ran"
    text = f'#include <stdio.h>\nint main(void) {{ fclose(fopen("{ran}", "a")); puts("sum 42"); return 0; }}\n'
    job = packed(text, text + "\n", options={"timing": {"min_pairs": 2, "max_pairs": 2}})
    job.environment = claimed_gpu
    with tools.gpu_turn(True, gpu):
        process = job.start()
        until(lambda: waits(process.pid))
        assert not ran.exists()
    process.communicate(timeout=100)
    assert ran.exists()
    assert job.result["cost"]["runs"]["spent"]["waiting"]["seconds"] > 0


def test_proofs_at_once_share_nothing_but_the_gpu(packed: Any, claimed_gpu: dict[str, str], tmp_path: Path) -> None:
    text = """#include <stdio.h>
#include <stdlib.h>
int main(void) {
    char name[4096];
    snprintf(name, sizeof name, "%s/mine", getenv("TMPDIR"));
    if (fopen(name, "r")) { puts("somebody was here"); return 1; }
    fputs(MARK, fopen(name, "w"));
    puts(MARK);
    return 0;
}
"""
    jobs = []
    for number in (1, 2):
        marked = f'#define MARK "{number}"\n{text}'
        job = packed(marked, marked + "\n", options={"timing": {"min_pairs": 2, "max_pairs": 2}})
        job.folder = job.folder.rename(tmp_path / f"job-{number}")
        job.environment = claimed_gpu
        jobs.append(job)
    running = [job.start() for job in jobs]
    for process in running:
        _, said = process.communicate(timeout=100)
        assert b"Traceback" not in said
    for job in jobs:
        assert job.gate("compare")["status"] == "pass"
        assert not (job.folder / "work").exists()
    assert jobs[0].result["job"] != jobs[1].result["job"]
