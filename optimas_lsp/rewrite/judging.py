"""What becomes of one answer before any proof: guardrails, the place in the file, the build, the machine code."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.backends.model import Reply
from optimas_lsp.rewrite.candidate import Candidate, Encoding
from optimas_lsp.rewrite.edits import EditError
from optimas_lsp.rewrite.guard.model import RuleVerdict
from optimas_lsp.rewrite.guardrails import examine, verdict_of
from optimas_lsp.rewrite.locate import LocationError
from optimas_lsp.rewrite.outcome import Attempt
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt_repair import failed_text, refused_text, unusable_text
from optimas_lsp.rewrite.task import Builder, Notify, Task

Result = TypeVar("Result")


@dataclass(frozen=True)
class Judged:
    """One answer: ``candidate`` if it stands, else ``wrong``, what to tell the backend about it."""

    attempt: Attempt
    candidate: Candidate | None = None
    wrong: str = ""


@dataclass(frozen=True)
class Judge:
    """The cheap gates. ``builder`` None: nothing may be built, so what passes the guardrails stands."""

    task: Task
    builder: Builder | None
    notify: Notify

    async def judge(self, number: int, reply: Reply) -> Judged:
        """What became of try ``number``; cancelling ends a build at once."""
        attempt = Attempt(number=number, reply=reply)
        outcome = reply.outcome
        if isinstance(outcome, NoProposal):
            found = attempt.model_copy(update={"problem": outcome.sentence, "stopped_at": "propose"})
            return Judged(found, wrong=unusable_text(outcome.sentence))
        if not outcome.functions:
            return Judged(attempt.model_copy(update={"problem": "it proposes nothing", "stopped_at": "propose"}))
        self.notify("guard", f"checking the proposal of try {number}")
        subject = self.task.subject
        verdict = await asyncio.to_thread(
            examine,
            subject.source.syntax.text,
            outcome,
            allowed=self.task.prompt.functions,
            evidence=self.task.prompt.evidence,
            allow=self.task.allow,
            limits=self.task.limits,
            headers=subject.headers,
            name=self.task.name,
        )
        attempt = attempt.model_copy(update={"verdict": verdict})
        if not verdict.accepted:
            problem = "; ".join(f"{rule.id}: {rule.message}" for rule in verdict.failures()[:3])
            found = attempt.model_copy(update={"problem": problem, "stopped_at": "guard"})
            return Judged(found, wrong=refused_text(verdict))
        try:
            candidate = Candidate.of(self.task.data, outcome, path=subject.source.path)
        except (EditError, LocationError) as error:
            found = attempt.model_copy(update={"problem": error.sentence(), "stopped_at": "guard"})
            return Judged(found, wrong=unusable_text(error.sentence()))
        attempt = attempt.model_copy(update={"diff": candidate.diff(self.task.name)})
        return await self._built(attempt, candidate)

    async def _built(self, attempt: Attempt, candidate: Candidate) -> Judged:
        if self.builder is None:
            return Judged(attempt, candidate)
        self.notify("compile", f"building the candidate of try {attempt.number}")
        builder, files = self.builder, {self.task.name: candidate.edited}
        compiled = await _blocking(builder, lambda: builder.build(files))
        attempt = attempt.model_copy(update={"compiled": compiled})
        if compiled.good:
            rules = await _blocking(builder, lambda: builder.compare(files))
            return _compared(attempt, candidate, rules)
        edited = Encoding.of(candidate.edited)[0].text
        found = attempt.model_copy(update={"problem": compiled.sentence, "stopped_at": "compile"})
        return Judged(found, wrong=failed_text(compiled, edited, self.task.name))


def _compared(attempt: Attempt, candidate: Candidate, rules: tuple[RuleVerdict, ...]) -> Judged:
    """The candidate after the rules on its machine code, which join those on its text."""
    before = attempt.verdict.rules if attempt.verdict is not None else ()
    attempt = attempt.model_copy(update={"verdict": verdict_of((*before, *rules))})
    compared = verdict_of(rules)
    if compared.accepted:
        return Judged(attempt, candidate)
    problem = "; ".join(f"{rule.id}: {rule.message}" for rule in compared.failures())
    found = attempt.model_copy(update={"problem": problem, "stopped_at": "compile"})
    return Judged(found, wrong=refused_text(compared, built=True))


async def _blocking(builder: Builder, work: Callable[[], Result]) -> Result:
    """Build in a thread; when this task is cancelled the build is ended and waited for, so that nothing is left."""
    building = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(building)
    except asyncio.CancelledError:
        builder.cancel()
        with contextlib.suppress(OptimasError):
            await building
        raise
