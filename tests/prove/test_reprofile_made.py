"""A whole proof with a re-profile, made by the real runner: what is taken, sealed, read, compared and kept.

There is no GPU: ncu is a stand-in that copies two real reports (one kernel on an H200, before and after a change), so
this tries the way of the reports and proves nothing, as the verdict says.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.course import Program
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.target import parse_target
from optimas_lsp.rewrite.backends.embedded import CatalogueBackend
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.prompt import build_prompt

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "tests" / "insight" / "reports"
NCU = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
report=$2
while [ "$1" != sh ]; do shift; done
"$@" || exit
case $PWD in */candidate) cp {after} "$report";; *) cp {before} "$report";; esac
"""

pytest.importorskip("ncu_report", reason="pip install ncu-report to read .ncu-rep files")


@pytest.fixture
def machine(tmp_path: Path, profile_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    smi = '#!/bin/sh\ncase "$*" in *name,driver*) echo "No device, 1.0, GPU-none";; esac\n'
    ncu = NCU.format(before=REPORTS / "adjacent-before.ncu-repz", after=REPORTS / "adjacent-after.ncu-repz")
    for name, text in (("nvidia-smi", smi), ("ncu", ncu)):
        (folder / name).write_text(text, "utf-8")
        (folder / name).chmod(0o755)
    for tool in ("sh", "cp", "true", "unshare", "sleep"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("CUDA_HOME", "")
    monkeypatch.setenv("CUDA_PATH", "")
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(profile_cache))


@pytest.mark.usefixtures("machine")
def test_the_reports_of_a_proof_are_read_compared_and_kept(tmp_path: Path) -> None:
    place = tmp_path / "adjacent"
    place.mkdir()
    shutil.copy(ROOT / "samples" / "adjacent" / "adjacent.cu", place)
    script = "case $PWD in */candidate) sleep 0.05;; *) sleep 0.25;; esac; echo sum 42\n"
    (place / "run.sh").write_text(script, "utf-8")
    settings = Settings.model_validate({"prove": {"reprofile": True, "minimum_pairs": 3, "maximum_pairs": 3}})
    program = Program.of(place / "adjacent.cu", place, settings=settings)
    subject = program.subject(ROOT / "samples" / "adjacent" / "profile.ncu-repz", "")
    backend = CatalogueBackend(subject)
    backend._listed = frozenset(build_prompt(subject).evidence)
    proposal = backend.candidates[0].proposal
    candidate = Candidate.of(program.source.read_bytes(), proposal, path=program.source)
    run = {"inputs": {"default": ["sh", "run.sh"]}, "build": [["true"]]}
    reports = tmp_path / "reports"
    reports.mkdir()
    gates = ("static", "build", "determinism", "run", "compare", "time", "plausible", "reprofile", "provenance")
    prover = Prover(
        place, subject, parse_target(run, where="optimas.toml"), Local(), settings=settings, reports=reports
    )
    proof = asyncio.run(prover.prove(candidate, Verdict(accepted=True, rules=())))
    found = {gate["name"]: gate for gate in proof.details["gates"]}
    assert set(gates) <= set(found)
    assert found["reprofile"]["status"] == "pass", found["reprofile"]["sentence"]
    cited = sorted({each for change in proposal.changes for each in change.evidence})
    assert f"of {len(cited)} cited finding" in found["reprofile"]["sentence"]
    assert {line.split()[0] for line in found["reprofile"]["facts"]["cited"]} == set(cited)
    assert proof.compared is not None
    assert proof.compared["schema"] == "optimas.compare/1"
    assert proof.compared["kernels"][0]["speedup"] == pytest.approx(3.95, abs=0.1)
    kept = prover.report_of(candidate.sha256)
    assert kept is not None
    assert kept.read_bytes() == (REPORTS / "adjacent-after.ncu-repz").read_bytes()
    assert proof.state == "not-proven", "there is no witness here, and a profile replaces none"
