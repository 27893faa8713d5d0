"""A tournament with the real runner and real processes: programs that sleep, timed by the wall clock.

There is no GPU and so no witness: everything is measured, and nothing can be proven.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from pathlib import Path

import pytest
from rewriting_samples import program
from test_optimize import profile, task_of

from optimas_lsp.config import Settings
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.building import ScratchBuilder
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.target import parse_target
from optimas_lsp.rewrite.backends.embedded import CatalogueBackend
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.optimize import Rules, optimize

__all__ = ["profile"]

TOOLS = ("sh", "env", "sleep", "true", "unshare", "sha256sum", "cp", "echo")
SECONDS = {"first": 0.3, "best": 0.1, "worst": 0.5}
ORIGINAL = 0.6
"""Far enough apart for a busy machine to keep them apart."""


@pytest.fixture
def claimed_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose nvidia-smi names a GPU, so that the gates that run the program do so."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "nvidia-smi"
    script.write_text('#!/bin/sh\ncase "$*" in *name,driver*) echo "No device, 1.0, GPU-none";; esac\n', "utf-8")
    script.chmod(0o755)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "")


def sleeping(source: Path, backend: CatalogueBackend) -> None:
    """run.sh: each of the first candidates takes its time, the original more."""
    lines = ["#!/bin/sh", "case $(sha256sum < accuracy.cu) in"]
    for seconds, one in zip(SECONDS.values(), backend.candidates, strict=False):
        edited = Candidate.of(source.read_bytes(), one.proposal, path=source).edited
        lines.append(f"{hashlib.sha256(edited).hexdigest()}*) sleep {seconds};;")
    lines += [f"*) sleep {ORIGINAL};;", "esac", "echo sum 42"]
    (source.parent / "run.sh").write_text("\n".join(lines), "utf-8")


@pytest.mark.full
@pytest.mark.usefixtures("claimed_gpu")
def test_the_fastest_goes_to_the_final_and_the_worst_stops_early(tmp_path: Path, profile: Profile) -> None:
    source = program(tmp_path, [["true"]])
    task = task_of(source, profile, search=True, attempts=12)
    backend = CatalogueBackend(task.subject)
    backend._listed = frozenset(task.prompt.evidence)
    sleeping(source, backend)
    target = parse_target(
        {"build": [["cp", "accuracy.cu", "built"]], "inputs": {"default": ["sh", "run.sh"]}}, where="optimas.toml"
    )
    quick = Settings.model_validate({"prove": {"minimum_pairs": 6, "maximum_pairs": 6}})
    prover = Prover(source.parent, task.subject, target, Local(), settings=quick)
    builder = ScratchBuilder.of(source.parent, source, profile)
    found = asyncio.run(
        optimize(task, backend, builder, prove=prover.prove, screen=prover.screen, rules=Rules(candidates=len(SECONDS)))
    )
    first, best, worst = found.attempts
    assert worst.screened is not None
    assert worst.screened.gain is not None
    assert worst.screened.gain.stopped_early
    assert worst.screened.sentence.startswith("a short proof, which only compares candidates: stopped early: ")
    assert "clearly less than the best so far" in worst.screened.sentence
    assert worst.problem == f"not chosen: clearly slower than try {best.number}, so it was ended early"
    assert first.problem
    assert found.chosen == best.number
    assert best.screened is not None
    gates = {gate["name"]: gate["status"] for gate in best.screened.details["gates"]}
    assert (gates["compare"], gates["time"]) == ("pass", "pass")
    assert (gates["sanitize"], gates["plausible"]) == ("skipped", "skipped"), "a short proof proves nothing"
    assert best.proof is not None
    assert best.proof.details["job"] != best.screened.details["job"], "a fresh job decides"
    assert best.proof.details["timing"]["pairs"] == 6
    assert best.proof.gain is not None
    assert best.proof.gain.low > 2
    assert best.proof.state == "not-proven"
    assert "not proven" in found.sentence
    assert any("the witness needs nvcc" in each for each in best.proof.details["not_checked"])
