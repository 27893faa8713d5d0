"""A rewrite in a process of its own: progress, consent and outcome as lines; a closed pipe ends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "adjacent"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "adjacent"
    place.mkdir()
    for name in ("adjacent.cu", "optimas.toml", "profile.ncu-repz"):
        shutil.copy(SAMPLE / name, place)
    return place


def request(folder: Path, **more: Any) -> dict[str, Any]:
    return {"source": str(folder / "adjacent.cu"), "profile": str(folder / "profile.ncu-repz"), **more}


class Process:
    def __init__(self, state: Path, asked: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "optimas_lsp.course"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPTIMAS_STATE_DIR": str(state)},
        )
        self.say(json.dumps(asked))

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def lines(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def until(self, *kinds: str) -> dict[str, Any]:
        return next(each for each in self.lines() if each["kind"] in kinds)


def test_a_rewrite_without_a_build_needs_no_consent(folder: Path, tmp_path: Path) -> None:
    course = Process(tmp_path / "state", request(folder, build=False))
    seen = list(course.lines())
    assert course.process.wait(60) == 0
    assert [each["stage"] for each in seen[:-1]] == ["select", "propose", "guard"]
    outcome = seen[-1]["outcome"]
    assert outcome["status"] == "candidate"
    assert outcome["analysis"]["base_name"] == "adjacent_kernel"
    assert outcome["device"]["name"] == "NVIDIA H200"
    assert outcome["edits"]
    assert outcome["scores"]["schema"] == "optimas.ear/1"
    assert outcome["scores"]["localisation"]["lines_from"] == "report"
    assert outcome["scores"]["citations"]["precision"]["value"] == 1.0
    assert outcome["explanation"][0].startswith("1. ")
    assert outcome["explanation"][-1].startswith("Effect: Not timed: not proven")


def test_a_recorded_proof_needs_no_build_because_it_runs_nothing(folder: Path, tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "outcomes.json", folder)
    settings = {"prove": {"executor": "recorded", "records": "."}, "corpus": {"enable": False}}
    course = Process(tmp_path / "state", request(folder, build=False, settings=settings))
    seen = list(course.lines())
    assert course.process.wait(60) == 0
    stages = [each["stage"] for each in seen[:-1]]
    assert "prove" in stages
    assert "compile" not in stages
    assert seen[-1]["outcome"]["proof"]["state"] == "proven"
    assert "recorded on NVIDIA H200" in seen[-1]["outcome"]["proof"]["details"]["recorded"]


def test_only_the_named_transformation_is_tried(folder: Path, tmp_path: Path) -> None:
    course = Process(tmp_path / "state", request(folder, build=False, transformation="restrict-pointers"))
    outcome = course.until("outcome")["outcome"]
    changes = outcome["attempts"][-1]["reply"]["outcome"]["changes"]
    assert {each["transformation"] for each in changes} == {"restrict-pointers"}


def test_building_asks_first_and_a_no_runs_nothing(folder: Path, tmp_path: Path) -> None:
    course = Process(tmp_path / "state", request(folder))
    asked = course.until("consent")
    assert asked["folder"] == str(folder)
    assert "nvcc" in asked["actions"][0]["sentence"]
    course.say("no")
    assert course.until("error", "outcome")["what"] == "this was not accepted, so nothing was sent or run"
    assert not (tmp_path / "state").exists()


def test_a_closed_pipe_ends_it(folder: Path, tmp_path: Path) -> None:
    course = Process(tmp_path / "state", request(folder))
    course.until("consent")
    assert course.process.stdin is not None
    course.process.stdin.close()
    assert [each["kind"] for each in course.lines()] == ["error"]
    assert course.process.wait(60) == 0


def test_what_is_wrong_is_said_with_place_and_remedy(folder: Path, tmp_path: Path) -> None:
    course = Process(tmp_path / "state", request(folder, kernel="nothing_like_this", build=False))
    error = course.until("error", "outcome")
    assert error["type"] == "KernelChoiceError"
    assert "adjacent_kernel" in error["remedy"]


def test_an_unknown_finding_is_said_with_those_there_are(folder: Path, tmp_path: Path) -> None:
    course = Process(tmp_path / "state", request(folder, finding="PC-99", build=False))
    assert "PC-1" in course.until("error", "outcome")["remedy"]
