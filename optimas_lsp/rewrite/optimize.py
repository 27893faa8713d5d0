"""One rewrite from end to end: prompt, answer, guardrails, build, at most three tries, then the proof if there is one.

What builds and what proves is handed in: both run other people's code, under limits that ``prove`` sets.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.backends.model import Backend, Reply, Request, Turn, Usage
from optimas_lsp.rewrite.candidate import Candidate, Encoding
from optimas_lsp.rewrite.edits import EditError
from optimas_lsp.rewrite.guard.model import RuleVerdict
from optimas_lsp.rewrite.guardrails import examine, verdict_of
from optimas_lsp.rewrite.locate import LocationError
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting, Status
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt_repair import failed_text, refused_text, unusable_text
from optimas_lsp.rewrite.task import Builder, Notify, Prove, Task

__all__ = ["Builder", "Notify", "Prove", "Task", "dry_run", "optimize"]

ASKED_AGAIN = frozenset({"malformed", "truncated"})
"""Answers that are no proposal and that telling the backend so may mend."""

CANNOT_BUILD = frozenset({"no-compiler", "no-command"})
"""Ends of a build that no other answer would change."""

LONGEST_ECHO = 60_000
"""Characters of its own answer that a backend is shown again."""

NOT_PROVEN = "not proven: it was neither run nor timed; a proof needs an NVIDIA GPU"


async def optimize(
    task: Task,
    backend: Backend,
    builder: Builder | None,
    *,
    prove: Prove | None = None,
    notify: Notify = lambda _stage, _words: None,
) -> Rewriting:
    """Ask, judge and build until one candidate stands, nothing is to be done, or every try is used up.

    ``builder`` None: nothing may be built, so a judged candidate is the outcome. Cancelling ends the request or the
    build at once. Raises BackendError for a backend that cannot work at all.
    """
    course = _Course(task, backend, builder, prove, notify)
    end = await course.run()
    candidate = end.candidate
    profile = task.subject.profile
    return Rewriting(
        analysis=task.subject.kernel,
        device=profile.device,
        tool=profile.tool,
        report_sha256=profile.report_sha256,
        base_sha256=hashlib.sha256(task.data).hexdigest(),
        status=end.status,
        sentence=end.sentence,
        source=str(task.subject.source.path),
        kernel=task.subject.kernel.name,
        backend=task.backend,
        destination=backend.destination,
        prompt=task.prompt,
        commands=() if builder is None else builder.commands,
        attempts=tuple(course.attempts),
        usage=course.usage,
        proof=course.attempts[-1].proof if course.attempts else None,
        edits=() if candidate is None else candidate.edits,
        edited=None if candidate is None else Encoding.of(candidate.edited)[0].text,
    )


@dataclass(frozen=True)
class _End:
    """How the tries ended; ``candidate`` is the one that stands."""

    status: Status
    sentence: str
    candidate: Candidate | None = None


class _Course:
    """The tries of one rewrite."""

    def __init__(
        self, task: Task, backend: Backend, builder: Builder | None, prove: Prove | None, notify: Notify
    ) -> None:
        self.task = task
        self.backend = backend
        self.builder = builder
        self.prove = prove
        self.notify = notify
        self.attempts: list[Attempt] = []
        self.usage = Usage()

    async def run(self) -> _End:
        """Try until something stands or nothing more is of use."""
        turns: tuple[Turn, ...] = ()
        for number in range(1, self.task.attempts + 1):
            self.notify("propose", f"asking {self.task.backend}, try {number} of {self.task.attempts}")
            reply = await self.backend.ask(Request(prompt=self.task.prompt, turns=turns))
            self.usage += reply.usage
            attempt, candidate, wrong = await self._judge(number, reply)
            if candidate is not None:
                attempt = await self._proved(attempt, candidate)
            self.attempts.append(attempt)
            end = self._end(attempt, candidate)
            if end is not None:
                return end
            echo = (reply.text or "(nothing)")[:LONGEST_ECHO]
            turns = (Turn(role="assistant", text=echo), Turn(role="user", text=wrong))
        problem = self.attempts[-1].problem
        if self.attempts[-1].proof is not None:
            return _End("refuted", f"{self._tries()}; {problem}")
        return _End("manual-review", f"{self._tries()}; a person has to look at it: {problem}")

    def _end(self, attempt: Attempt, candidate: Candidate | None) -> _End | None:
        """The end, if this try is the last that is of use."""
        outcome, proof = attempt.reply.outcome, attempt.proof
        if candidate is not None and proof is not None:
            done = "passes the guardrails and builds" if attempt.compiled is not None else "passes the guardrails"
            words = f"a rewrite of {self.task.subject.kernel.base_name} {done}; {proof.sentence}"
            if proof.state != "refuted":
                return _End("candidate", words, candidate)
            return None if self.task.search else _End("refuted", words)
        if isinstance(outcome, NoProposal):
            return None if outcome.kind in ASKED_AGAIN else self._without_answer(outcome)
        if not outcome.functions:
            ideas = "; ".join(f"{idea.transformation}: {idea.reason}" for idea in outcome.not_applied[:5])
            return _End("nothing", "the backend found nothing worth changing" + (f" ({ideas})" if ideas else ""))
        if attempt.compiled is not None and attempt.compiled.status in CANNOT_BUILD:
            return _End("manual-review", f"the answer passed the guardrails, but {attempt.problem}")
        return None

    def _without_answer(self, outcome: NoProposal) -> _End:
        """No answer, and asking again is of no use; answers before that are worth a look all the same."""
        if len(self.attempts) == 1:
            return _End("no-proposal", outcome.sentence)
        earlier = self.attempts[-2]
        return _End(
            "refuted" if earlier.proof is not None else "manual-review",
            f"{outcome.sentence}; before that: {earlier.problem}",
        )

    async def _proved(self, attempt: Attempt, candidate: Candidate) -> Attempt:
        """The attempt with its proof, or with the reason why there is none."""
        if self.prove is None or attempt.verdict is None:
            return attempt.model_copy(update={"proof": Proof(state="not-proven", sentence=NOT_PROVEN)})
        self.notify("prove", f"running the original and the candidate of try {attempt.number}")
        proof = await self.prove(candidate, attempt.verdict)
        refuted = {"problem": proof.sentence, "stopped_at": "prove"} if proof.state == "refuted" else {}
        return attempt.model_copy(update={"proof": proof, **refuted})

    def _tries(self) -> str:
        count = len(self.attempts)
        return "the only try failed" if count == 1 else f"all {count} tries failed"

    async def _judge(self, number: int, reply: Reply) -> tuple[Attempt, Candidate | None, str]:
        """What became of one answer, the candidate if it stands, else what to tell the backend."""
        attempt = Attempt(number=number, reply=reply)
        outcome = reply.outcome
        if isinstance(outcome, NoProposal):
            found = attempt.model_copy(update={"problem": outcome.sentence, "stopped_at": "propose"})
            return found, None, unusable_text(outcome.sentence)
        if not outcome.functions:
            found = attempt.model_copy(update={"problem": "it proposes nothing", "stopped_at": "propose"})
            return found, None, ""
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
        )
        attempt = attempt.model_copy(update={"verdict": verdict})
        if not verdict.accepted:
            problem = "; ".join(f"{rule.id}: {rule.message}" for rule in verdict.failures()[:3])
            found = attempt.model_copy(update={"problem": problem, "stopped_at": "guard"})
            return found, None, refused_text(verdict)
        try:
            candidate = Candidate.of(self.task.data, outcome, path=subject.source.path)
        except (EditError, LocationError) as error:
            found = attempt.model_copy(update={"problem": error.sentence(), "stopped_at": "guard"})
            return found, None, unusable_text(error.sentence())
        attempt = attempt.model_copy(update={"diff": candidate.diff(self.task.name)})
        return await self._built(attempt, candidate)

    async def _built(self, attempt: Attempt, candidate: Candidate) -> tuple[Attempt, Candidate | None, str]:
        if self.builder is None:
            return attempt, candidate, ""
        self.notify("compile", f"building the candidate of try {attempt.number}")
        builder, files = self.builder, {self.task.name: candidate.edited}
        compiled = await _blocking(builder, lambda: builder.build(files))
        attempt = attempt.model_copy(update={"compiled": compiled})
        if compiled.good:
            rules = await _blocking(builder, lambda: builder.compare(files))
            return self._compared(attempt, candidate, rules)
        edited = Encoding.of(candidate.edited)[0].text
        found = attempt.model_copy(update={"problem": compiled.sentence, "stopped_at": "compile"})
        return found, None, failed_text(compiled, edited, self.task.name)

    def _compared(
        self, attempt: Attempt, candidate: Candidate, rules: tuple[RuleVerdict, ...]
    ) -> tuple[Attempt, Candidate | None, str]:
        """The candidate after the rules on its machine code, which join those on its text."""
        before = attempt.verdict.rules if attempt.verdict is not None else ()
        attempt = attempt.model_copy(update={"verdict": verdict_of((*before, *rules))})
        compared = verdict_of(rules)
        if compared.accepted:
            return attempt, candidate, ""
        problem = "; ".join(f"{rule.id}: {rule.message}" for rule in compared.failures())
        found = attempt.model_copy(update={"problem": problem, "stopped_at": "compile"})
        return found, None, refused_text(compared, built=True)


Result = TypeVar("Result")


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


def dry_run(task: Task, backend: Backend, builder: Builder | None) -> Rewriting:
    """What would be asked, where and with what commands, without doing any of it."""
    destination = backend.destination
    where = "nothing leaves this process" if destination is None else f"the prompt would go to {destination.where}"
    return Rewriting(
        status="dry-run",
        sentence=f"nothing was asked or run; {where}",
        source=str(task.subject.source.path),
        kernel=task.subject.kernel.name,
        backend=task.backend,
        destination=destination,
        prompt=task.prompt,
        commands=() if builder is None else builder.commands,
    )
