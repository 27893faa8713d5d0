"""The logic of a tournament, with scripted provers: who is compared, who is proven, what is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from dialects import openai_answer
from rewriting_samples import GOOD, UNDECLARED, answer, program
from test_optimize import backend_at, profile, task_of
from wire_server import serving

from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.building import ScratchBuilder
from optimas_lsp.rewrite.backends.embedded import CatalogueBackend
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.optimize import Rules, optimize
from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.rewrite.tournament import Screen

__all__ = ["profile"]


def short(low: float, high: float, *, early: bool = False) -> Proof:
    times = {"speedup": (low + high) / 2, "low": low, "high": high}
    details = {"timing": {"program_s": times, "stopped": "race" if early else "tight"}}
    return Proof(state="not-proven", sentence=f"short proof: {low} to {high}", details=details)


WRONG = Proof(state="refuted", sentence="rejected by compare: differs")
PROVEN = Proof(state="proven", sentence="proven: 1.41 to 1.45 times shorter")


class Scripted:
    """Provers that follow a script, and what they were asked."""

    def __init__(self, shorts: list[Proof], wholes: list[Proof]) -> None:
        self.shorts, self.wholes = list(shorts), list(wholes)
        self.best: list[float | None] = []
        self.screened: list[bytes] = []
        self.proven: list[bytes] = []

    async def screen(self, candidate: Candidate, _verdict: Verdict, best: float | None) -> Proof:
        self.best.append(best)
        self.screened.append(candidate.edited)
        return self.shorts[len(self.screened) - 1]

    async def prove(self, candidate: Candidate, _verdict: Verdict) -> Proof:
        self.proven.append(candidate.edited)
        return self.wholes[len(self.proven) - 1]


def held(folder: Path, profile: Profile, script: Scripted, rules: Rules | None = None, **more: Any) -> Rewriting:
    source = program(folder)
    task = task_of(source, profile, search=True, attempts=12)
    builder = ScratchBuilder.of(source.parent, source, profile)
    chosen = rules or Rules(candidates=len(script.shorts))
    return asyncio.run(
        optimize(
            task,
            CatalogueBackend(task.subject),
            builder,
            prove=script.prove,
            screen=script.screen,
            rules=chosen,
            **more,
        )
    )


def test_short_proofs_choose_and_a_whole_one_decides(tmp_path: Path, profile: Profile) -> None:
    script = Scripted([short(1.1, 1.2), short(1.5, 1.7), short(1.3, 1.4)], [PROVEN])
    found = held(tmp_path, profile, script)
    assert found.status == "candidate"
    assert found.chosen == 2
    assert script.proven == [script.screened[1]]
    assert found.edited is not None
    assert found.edited.encode() == script.screened[1]
    assert found.proof == PROVEN, "what is reported is the whole proof's own measurement"
    assert "1.41 to 1.45" in found.sentence
    assert "chosen out of 3 candidates" in found.sentence
    assert "1.5" not in found.sentence, "the times that chose are not reported: they are too good on average"


def test_every_attempt_is_kept_with_its_proof(tmp_path: Path, profile: Profile) -> None:
    found = held(tmp_path, profile, Scripted([short(1.1, 1.2), short(1.5, 1.7), WRONG], [PROVEN]))
    assert [each.screened is not None for each in found.attempts] == [True, True, True]
    assert [each.proof and each.proof.state for each in found.attempts] == [None, "proven", None], "a short one is none"
    assert [each.judged and each.judged.state for each in found.attempts] == ["not-proven", "proven", "refuted"]
    assert [each.problem for each in found.attempts] == ["not chosen: slower than try 2", "", WRONG.sentence]
    assert [each.stopped_at for each in found.attempts] == ["prove", None, "prove"]
    assert found.standing is not None
    assert found.standing.number == 2
    assert Rewriting.model_validate_json(found.model_dump_json(by_alias=True)) == found


def test_each_candidate_races_against_the_best_that_is_certain_so_far(tmp_path: Path, profile: Profile) -> None:
    shorts = [short(1.1, 1.2), short(1.5, 1.9), short(0.9, 1.0, early=True), short(1.4, 2.0)]
    script = Scripted(shorts, [PROVEN])
    found = held(tmp_path, profile, script)
    assert script.best == [None, 1.1, 1.5, 1.5]
    assert found.attempts[2].problem == "not chosen: clearly slower than try 2, so it was ended early"


def test_a_winner_that_is_refuted_gives_way_to_the_next(tmp_path: Path, profile: Profile) -> None:
    slower = Proof(state="refuted", sentence="rejected by time: no clear difference")
    script = Scripted([short(1.1, 1.2), short(1.5, 1.7), short(1.3, 1.4)], [slower, PROVEN])
    found = held(tmp_path, profile, script)
    assert script.proven == [script.screened[1], script.screened[2]]
    assert found.chosen == 3
    assert found.attempts[1].problem == "rejected by time: no clear difference"


def test_whole_proofs_of_one_heat_are_limited_and_then_the_next_heat_comes(tmp_path: Path, profile: Profile) -> None:
    shorts = [short(1.1, 1.2), short(1.5, 1.7), short(1.3, 1.4), short(1.2, 1.3)]
    script = Scripted(shorts, [WRONG, PROVEN])
    found = held(tmp_path, profile, script, Rules(candidates=2, finals=1))
    assert script.proven == [script.screened[1], script.screened[2]]
    assert found.chosen == 3
    assert found.attempts[0].problem.startswith("not proven: better ones of its heat were refuted")


def test_when_all_are_wrong_nothing_is_offered(tmp_path: Path, profile: Profile) -> None:
    script = Scripted([WRONG] * 12, [])
    found = held(tmp_path, profile, script, Rules(candidates=3))
    assert found.status == "refuted"
    assert (found.edited, found.edits, found.chosen, found.diff) == (None, (), None, "")
    assert script.proven == []


def test_the_budget_ends_the_search_but_not_the_whole_proof(tmp_path: Path, profile: Profile) -> None:
    script = Scripted([short(1.1, 1.2), short(1.5, 1.7), short(2.0, 2.1)], [PROVEN])
    rules = Rules(candidates=3, budget_s=30.0)
    found = held(tmp_path, profile, script, rules, clock=lambda: 20.0 * len(script.screened))
    assert found.status == "candidate"
    assert found.chosen == 2
    assert len(script.screened) == 2
    assert script.proven == [script.screened[1]]
    assert found.attempts[2].problem == "not proven: the budget was used up before its turn"


def test_where_nothing_can_be_timed_the_whole_proof_says_why(tmp_path: Path, profile: Profile) -> None:
    lacking = Proof(state="not-proven", sentence="not proven: there is no NVIDIA GPU on this machine")
    script = Scripted([lacking] * 3, [lacking])
    found = held(tmp_path, profile, script)
    assert len(script.screened) == 1
    assert found.status == "candidate"
    assert found.proof == lacking
    assert "no NVIDIA GPU" in found.sentence


@pytest.mark.parametrize(("wholes", "chosen"), [(1, 2), (12, 1)])
def test_where_looking_up_is_cheap_one_without_a_result_does_not_end_the_search(
    tmp_path: Path, profile: Profile, wholes: int, chosen: int
) -> None:
    lacking = Proof(state="not-proven", sentence="not proven: no result was recorded for this job")
    script = Scripted([], [lacking] * wholes + [PROVEN])
    found = held(tmp_path, profile, script, Rules(until_proven=True))
    assert found.status == "candidate"
    assert found.chosen == chosen
    others = [each for each in found.attempts if each.proof == lacking and each.number != chosen]
    assert others
    assert {each.problem for each in others} == {lacking.sentence}


def test_cancelling_during_a_short_proof_ends_the_rewrite(tmp_path: Path, profile: Profile) -> None:
    async def cancel() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def screen(_candidate: Candidate, _verdict: Verdict, _best: float | None) -> Proof:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

        source = program(tmp_path)
        task = task_of(source, profile, search=True, attempts=12)
        builder = ScratchBuilder.of(source.parent, source, profile)
        script = Scripted([], [])
        backend, rules = CatalogueBackend(task.subject), Rules(candidates=2)
        running = asyncio.ensure_future(
            optimize(task, backend, builder, prove=script.prove, screen=screen, rules=rules)
        )
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended.is_set()

    asyncio.run(cancel())


# Samples of a model


OTHER = answer("        const float score = scores[(size_t)row * classes + (size_t)c];\n")


def sampled(
    folder: Path, profile: Profile, texts: list[str], script: Scripted, *, screen: Screen | None, samples: int
) -> tuple[Rewriting, list[list[str]]]:
    source = program(folder)
    with serving(*map(openai_answer, texts)) as server:
        task = task_of(source, profile, samples=samples)
        builder = ScratchBuilder.of(source.parent, source, profile)
        rules = Rules(candidates=samples)
        found = asyncio.run(optimize(task, backend_at(server), builder, prove=script.prove, screen=screen, rules=rules))
        return found, [[each["role"] for each in asked.body["messages"]] for asked in server.asked]


def test_samples_are_asked_for_anew_and_their_cost_is_counted(tmp_path: Path, profile: Profile) -> None:
    script = Scripted([short(1.1, 1.2), short(1.5, 1.7)], [PROVEN])
    found, asked = sampled(tmp_path, profile, [GOOD, UNDECLARED, OTHER, GOOD], script, screen=script.screen, samples=3)
    assert asked == [
        ["system", "user"],
        ["system", "user"],
        ["system", "user", "assistant", "user"],
        ["system", "user"],
    ], "only a repair continues a conversation"
    assert found.status == "candidate"
    assert found.chosen == 3
    assert found.usage.input_tokens == 4000
    assert [each.problem for each in found.attempts][3] == "the same change as try 1"
    assert found.attempts[1].stopped_at == "compile"
    assert len(script.screened) == 2


def test_without_a_prover_one_sample_that_stands_is_enough(tmp_path: Path, profile: Profile) -> None:
    source = program(tmp_path)
    with serving(*map(openai_answer, [GOOD, OTHER])) as server:
        task = task_of(source, profile, samples=2)
        builder = ScratchBuilder.of(source.parent, source, profile)
        found = asyncio.run(optimize(task, backend_at(server), builder, rules=Rules(candidates=2)))
    assert found.status == "candidate"
    assert len(server.asked) == 1


@pytest.mark.parametrize("order", [(GOOD, OTHER), (OTHER, GOOD)])
def test_one_refuted_sample_does_not_end_the_others(tmp_path: Path, profile: Profile, order: tuple[str, str]) -> None:
    script = Scripted([], [WRONG, PROVEN])
    found, asked = sampled(tmp_path, profile, list(order), script, screen=None, samples=2)
    assert found.status == "candidate"
    assert found.chosen == 2
    assert len(asked) == 2
