"""The proof at the end of a rewrite: made by the real runner here, without a GPU, and cancelled with everything."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from rewriting_samples import ACCURACY, GOOD, program
from test_optimize import profile, task_of

from optimas_lsp.course import Course, Request
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.building import ScratchBuilder
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.executors.outcome import Running
from optimas_lsp.prove.executors.recorded import Recorded
from optimas_lsp.prove.executors.ssh import Ssh
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.target import parse_target
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.outcome import Proof
from optimas_lsp.rewrite.parse import parse_answer
from optimas_lsp.rewrite.proposal import Proposal

__all__ = ["profile"]

ACCEPTED = Verdict(accepted=True, rules=())


def prepared(folder: Path, profile: Profile, *build: str) -> tuple[Prover, Candidate]:
    source = program(folder)
    target = parse_target({"build": [list(build)], "inputs": {"default": ["./built"]}}, where="optimas.toml")
    proposal = parse_answer(GOOD)
    assert isinstance(proposal, Proposal)
    candidate = Candidate.of(source.read_bytes(), proposal, path=source)
    return Prover(source.parent, task_of(source, profile).subject, target, Local()), candidate


def test_a_build_that_fails_in_the_proof_refutes_with_its_gate(tmp_path: Path, profile: Profile) -> None:
    prover, candidate = prepared(tmp_path, profile, "python3", "-c", "raise SystemExit('no such compiler')")
    proof = asyncio.run(prover.prove(candidate, ACCEPTED))
    assert isinstance(proof, Proof)
    assert proof.state in {"refuted", "not-proven"}
    assert "build" in proof.sentence
    gates = {gate["name"]: gate["status"] for gate in proof.details["gates"]}
    assert gates["static"] == "pass"


def test_a_file_that_is_no_part_of_the_program_is_not_proven_with_the_reason(tmp_path: Path, profile: Profile) -> None:
    prover, candidate = prepared(tmp_path, profile, "true")
    (prover.folder / "accuracy.cu").unlink()
    proof = asyncio.run(prover.prove(candidate, ACCEPTED))
    assert proof.state == "not-proven"
    assert "accuracy.cu" in proof.sentence


def test_cancelling_ends_every_process_of_the_proof(tmp_path: Path, profile: Profile) -> None:
    started = tmp_path / "started"
    slow = f"import time; open({str(started)!r}, 'w').write('x'); time.sleep(300)"

    async def cancel() -> float:
        prover, candidate = prepared(tmp_path, profile, "python3", "-c", slow)
        running = asyncio.create_task(prover.prove(candidate, ACCEPTED))
        while not started.exists():  # noqa: ASYNC110 - a file tells nobody that it is there
            await asyncio.sleep(0.02)
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return time.monotonic() - began

    assert asyncio.run(cancel()) < 25
    left = [each for each in psutil.Process().children(recursive=True) if slow in " ".join(each.cmdline())]
    assert left == []


class Sluggish:
    """A place whose start takes until it is released; it must not be waited for on the event loop."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()
        self.cancelled: list[Path] = []

    def submit(self, job: Path) -> Running:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        self.asked.set()
        assert self.released.wait(100)
        running: Any = SimpleNamespace(cancel=lambda: self.cancelled.append(job))
        return running


def test_what_is_cancelled_while_it_starts_is_ended_once_it_has_started(tmp_path: Path, profile: Profile) -> None:
    place = Sluggish()

    async def cancel() -> None:
        prover, candidate = prepared(tmp_path, profile, "true")
        proving = asyncio.create_task(replace(prover, executor=place).prove(candidate, ACCEPTED))
        assert await asyncio.to_thread(place.asked.wait, 100)
        proving.cancel()
        await asyncio.sleep(0)
        assert not proving.done()
        place.released.set()
        with pytest.raises(asyncio.CancelledError):
            await proving

    asyncio.run(cancel())
    assert len(place.cancelled) == 1


def test_without_a_target_or_a_gpu_there_is_no_prover(tmp_path: Path, profile: Profile) -> None:
    source = program(tmp_path)
    (source.parent / "optimas.toml").unlink()
    assert Prover.of(source.parent, task_of(source, profile).subject, Local()) is None


def test_without_a_target_a_candidate_is_built_as_the_programs_makefile_does_it(
    tmp_path: Path, profile: Profile
) -> None:
    source = program(tmp_path)
    (source.parent / "optimas.toml").unlink()
    assert ScratchBuilder.of(source.parent, source, profile).commands[0][0] == "nvcc"
    (source.parent / "Makefile").write_text("accuracy: accuracy.cu\n\tnvcc -Iinclude -o $@ $<\n", "utf-8")
    builder = ScratchBuilder.of(source.parent, source, profile)
    assert builder.commands == (("make", "accuracy"),)
    assert builder.why == "Makefile makes the program accuracy of accuracy.cu"


def test_an_inferred_target_is_said_with_what_is_to_be_accepted(tmp_path: Path, profile: Profile) -> None:
    source = program(tmp_path)
    (source.parent / "optimas.toml").unlink()
    prover = Prover.of(source.parent, task_of(source, profile).subject, Ssh("cluster"))
    assert prover is not None
    assert prover.action is not None
    assert "accuracy.cu defines main; no build file is about it" in prover.action.sentence()
    assert "on cluster, where the folder is copied to" in prover.action.sentence()


def test_a_rewrite_of_a_kernel_without_a_program_says_what_a_proof_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    source = program(tmp_path)
    (source.parent / "optimas.toml").unlink()
    source.write_text(source.read_text("utf-8").replace("int main(", "int program("), "utf-8")
    settings = {"prove": {"executor": "ssh", "host": "cluster"}, "corpus": {"enable": False}}
    course = Course.of(Request(source=source, profile=ACCURACY.report, settings=settings))
    assert course.prover is None
    assert "no file beside accuracy.cu defines main; write or name a program that runs the kernel" in course.unproven
    assert not any(action.kind == "run" and "proof" in action.why for action in course.actions)


def test_later_whole_proofs_of_one_search_need_a_higher_confidence(tmp_path: Path, profile: Profile) -> None:
    """Equal candidates, proven until one passes by chance, pass twice as often as one alone, however many there are."""
    prover, _ = prepared(tmp_path, profile, "true")
    allowed = [1 - prover.of_number(number).settings.prove.confidence for number in range(1, 200)]
    assert allowed[0] == pytest.approx(0.05)
    assert allowed[1] == pytest.approx(0.025)
    assert 0.09 < sum(allowed) < 0.1
    assert replace(prover, executor=Recorded(tmp_path)).of_number(9).settings.prove.confidence == 0.95
