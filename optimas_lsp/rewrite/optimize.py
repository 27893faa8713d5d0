"""One rewrite from end to end: prompt, answer, guardrails, build, at most three tries, then the proof if there is one.

What builds and what proves is handed in: both run other people's code, under limits that ``prove`` sets.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from optimas_lsp.rewrite.backends.model import Backend, Request, Turn, Usage
from optimas_lsp.rewrite.candidate import Encoding
from optimas_lsp.rewrite.compile import CANNOT_BUILD
from optimas_lsp.rewrite.ending import End, none_stood, passed, standing
from optimas_lsp.rewrite.judging import Judge
from optimas_lsp.rewrite.outcome import Attempt, Rewriting
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.task import Builder, Notify, Prove, Task
from optimas_lsp.rewrite.tournament import NOT_PROVEN, Entrant, Heat, Rules, Screen

__all__ = ["NOT_PROVEN", "Builder", "Notify", "Prove", "Rules", "Screen", "Task", "dry_run", "optimize"]

ASKED_AGAIN = frozenset({"malformed", "truncated"})
"""Answers that are no proposal and that telling the backend so may mend."""

LONGEST_ECHO = 60_000
"""Characters of its own answer that a backend is shown again."""


async def optimize(
    task: Task,
    backend: Backend,
    builder: Builder | None,
    *,
    prove: Prove | None = None,
    screen: Screen | None = None,
    rules: Rules | None = None,
    notify: Notify = lambda _stage, _words: None,
    clock: Callable[[], float] = time.monotonic,
) -> Rewriting:
    """Ask, judge and build until one candidate stands, nothing is to be done, or every try is used up.

    ``builder`` None: nothing may be built, so a judged candidate is the outcome. With ``screen``, as many candidates as
    ``rules`` says are compared by short proofs before the best is proven. Cancelling ends the request, the build or the
    proof at once. Raises BackendError for a backend that cannot work at all.
    """
    course = _Course(task, backend, Judge(task, builder, notify), prove, screen, rules or Rules(), clock, notify)
    end = await course.run()
    candidate = end.candidate
    profile = task.subject.profile
    number = end.number or end.nearest or len(course.attempts)
    shown = next((each for each in course.attempts if each.number == number), None)
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
        chosen=end.number,
        nearest=end.nearest,
        usage=course.usage,
        proof=None if shown is None else shown.judged,
        compared=None if shown is None or shown.proof is None else shown.proof.compared,
        diff="" if candidate is None else candidate.diff(task.name),
        edits=() if candidate is None else candidate.edits,
        edited=None if candidate is None else Encoding.of(candidate.edited)[0].text,
    )


@dataclass
class _Course:
    """The tries of one rewrite."""

    task: Task
    backend: Backend
    judge: Judge
    prove: Prove | None
    screen: Screen | None
    rules: Rules
    clock: Callable[[], float]
    notify: Notify
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    usage: Usage = field(default_factory=Usage)
    stopped: End | None = None
    """Why asking again is of no use, once that is so."""

    async def run(self) -> End:
        """Try until something stands or nothing more is of use."""
        began = self.clock()
        size = self.rules.candidates if self.screen is not None and self.prove is not None else 1
        heat: list[Entrant] = []
        passed: list[End] = []

        def late() -> bool:
            return self.rules.budget_s is not None and self.clock() - began > self.rules.budget_s

        async with contextlib.aclosing(self._entrants(late)) as entrants:
            async for entrant in entrants:
                heat.append(entrant)
                if len(heat) == size or late():
                    end = await self._decided(heat, late)
                    heat = []
                    if end is not None and not self._goes_on_after(end):
                        self._pass_over(passed)
                        return end
                    passed += [end] if end is not None else []
        end = await self._decided(heat, late) if heat else None
        stands = passed.pop(0) if passed and end is None else end
        self._pass_over(passed)
        return stands or self._failed(late=late())

    def _goes_on_after(self, end: End) -> bool:
        proof = self.attempts[end.number - 1].proof if end.number is not None else None
        return self.rules.until_proven and (proof is None or proof.state != "proven")

    def _pass_over(self, ends: Sequence[End]) -> None:
        """Say of candidates that could have stood, but were not proven, why they do not."""
        for number in (each.number for each in ends if each.number is not None):
            attempt = self.attempts[number - 1]
            why = NOT_PROVEN if attempt.proof is None else attempt.proof.sentence
            self.attempts[number - 1] = attempt.model_copy(update={"problem": why, "stopped_at": "prove"})

    async def _entrants(self, late: Callable[[], bool]) -> AsyncGenerator[Entrant]:
        """Candidates that pass the cheap gates, as they come; a model is asked for each of its samples anew."""
        seen: dict[str, int] = {}
        total = self.task.attempts * self.task.samples
        for _sample in range(self.task.samples):
            turns: tuple[Turn, ...] = ()
            self.stopped = None
            for _ in range(self.task.attempts):
                number = len(self.attempts) + 1
                if seen and late():
                    return
                self.notify("propose", f"asking {self.task.backend}, try {number} of {total}")
                reply = await self.backend.ask(Request(prompt=self.task.prompt, turns=turns))
                self.usage += reply.usage
                judged = await self.judge.judge(number, reply)
                attempt, candidate = judged.attempt, judged.candidate
                earlier = None if candidate is None else seen.get(candidate.sha256)
                if candidate is not None and earlier is None:
                    seen[candidate.sha256] = number
                    self.attempts.append(attempt)
                    yield Entrant(attempt, candidate)
                elif candidate is not None:
                    same = {"problem": f"the same change as try {earlier}", "stopped_at": "propose"}
                    self.attempts.append(attempt.model_copy(update=same))
                else:
                    self.attempts.append(attempt)
                    self.stopped = self._end(attempt)
                if self.stopped is not None and (self.task.search or attempt.compiled is not None):
                    return
                if self.stopped is not None or (candidate is not None and not self.task.search):
                    break
                echo = (reply.text or "(nothing)")[:LONGEST_ECHO]
                turns = (Turn(role="assistant", text=echo), Turn(role="user", text=judged.wrong))

    async def _decided(self, entrants: list[Entrant], late: Callable[[], bool]) -> End | None:
        """The end, if one of these stands."""
        heat = Heat(tuple(entrants), self.prove, self.screen, self.rules, late, self.notify)
        attempts, at = await heat.hold()
        for each in attempts:
            self.attempts[each.number - 1] = each
        if at is None:
            return None
        attempt, candidate = attempts[at], entrants[at].candidate
        return standing(self.name, attempt, candidate, sum(each.screened is not None for each in attempts))

    @property
    def name(self) -> str:
        """The kernel's name in sentences."""
        return self.task.subject.kernel.base_name

    def _end(self, attempt: Attempt) -> End | None:
        """The end, if asking again after this try is of no use."""
        outcome = attempt.reply.outcome
        if isinstance(outcome, NoProposal):
            return None if outcome.kind in ASKED_AGAIN else self._without_answer(outcome)
        if not outcome.functions:
            ideas = "; ".join(f"{idea.transformation}: {idea.reason}" for idea in outcome.not_applied[:5])
            return End("nothing", "the backend found nothing worth changing" + (f" ({ideas})" if ideas else ""))
        if attempt.compiled is not None and attempt.compiled.status in CANNOT_BUILD:
            return End("manual-review", f"the answer passed the guardrails, but {attempt.problem}")
        return None

    def _without_answer(self, outcome: NoProposal) -> End:
        """No answer, and asking again is of no use; answers before that are worth a look all the same."""
        if len(self.attempts) == 1:
            return End("no-proposal", outcome.sentence)
        earlier = self.attempts[-2]
        return End(
            "refuted" if earlier.judged is not None else "manual-review",
            f"{outcome.sentence}; before that: {earlier.problem}",
        )

    def _failed(self, *, late: bool) -> End:
        """Nothing stands."""
        last = self.attempts[-1]
        proven = [each for each in self.attempts if each.judged is not None]
        if proven and not self.task.search and self.task.samples == 1:
            return End("refuted", f"{passed(self.name, proven[-1])}; {proven[-1].problem}")
        ended = self.stopped is None or isinstance(last.reply.outcome, NoProposal)
        if self.task.search and ended and any(each.verdict is not None for each in self.attempts):
            return none_stood(self.name, self.attempts, elsewhere=self.task.prompt.elsewhere, late=late)
        if self.stopped is not None and (not proven or self.stopped.status == "refuted"):
            return self.stopped
        if proven:
            return End("refuted", f"{self._tries()}; {proven[-1].problem}")
        return End("manual-review", f"{self._tries()}; a person has to look at it: {last.problem}")

    def _tries(self) -> str:
        count = len(self.attempts)
        return "the only try failed" if count == 1 else f"all {count} tries failed"


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
