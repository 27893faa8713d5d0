"""Rounds after rounds: a scripted prover says who is proven, real reports stand for what it would profile."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from optimas_lsp.cli.optimize import as_text
from optimas_lsp.config import Settings
from optimas_lsp.course import Course, Request
from optimas_lsp.course.rounds import run_rounds, share_of_ceiling
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.target import parse_target
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.edits import apply
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.source.text import SourceText

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "adjacent"
REPORT = SAMPLE / "profile.ncu-repz"


@dataclass(frozen=True)
class Scripted(Prover):
    """Proves as ``states`` says, in turn, and keeps ``profiles`` as what it profiled; nothing is run."""

    states: ClassVar[list[str]] = []
    profiles: ClassVar[list[Path | None]] = []
    asked: ClassVar[list[tuple[Path, bytes]]] = []

    async def prove(self, candidate: Candidate, verdict: Verdict) -> Proof:
        number = len(self.asked)
        self.asked.append((self.folder, candidate.edited))
        assert (self.folder / self.subject.source.name).read_bytes() == candidate.original
        profile = self.profiles[number] if number < len(self.profiles) else None
        if profile is not None and self.reports is not None:
            shutil.copy(profile, self.reports / f"{candidate.sha256}.ncu-rep")
        gates = [{"name": "reprofile", "sentence": "ncu was not found on this machine"}]
        state = self.states[number]
        return Proof.model_validate(
            {"state": state, "sentence": f"{state}, number {number + 1}", "details": {"gates": gates}}
        )


Make = Callable[..., Course]


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    folder = tmp_path / "adjacent"
    folder.mkdir()
    shutil.copy(SAMPLE / "adjacent.cu", folder)
    text = (SAMPLE / "optimas.toml").read_text("utf-8")
    build = next(line for line in text.splitlines() if line.startswith("build ="))
    (folder / "optimas.toml").write_text(text.replace(build, 'build = [["cp", "adjacent.cu", "built"]]'), "utf-8")

    def of(_cls: type, where: Path, subject: Subject, _place: object, settings: Settings) -> Prover:
        target = parse_target({"build": [["true"]], "inputs": {"default": ["built"]}}, where="optimas.toml")
        return Scripted(where, subject, target, Local(), settings=settings)

    monkeypatch.setattr(Prover, "of", classmethod(of))

    def make(states: list[str], profiles: list[Path | None], **search: Any) -> Course:
        monkeypatch.setattr(Scripted, "states", states)
        monkeypatch.setattr(Scripted, "profiles", profiles)
        monkeypatch.setattr(Scripted, "asked", [])
        settings = Settings.model_validate({"search": {"candidates": 1, "rounds": 3, **search}})
        request = Request(
            source=folder / "adjacent.cu", profile=REPORT, folder=folder, settings=settings.model_dump(), past="ignore"
        )
        return Course.of(request)

    return make


def run(course: Course) -> Rewriting:
    return asyncio.run(course.run())


def test_each_round_starts_from_the_winner_and_the_whole_is_proven_against_the_original(course: Make) -> None:
    made = course(["proven", "proven", "proven"], [REPORT, REPORT], rounds=2)
    found = run(made)
    assert [each.status for each in found.rounds] == ["candidate", "candidate"]
    first, second = found.rounds
    assert (first.parent, second.parent) == ("", first.base_sha256)
    assert first.edited is not None
    assert (Scripted.asked[0][0], Scripted.asked[2][0]) == (made.program.folder, made.program.folder)
    assert Scripted.asked[1][0] != made.program.folder, "later rounds work in a copy"
    assert second.edited is not None
    assert second.edited != first.edited
    assert found.edited == second.edited
    assert Scripted.asked[2][1] == second.edited.encode(), "the whole change against the original"
    original = SourceText.of((made.program.folder / "adjacent.cu").read_text("utf-8"))
    assert apply(original, found.edits).text == found.edited
    assert found.proof is not None
    assert found.proof.sentence == "proven, number 3"
    assert found.sentence == "a rewrite of adjacent_kernel in 2 rounds; proven, number 3"
    assert found.ended == "all 2 rounds were made"
    assert found.diff.startswith("--- a/adjacent.cu")
    text = as_text(found)
    assert "round 1  candidate: a rewrite of adjacent_kernel is proven, number 1" in text
    assert "ended    all 2 rounds were made" in text
    assert found.diff.rstrip() in text
    assert all(each.scores is not None for each in found.rounds)
    assert found.scores is not None
    assert found.scores["citations"]["coverage"]["why_not"].startswith("the change is of several rounds")
    assert found.scores["localisation"]["hot_samples"]["value"] is not None
    assert (found.explanation[0], found.explanation[-1].partition(":")[0]) == ("Round 1", "Effect")
    assert Rewriting.model_validate_json(found.model_dump_json(by_alias=True)) == found


def test_gains_that_vanish_end_it_with_the_first_winner(course: Make) -> None:
    found = run(course(["proven", *["refuted"] * 20], [REPORT]))
    assert found.ended.startswith("round 2 brought nothing that was proven: ")
    assert found.status == "candidate"
    assert found.proof is not None
    assert found.proof.sentence == "proven, number 1"
    assert [each.status for each in found.rounds] == ["candidate", "refuted"]
    assert found.edited == found.rounds[0].edited


def test_a_whole_that_is_refuted_leaves_the_first_winner(course: Make) -> None:
    found = run(course(["proven", "proven", "refuted"], [REPORT, REPORT], rounds=2))
    assert found.proof is not None
    assert found.proof.sentence == "proven, number 1"
    assert found.edited == found.rounds[0].edited
    assert "the change of 2 rounds was not proven whole, so that of the first stands: refuted, number 3" in found.ended


def test_without_a_new_profile_there_is_no_next_round_and_the_reason_is_said(course: Make) -> None:
    found = run(course(["proven"], [None]))
    assert found.rounds == ()
    assert found.ended == (
        "there is no profile of the winner of round 1 to go on from: ncu was not found on this machine"
    )
    assert found.status == "candidate"


def test_a_first_round_without_a_winner_is_the_only_one(course: Make) -> None:
    found = run(course(["refuted"] * 20, []))
    assert found.rounds == ()
    assert found.ended.startswith("round 1 brought nothing that was proven")
    assert found.edited is None


def test_near_the_ceiling_no_further_round_is_made(course: Make) -> None:
    reached = share_of_ceiling(course([], []).subject.kernel)
    assert reached is not None
    assert 0 < reached < 0.3
    found = run(course(["proven"], [REPORT], near_ceiling=reached * 0.99))
    assert found.ended == f"the ceiling is near: {reached:.0%} of what the roofline allows for the winner's work"


def test_the_budget_ends_the_rounds(course: Make) -> None:
    made = course(["proven"] * 3, [REPORT], budget_seconds=100)
    found = asyncio.run(run_rounds(made, lambda _stage, _words: None, clock=lambda: 60.0 * len(Scripted.asked)))
    assert [each.status for each in found.rounds] == ["candidate", "candidate"]
    assert found.ended.startswith("the budget of 100 s was used up")


def test_a_profile_that_cannot_be_read_ends_it_with_a_sentence(course: Make, tmp_path: Path) -> None:
    broken = tmp_path / "broken.ncu-rep"
    broken.write_text("this is no report")
    found = run(course(["proven"], [broken]))
    assert found.ended.startswith("round 2 could not begin: ")
    assert found.status == "candidate"


def test_what_ncu_is_told_is_part_of_what_is_consented_to(course: Make) -> None:
    commands = [command for action in course([], []).actions for command in getattr(action, "commands", ())]
    [profiled] = [command for command in commands if command[0] == "ncu"]
    assert profiled[-1] == "built"
    assert "regex:^(_Z15adjacent_kernel" in " ".join(profiled)


def test_progress_says_which_round_it_is(course: Make) -> None:
    words: list[str] = []
    made = course(["proven"], [None])
    asyncio.run(made.run(lambda _stage, said: words.append(said)))
    assert words
    assert all(each.startswith("round 1 of 3: ") for each in words)


def test_nothing_of_the_rounds_is_left(course: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    run(course(["proven", "proven", "proven"], [REPORT, REPORT], rounds=2))
    assert list(scratch.iterdir()) == []
