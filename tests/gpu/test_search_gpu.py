"""A tournament and its rounds on the GPU at hand: candidates race, the winner is proven afresh and profiled again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.gpu.needs import needs

pytestmark = needs("ncu", "nvcc", seconds=900)

ROOT = Path(__file__).parents[2]


def run(folder: Path, *words: str) -> dict[str, Any]:
    """What a command says as JSON, with folders of its own for state, data and cache."""
    entry = "import sys; from optimas_lsp.cli import main; sys.exit(main())"
    private = {f"OPTIMAS_{name}_DIR": str(folder / name.lower()) for name in ("STATE", "DATA", "CACHE")}
    environment = {**os.environ, **private, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", entry, *words, "--accept", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode in {0, 1}, done.stderr
    return json.loads(done.stdout)


def optimize(sample: str, folder: Path, *options: str) -> dict[str, Any]:
    place = folder / sample
    shutil.copytree(ROOT / "samples" / sample, place, ignore=shutil.ignore_patterns("build", "outcomes.json"))
    [report] = place.glob("profile.ncu-rep*")
    return run(folder, "optimize", str(place / f"{sample}.cu"), "--profile", str(report), *options)


def test_the_winner_of_a_race_is_proven_by_a_job_of_its_own(tmp_path: Path) -> None:
    found = optimize("adjacent", tmp_path, "--candidates", "3", "--reprofile")
    assert found["status"] == "candidate", found["sentence"]
    assert found["proof"]["state"] == "proven", found["sentence"]
    timed = [each for each in found["attempts"] if each["screened"]]
    assert len(timed) >= 2
    assert all(each["screened"]["state"] != "proven" for each in timed)
    [won] = [each for each in found["attempts"] if each["number"] == found["chosen"]]
    assert won["proof"]["details"]["job"] != won["screened"]["details"]["job"]
    assert won["proof"]["details"]["timing"]["source"] == "cupti"
    gates = {gate["name"]: gate for gate in won["proof"]["details"]["gates"]}
    assert gates["reprofile"]["status"] == "pass", gates["reprofile"]["sentence"]
    assert gates["reprofile"]["facts"]["cited"]
    [kernel] = [each for each in found["compared"]["kernels"] if each["name"] == "adjacent_kernel"]
    assert kernel["time"]["moved"] == "down"


def test_rounds_go_on_from_the_winner_and_prove_the_whole(tmp_path: Path) -> None:
    found = optimize("accuracy", tmp_path, "--candidates", "2", "--rounds", "2")
    assert found["proof"]["state"] == "proven", found["sentence"]
    assert found["ended"]
    assert "no profile of the winner" not in found["ended"]
    if found["rounds"]:
        assert found["rounds"][1]["parent"] == found["rounds"][0]["base_sha256"]


def test_each_input_is_won_tied_or_lost(tmp_path: Path) -> None:
    won = optimize("adjacent", tmp_path, "--candidates", "1")
    [attempt] = [each for each in won["attempts"] if each["number"] == won["chosen"]]
    proposal = tmp_path / "proposal.json"
    proposal.write_text(json.dumps(attempt["reply"]["outcome"]), "utf-8")
    place = tmp_path / "adjacent"
    words = ("prove", str(place / "adjacent.cu"), "--profile", str(place / "profile.ncu-repz"))
    proof = run(tmp_path, *words, "--proposal", str(proposal), "--inputs", "all")
    assert proof["verdict"] == "proven", proof["sentence"]
    assert len(proof["inputs"]) == 3
    assert {each["result"] for each in proof["inputs"]} <= {"wins", "ties", "loses"}
