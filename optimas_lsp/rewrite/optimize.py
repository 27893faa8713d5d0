"""One rewrite from end to end: prompt, answer, guardrails, build, at most three tries, then the proof if there is one.

What builds and what proves is handed in: both run other people's code, under limits that ``prove`` sets.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from optimas_lsp.errors import OptimasError
from optimas_lsp.rewrite.backends.model import Backend, Reply, Request, Turn, Usage
from optimas_lsp.rewrite.candidate import Candidate, Encoding
from optimas_lsp.rewrite.compile import Compiled
from optimas_lsp.rewrite.edits import EditError
from optimas_lsp.rewrite.guard.model import Allowance, Limits, RuleVerdict, Verdict
from optimas_lsp.rewrite.guardrails import examine, verdict_of
from optimas_lsp.rewrite.locate import LocationError
from optimas_lsp.rewrite.outcome import Attempt, Proof, Rewriting, Stage, Status
from optimas_lsp.rewrite.parse import NoProposal
from optimas_lsp.rewrite.prompt import Prompt
from optimas_lsp.rewrite.prompt_repair import failed_text, refused_text, unusable_text
from optimas_lsp.rewrite.prompt_writer import Subject

ASKED_AGAIN = frozenset({"malformed", "truncated"})
"""Answers that are no proposal and that telling the backend so may mend."""

CANNOT_BUILD = frozenset({"no-compiler", "no-command"})
"""Ends of a build that no other answer would change."""

LONGEST_ECHO = 60_000
"""Characters of its own answer that a backend is shown again."""

NOT_PROVEN = "not proven: it was neither run nor timed; a proof needs an NVIDIA GPU"


class UnsupportedSourceError(OptimasError):
    """The guardrails cannot judge this kind of source, so nothing may be proposed for it."""


class Builder(Protocol):
    """Builds a candidate in a scratch copy. ``build`` blocks; ``cancel``, from another thread, makes it end soon."""

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What is run, in order."""
        ...

    def build(self, files: Mapping[str, bytes]) -> Compiled:
        """Relative path to new bytes; the outcome."""
        ...

    def compare(self, files: Mapping[str, bytes]) -> tuple[RuleVerdict, ...]:
        """The rules for after compiling, on the machine code of the original and the candidate; blocks, too."""
        ...

    def cancel(self) -> None:
        """End what runs."""
        ...


Prove = Callable[[Candidate, Verdict], Awaitable[Proof]]
Notify = Callable[[Stage, str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be rewritten: the subject, its prompt, the file's bytes, and what the user permits.

    ``name`` is the file's path relative to the program's folder, ``attempts`` how many answers are asked for at most.
    """

    subject: Subject
    prompt: Prompt
    data: bytes
    name: str
    backend: str
    attempts: int = 3
    allow: tuple[Allowance, ...] = ()
    limits: Limits | None = None

    @classmethod
    def of(
        cls,
        subject: Subject,
        prompt: Prompt,
        *,
        backend: str,
        attempts: int = 3,
        allow: tuple[Allowance, ...] = (),
        limits: Limits | None = None,
        data: bytes | None = None,
    ) -> Task:
        """``data`` None: the file is read. Raises UnsupportedSourceError, or EditError for undecodable bytes."""
        unit = subject.source
        if unit.syntax.language != "cuda":
            raise UnsupportedSourceError(
                "the guardrails read CUDA sources only",
                where=unit.path,
                remedy="optimas prompt prints what a model would be asked; have a person judge its answer",
            )
        found = unit.path.read_bytes() if data is None else data
        return cls(subject, prompt, found, unit.name, backend, attempts, allow, limits)


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
    course = _Course(task, backend, builder, notify)
    status, sentence, candidate = await course.run()
    proof: Proof | None = None
    if candidate is not None:
        verdict = course.attempts[-1].verdict
        if prove is not None and verdict is not None:
            notify("prove", "running the original and the candidate")
            proof = await prove(candidate, verdict)
        else:
            proof = Proof(state="not-proven", sentence=NOT_PROVEN)
        sentence = f"{sentence}; {proof.sentence}"
    return Rewriting(
        status=status,
        sentence=sentence,
        source=str(task.subject.source.path),
        kernel=task.subject.kernel.name,
        backend=task.backend,
        destination=backend.destination,
        prompt=task.prompt,
        commands=() if builder is None else builder.commands,
        attempts=tuple(course.attempts),
        usage=course.usage,
        proof=proof,
        edited=None if candidate is None else Encoding.of(candidate.edited)[0].text,
    )


class _Course:
    """The tries of one rewrite."""

    def __init__(self, task: Task, backend: Backend, builder: Builder | None, notify: Notify) -> None:
        self.task = task
        self.backend = backend
        self.builder = builder
        self.notify = notify
        self.attempts: list[Attempt] = []
        self.usage = Usage()

    async def run(self) -> tuple[Status, str, Candidate | None]:
        """The outcome, its sentence, and the candidate that stands."""
        turns: tuple[Turn, ...] = ()
        for number in range(1, self.task.attempts + 1):
            self.notify("propose", f"asking {self.task.backend}, try {number} of {self.task.attempts}")
            reply = await self.backend.ask(Request(prompt=self.task.prompt, turns=turns))
            self.usage += reply.usage
            attempt, candidate, wrong = await self._judge(number, reply)
            self.attempts.append(attempt)
            if candidate is not None:
                done = "passes the guardrails and builds" if attempt.compiled is not None else "passes the guardrails"
                return "candidate", f"a rewrite of {self.task.subject.kernel.base_name} {done}", candidate
            outcome = reply.outcome
            if isinstance(outcome, NoProposal) and outcome.kind not in ASKED_AGAIN:
                return self._ended(outcome)
            if not isinstance(outcome, NoProposal) and not outcome.functions:
                ideas = "; ".join(f"{idea.transformation}: {idea.reason}" for idea in outcome.not_applied[:5])
                return "nothing", "the backend found nothing worth changing" + (f" ({ideas})" if ideas else ""), None
            if attempt.compiled is not None and attempt.compiled.status in CANNOT_BUILD:
                return "manual-review", f"the answer passed the guardrails, but {attempt.problem}", None
            echo = (reply.text or "(nothing)")[:LONGEST_ECHO]
            turns = (Turn(role="assistant", text=echo), Turn(role="user", text=wrong))
        return "manual-review", f"{self._tries()}; a person has to look at it: {self.attempts[-1].problem}", None

    def _ended(self, outcome: NoProposal) -> tuple[Status, str, None]:
        """No answer, and asking again is of no use; answers before that are worth a look all the same."""
        if len(self.attempts) > 1:
            earlier = self.attempts[-2].problem
            return "manual-review", f"{outcome.sentence}; before that: {earlier}", None
        return "no-proposal", outcome.sentence, None

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


def keep(rewriting: Rewriting, folder: Path) -> Rewriting:
    """Write everything of a failed rewrite under ``folder`` for a person to look at; returns it with the place.

    Raises OptimasError when it cannot be written.
    """
    name = f"{rewriting.prompt.source.replace('/', '-')}-{rewriting.prompt.kernel[:60]}"
    place = folder / name
    number = 1
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            try:
                place.mkdir()
                break
            except FileExistsError:
                number += 1
                place = folder / f"{name}-{number}"
        kept = rewriting.model_copy(update={"kept": str(place)})
        (place / "rewrite.json").write_text(kept.model_dump_json(by_alias=True, indent=1), "utf-8")
        (place / "prompt.txt").write_text(rewriting.prompt.text, "utf-8", "replace")
        for attempt in rewriting.attempts:
            (place / f"answer-{attempt.number}.txt").write_text(attempt.reply.text, "utf-8", "replace")
            (place / f"change-{attempt.number}.diff").write_text(attempt.diff, "utf-8", "replace")
            if attempt.compiled is not None:
                log = "".join(f"$ {' '.join(step.command)}\n{step.log}\n" for step in attempt.compiled.steps)
                (place / f"build-{attempt.number}.log").write_text(log, "utf-8", "replace")
    except OSError as error:
        raise OptimasError(
            f"what is to be looked at cannot be kept: {error.strerror}",
            where=place,
            remedy="give another --keep folder",
        ) from None
    return kept
