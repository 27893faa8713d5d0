"""Real searches on an NVIDIA H200 (2026-12-01): their recorded proofs, raced and told by today's code."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

from optimas_lsp.rewrite.candidate import Candidate, Encoding
from optimas_lsp.rewrite.ending import none_stood, standing
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting
from optimas_lsp.rewrite.proposal import Proposal
from optimas_lsp.rewrite.tournament import Entrant, Heat, Rules
from optimas_lsp.score import explain, score

FOLDER = Path(__file__).parent / "real_outcomes"
NAMES = ("sobol", "sweep", "shmem", "lookup", "cub_adjacent")
TOGETHER = 3


def measured(name: str) -> Rewriting:
    """The outcome as it was printed."""
    return Rewriting.model_validate_json(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


def told(name: str) -> Rewriting:
    """The same answers and proofs, raced, judged and told by today's code."""
    found = measured(name)
    kernel = found.prompt.kernel if found.analysis is None else found.analysis.base_name
    passed = [each for each in found.attempts if each.stopped_at in {None, "prove"}]
    attempts = {each.number: each for each in found.attempts}
    ends = []
    for first in range(0, len(passed), TOGETHER):
        heat = passed[first : first + TOGETHER]
        judged, at = asyncio.run(_raced(heat))
        attempts |= {each.number: each for each in judged}
        if at is not None:
            compared = sum(each.screened is not None for each in judged)
            ends.append(standing(kernel, judged[at], _candidate(), compared))
            break
    every = tuple(attempts.values())
    end = ends[0] if ends else none_stood(kernel, every, elsewhere=found.prompt.elsewhere)
    update = {
        "attempts": every, "status": end.status, "sentence": end.sentence, "chosen": end.number,
        "nearest": end.nearest, "kept": None, "explanation": (), "scores": None,
    }  # fmt: skip
    found = found.model_copy(update=update)
    found = found.model_copy(update={"proof": None if found.shown is None else found.shown.judged})
    if found.status == "nothing":
        return found
    return found.model_copy(update={"explanation": explain(found), "scores": score(found).model_dump(mode="json")})


async def _raced(heat: list[Attempt]) -> tuple[tuple[Attempt, ...], int | None]:
    """Today's tournament with the proofs that these attempts had."""
    shorts = iter([each.screened for each in heat])
    wholes = iter([each.proof for each in heat if each.proof is not None])

    async def screen(_candidate: Candidate, _verdict: Verdict, _best: float | None) -> Proof:
        found = next(shorts)
        assert found is not None
        return found

    async def prove(_candidate: Candidate, _verdict: Verdict) -> Proof:
        return next(wholes)

    unjudged = {"proof": None, "screened": None, "problem": "", "stopped_at": None}
    fresh = [each.model_copy(update=unjudged) for each in heat]
    entrants = tuple(Entrant(each, _candidate()) for each in fresh)
    return await Heat(entrants, prove, screen, Rules(candidates=TOGETHER), lambda: False, lambda *_: None).hold()


def _candidate() -> Candidate:
    """What is proven; these provers do not look at it."""
    empty = Proposal(functions=())
    return Candidate(proposal=empty, original=b"", edited=b"", edits=(), encoding=Encoding(name="utf-8"))
