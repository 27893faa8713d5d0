"""Proofs of one process share a witness that is built once; one that was changed never reaches a later proof."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove.bundle import pack
from optimas_lsp.prove.executors import local
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.executors.shared_witness import SharedWitness
from optimas_lsp.prove.runner import tools, witness
from optimas_lsp.prove.scratch import scratch
from optimas_lsp.prove.target import parse_target

ROOT = Path(__file__).parents[3]
ORDINARY = os.environ.get("PATH", os.defpath)
NVCC = """#!/bin/sh
case "$*" in *--version*) echo stand-in; exit;; esac
while [ "$1" != -o ]; do shift; done
echo ptx > "$2"
"""
GXX = """#!/bin/sh
echo built >> {log}
{failing}
while [ "$1" != -o ]; do shift; done
echo "a library made at $2" > "$2"
"""
READS = """#include <stdio.h>
#include <stdlib.h>
int main(void) {
    const char *given = getenv("CUDA_INJECTION64_PATH");
    FILE *library = fopen(given ? given : "/dev/null", "rb"), *seen = fopen("SEEN", "wb");
    if (!library || !seen) return 1;
    for (int byte; (byte = fgetc(library)) != EOF;) fputc(byte, seen);
    fclose(seen);
    FORGE
    puts("sum 42");
    return 0;
}
"""
FORGES = '{ FILE *shared = fopen("SHARED", "wb"); if (!shared) return 1; fputs("forged", shared); fclose(shared); }'
GATES = {"gates": ["static", "build", "determinism", "run", "compare"]}
HOLD = """
import sys
from pathlib import Path
from optimas_lsp.prove.executors.local import WITNESS
print(WITNESS.variables(Path(sys.argv[1]))["OPTIMAS_WITNESS"], flush=True)
sys.stdin.read()
"""


@dataclass
class Machine:
    """A machine whose nvidia-smi names a GPU, and what was built there."""

    folder: Path
    compiled: Path

    @property
    def builds(self) -> int:
        return len(self.compiled.read_text().splitlines()) if self.compiled.exists() else 0

    def compiler(self, failing: str = "") -> None:
        tool = self.folder / "bin" / "g++"
        tool.write_text(GXX.format(log=self.compiled, failing=failing), "utf-8")
        tool.chmod(0o755)

    def job(self, name: str, forge: Path | None = None) -> Path:
        """A program that keeps what it is given as witness; its rewrite may write to ``forge`` besides."""
        folder = self.folder / f"program-{name}"
        folder.mkdir()
        text = READS.replace("SEEN", str(self.seen(name)))
        (folder / "main.c").write_text(text.replace("FORGE", ""), "utf-8")
        ending = FORGES.replace("SHARED", str(forge)) if forge else "/* another one */"
        table = {"build": [["gcc", "-o", "build/main", "main.c"]], "inputs": {"default": ["build/main"]}}
        passed = {"status": "pass", "sentence": "every guardrail passed"}
        edited = {"main.c": text.replace("FORGE", ending).encode()}
        job = self.folder / f"job-{name}"
        pack(folder, parse_target(table, where="optimas.toml"), edited, job, kernels=[], static=passed, options=GATES)
        return job

    def seen(self, name: str) -> Path:
        return self.folder / f"seen-{name}"


@pytest.fixture
def gpu(tmp_path: Path, claimed_gpu: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine with a claimed GPU and a process that has proven nothing yet."""
    (tmp_path / "temporary").mkdir()
    for name, value in {**claimed_gpu, "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(ROOT)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(witness.CACHE, raising=False)
    monkeypatch.setattr("tempfile.tempdir", None)
    fresh = SharedWitness()
    monkeypatch.setattr(local, "WITNESS", fresh)
    yield Machine(tmp_path, tmp_path / "compiled")
    fresh.remove()


@pytest.fixture
def machine(gpu: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The same with a toolkit of stand-ins: what they make says where it was made."""
    home = gpu.folder / "cuda"
    for name, text in (("bin/nvcc", NVCC), ("include/cupti.h", ""), ("lib64/libcupti.so", "")):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, "utf-8")
    (home / "bin" / "nvcc").chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(home))
    gpu.compiler()
    return gpu


def proven(job: Path) -> dict[str, Any]:
    """The result of a proof made here. None passes: the programs do not use CUDA, so no witness is loaded."""
    Local().submit(job).collect()
    return json.loads((job / "result.json").read_text("utf-8"))


def built_own(result: dict[str, Any]) -> bool:
    return "witness build" in result["cost"]["copies"]["spent"]


def told(job: Path) -> str:
    events = [json.loads(line) for line in (job / "events.jsonl").read_text("utf-8").splitlines()]
    return "; ".join(event["text"] for event in events if event["stage"] == "witness")


def test_it_is_built_once_for_all_proofs_of_a_process(machine: Machine) -> None:
    first, second = machine.job("first"), machine.job("second")
    assert not built_own(proven(first))
    assert not built_own(proven(second))
    assert machine.builds == 1
    assert machine.seen("first").read_bytes() == machine.seen("second").read_bytes()
    assert b"optimas-scratch-witness-" in machine.seen("first").read_bytes()
    assert told(first) == told(second) == ""


def attacked(machine: Machine) -> tuple[bytes, bytes, dict[str, Any]]:
    """A candidate overwrites the shared witness: (what was built, what the next proof's runs got, its result)."""
    shared = Path(local.WITNESS.variables(machine.job("unused"))[witness.SHARED])
    genuine = shared.read_bytes()
    first, second = machine.job("first", forge=shared), machine.job("second")
    assert not built_own(proven(first))
    assert shared.read_bytes() == b"forged"
    result = proven(second)
    assert told(second) == "the witness that proofs share was changed, and is built anew for this one"
    return genuine, machine.seen("second").read_bytes(), result


def test_a_candidate_that_overwrites_it_is_found_out_by_the_next_proof(machine: Machine) -> None:
    genuine, given, result = attacked(machine)
    assert built_own(result)
    assert b"made at" in given
    assert str(machine.folder / "job-second" / "work" / "witness").encode() in given
    assert given != genuine


@pytest.mark.full
def test_the_real_one_is_built_anew_when_a_candidate_overwrote_it(
    gpu: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], ORDINARY]))
    try:
        witness.build(Path(witness.__file__).parents[1] / "witness", gpu.folder / "tried", tools.find("nvcc"))
    except witness.WitnessUnavailableError as error:
        pytest.skip(str(error))
    genuine, given, result = attacked(gpu)
    assert built_own(result)
    assert b"InitializeInjection" in given
    assert given == genuine, "the same sources and compiler make the same library"


def test_threads_that_ask_at_once_build_once(machine: Machine) -> None:
    job, start = machine.job("only"), threading.Barrier(4)

    def ask(_number: int) -> dict[str, str]:
        start.wait(100)
        return local.WITNESS.variables(job)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert machine.builds == 1
    assert all(each == answers[0] for each in answers)
    built = Path(answers[0][witness.SHARED])
    assert hashlib.sha256(built.read_bytes()).hexdigest() == answers[0][witness.SHARED_DIGEST]


def test_where_it_cannot_be_built_the_runner_says_why(machine: Machine) -> None:
    machine.compiler(failing="echo no such header; exit 1")
    first, second = machine.job("first"), machine.job("second")
    for job in (first, second):
        Local().submit(job).collect()
    assert machine.builds == 3, "here once, and by each runner"
    assert list((machine.folder / "temporary").iterdir()) == []
    result = json.loads((second / "result.json").read_text("utf-8"))
    assert "memory and kernel times: the witness could not be built: no such header" in result["not_checked"]


def test_without_a_gpu_with_a_cache_or_for_another_witness_none_is_built(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, other = machine.job("first"), machine.job("other")
    (other / "witness" / "digest.cu").write_text("another", "utf-8")
    assert local.WITNESS.variables(other) == {}
    with monkeypatch.context() as patch:
        patch.setenv(witness.CACHE, str(machine.folder / "cache"))
        assert local.WITNESS.variables(job) == {}
    (machine.folder / "bin" / "nvidia-smi").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    assert local.WITNESS.variables(job) == {}
    assert machine.builds == 0


def test_a_named_cache_serves_as_before(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(witness.CACHE, str(machine.folder / "cache"))
    first, second = machine.job("first"), machine.job("second")
    assert built_own(proven(first))
    assert not built_own(proven(second))
    assert machine.builds == 1
    assert str(machine.folder / "cache").encode() in machine.seen("second").read_bytes()


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _link(place: Path) -> None:
    place.with_name("elsewhere").write_bytes(b"library")
    place.symlink_to(place.with_name("elsewhere"))


def _huge(place: Path) -> None:
    with place.open("wb") as stream:
        stream.truncate(65 << 20)


@pytest.mark.parametrize("replace", [_pipe, _link, _huge, lambda _place: None], ids=["pipe", "link", "huge", "gone"])
def test_what_is_no_plain_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: Callable[[Path], None]
) -> None:
    place = tmp_path / "libwitness.so"
    monkeypatch.setenv(witness.SHARED, str(place))
    monkeypatch.setenv(witness.SHARED_DIGEST, hashlib.sha256(b"library").hexdigest())
    replace(place)
    copy, why = witness.shared(tmp_path / "copy")
    assert copy is None
    assert "cannot be taken" in why
    if replace is not _huge:
        place.unlink(missing_ok=True)
        place.write_bytes(b"library")
        copy, why = witness.shared(tmp_path / "copy")
        assert (copy, why) == (tmp_path / "copy" / "libwitness.so", "")


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_it_goes_with_its_process(machine: Machine, killed: bool) -> None:
    command = [sys.executable, "-c", HOLD, str(machine.job("only"))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    built = Path(process.stdout.readline().strip())
    with scratch("proof"):
        assert built.is_file(), "the folder of a living process is left alone"
    if killed:
        process.kill()
    process.communicate(timeout=180)
    if killed:
        assert built.is_file()
        with scratch("proof"):
            assert not built.exists()
    assert list((machine.folder / "temporary").iterdir()) == []
