"""Further rounds of a rewrite: each starts from the last winner, in a copy, with the profile that its proof took.

That profile comes with the proof's re-profile, so it is taken wherever proofs run and under their limits. What is
offered in the end is the whole change, and it is proven whole against the original.
"""

from __future__ import annotations

import asyncio
import functools
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optimas_lsp.config import FILE_NAME
from optimas_lsp.course.course import Course
from optimas_lsp.errors import OptimasError
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.prove.bundle import snapshot
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.scratch import scratch
from optimas_lsp.rewrite.backends.model import Usage
from optimas_lsp.rewrite.candidate import Candidate, Encoding
from optimas_lsp.rewrite.edits import between
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting, Stage
from optimas_lsp.rewrite.proposal import Change, FunctionText, Proposal
from optimas_lsp.rewrite.task import Notify
from optimas_lsp.score import scored_rounds
from optimas_lsp.source.text import SourceText


async def run_rounds(first: Course, notify: Notify, *, clock: Callable[[], float] = time.monotonic) -> Rewriting:
    """Rounds until their number, the ceiling, the gains or the budget end them; the outcome says which did."""
    with scratch("rounds") as folder:
        rounds = _Rounds(first, folder, notify, clock, clock())
        return await rounds.run()


def share_of_ceiling(kernel: KernelAnalysis) -> float | None:
    """How much of what the roofline allows for its own work a kernel reaches, 0 to 1; None where that is unknown."""
    ceiling = None if kernel.roofline is None else kernel.roofline.ceiling
    return None if ceiling is None else 1 / (ceiling.plausible_speedup or ceiling.speedup)


@dataclass(frozen=True)
class _Rounds:
    first: Course
    scratch: Path
    notify: Notify
    clock: Callable[[], float]
    began: float

    async def run(self) -> Rewriting:
        course, ended = self.first, ""
        done: list[Rewriting] = []
        while not ended:
            number = len(done) + 1
            told = functools.partial(_numbered, self.notify, number, self.limit)
            rules = replace(course.rules, budget_s=self._left())
            reporting = replace(course, prover=self._keeping(course))
            parent = done[-1].base_sha256 if done else ""
            done.append(await reporting.one_round(told, rules, parent=parent))
            ended = self._over(done)
            if not ended:
                course, ended = await asyncio.to_thread(self._next, reporting, done[-1], number + 1)
        return await self._whole(done, ended)

    @property
    def limit(self) -> int:
        return self.first.program.settings.search.rounds

    def _left(self) -> float | None:
        """Seconds of the budget that are left; None: there is no limit."""
        budget = self.first.program.settings.search.budget_seconds
        return max(0.0, budget - (self.clock() - self.began)) if budget else None

    def _keeping(self, course: Course) -> Prover | None:
        reports = self.scratch / "reports"
        reports.mkdir(exist_ok=True)
        return None if course.prover is None else replace(course.prover, reports=reports)

    def _over(self, done: Sequence[Rewriting]) -> str:
        """Why the last round was the last, as far as its outcome tells; '' if it does not."""
        last, number = done[-1], len(done)
        if last.status != "candidate" or last.proof is None or last.proof.state != "proven":
            return f"round {number} brought nothing that was proven: {last.sentence}"
        if number >= self.limit:
            return f"all {number} rounds were made"
        if self._left() == 0.0:
            return f"the budget of {self.first.program.settings.search.budget_seconds:g} s was used up"
        return ""

    def _next(self, course: Course, won: Rewriting, number: int) -> tuple[Course, str]:
        """The course of the next round, or the old one and why there is none."""
        edited = _edited(course, won)
        report = None if course.prover is None else course.prover.report_of(edited.sha256)
        if course.prover is None or report is None:
            why = _why_unprofiled(won.proof)
            return course, f"there is no profile of the winner of round {number - 1} to go on from: {why}"
        program = course.program
        folder = self.scratch / str(number) / self.first.program.folder.name
        try:
            snapshot(program.folder, folder, course.prover.target.exclude)
            if (program.folder / FILE_NAME).is_file():
                shutil.copyfile(program.folder / FILE_NAME, folder / FILE_NAME)
            source = folder / program.source.relative_to(program.folder)
            source.unlink(missing_ok=True)  # it may be a link: never write to what it leads to
            source.write_bytes(edited.edited)
            kernel = f"^{re.escape(course.subject.kernel.mangled)}$"
            changed = {"source": source, "folder": folder, "profile": report, "kernel": kernel, "finding": ""}
            request = course.request.model_copy(update=changed)
            found = Course.of(
                request, open_=course.open, prompt_file=course.prompt_file, answer_file=course.answer_file
            )
        except (OptimasError, OSError) as error:
            why = error.sentence() if isinstance(error, OptimasError) else str(error)
            return course, f"round {number} could not begin: {why}"
        reached, near = share_of_ceiling(found.subject.kernel), program.settings.search.near_ceiling
        if reached is not None and reached >= near:
            return course, f"the ceiling is near: {reached:.0%} of what the roofline allows for the winner's work"
        # the program is built and run as in the first round, whatever could be inferred from a copy of its folder
        prover = replace(course.prover, folder=folder, subject=found.subject)
        return replace(found, prover=prover, unproven=""), ""

    async def _whole(self, done: Sequence[Rewriting], ended: str) -> Rewriting:
        """The outcome over all rounds: the whole change with a proof of its own, if more than one round won."""
        first = done[0].model_copy(update={"ended": ended})
        winners = [each for each in done if each.proof is not None and each.proof.state == "proven"]
        if len(done) == 1:
            return first
        kept = first.model_copy(update={"rounds": tuple(done), "usage": sum((e.usage for e in done), Usage())})
        if len(winners) < 2:
            return kept
        candidate = merged(self.first.task.data, winners)
        attempt = winners[-1].standing
        proof = await self._proof(candidate, attempt)
        if proof.state != "proven":
            why = f"the change of {len(winners)} rounds was not proven whole, so that of the first stands: "
            return kept.model_copy(update={"ended": f"{ended}; {why}{proof.sentence}"})
        name = self.first.subject.kernel.base_name
        update = {
            "sentence": f"a rewrite of {name} in {len(winners)} rounds; {proof.sentence}",
            "proof": proof,
            "compared": proof.compared,
            "scores": None,
            "edits": candidate.edits,
            "edited": Encoding.of(candidate.edited)[0].text,
            "diff": candidate.diff(self.first.task.name),
        }
        return await asyncio.to_thread(scored_rounds, kept.model_copy(update=update), winners, self.first.subject)

    async def _proof(self, candidate: Candidate, attempt: Attempt | None) -> Proof:
        prover = self.first.told(self.notify)
        if prover is None or attempt is None or attempt.verdict is None:  # never: a round was proven
            return Proof(state="not-proven", sentence="not proven")
        self.notify("prove", "running the original and the change of all rounds")
        return await prover.prove(candidate, attempt.verdict)


def _why_unprofiled(proof: Proof | None) -> str:
    gates: list[dict[str, Any]] = [] if proof is None else proof.details.get("gates") or []
    return next((str(gate["sentence"]) for gate in gates if gate["name"] == "reprofile"), "it was not taken")


def _edited(course: Course, won: Rewriting) -> Candidate:
    return _candidate(course.task.data, won.edited or "", Proposal(functions=()))


def merged(data: bytes, winners: Sequence[Rewriting]) -> Candidate:
    """All winners' changes as one of the original ``data``; it cites what the first cited, which is in its profile."""
    functions: dict[str, FunctionText] = {}
    changes: list[Change] = []
    for number, each in enumerate(winners):
        outcome = None if each.standing is None else each.standing.reply.outcome
        if isinstance(outcome, Proposal):
            functions.update({item.function: item for item in outcome.functions})
            changes += outcome.changes if number == 0 else ()
    proposal = Proposal(functions=tuple(functions.values()), changes=tuple(changes))
    return _candidate(data, winners[-1].edited or "", proposal)


def _candidate(data: bytes, edited: str, proposal: Proposal) -> Candidate:
    text, encoding = Encoding.of(data)
    after = SourceText.of(edited)
    return Candidate(
        proposal=proposal, original=data, edited=encoding.encode(after), edits=between(text, after), encoding=encoding
    )


def _numbered(notify: Notify, number: int, limit: int, stage: Stage, words: str) -> None:
    notify(stage, f"round {number} of {limit}: {words}")
