"""One rewrite: read, choose, ask, judge, build, prove; what leaves the machine and what is run is known before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from optimas_lsp.config import Settings
from optimas_lsp.corpus import Context, Corpus, Query
from optimas_lsp.course.program import Open, Program, open_report
from optimas_lsp.course.request import Request
from optimas_lsp.errors import OptimasError
from optimas_lsp.insight.evidence import KernelAnalysis
from optimas_lsp.prove.building import ScratchBuilder
from optimas_lsp.prove.executors.making import make_executor
from optimas_lsp.prove.executors.outcome import Event
from optimas_lsp.prove.inference import NoTargetError
from optimas_lsp.prove.proving import Prover
from optimas_lsp.rewrite import optimize
from optimas_lsp.rewrite.backends.embedded import CatalogueBackend
from optimas_lsp.rewrite.backends.making import make_backend
from optimas_lsp.rewrite.backends.model import Backend
from optimas_lsp.rewrite.backends.model import Request as Asked
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.consent import Action, Run, Send
from optimas_lsp.rewrite.experience import Experience
from optimas_lsp.rewrite.guard.model import Limits, Verdict
from optimas_lsp.rewrite.outcome import Proof, Rewriting
from optimas_lsp.rewrite.prompt import PastCase, Prompt, build_prompt
from optimas_lsp.rewrite.prompt_writer import Subject
from optimas_lsp.rewrite.subsets import parse_subset
from optimas_lsp.rewrite.task import Notify, Prove, Task
from optimas_lsp.score import scored

CANDIDATES = 12
"""Candidates of the catalogue that are tried at most: each is another one, no repair of the last."""


class FindingError(OptimasError):
    """The kernel has no such evidence."""


@dataclass(frozen=True, eq=False)
class Course:
    """A rewrite that is ready to run. ``actions`` must be accepted for ``program.folder`` before ``run``.

    ``corpus`` gave past attempts and keeps the new ones; its ``notes`` say what it could not do.
    """

    program: Program
    corpus: Corpus
    task: Task
    backend: Backend
    builder: ScratchBuilder | None
    prover: Prover | None
    request: Request
    unproven: str = ""
    open: Open = open_report
    prompt_file: Path | None = None
    answer_file: Path | None = None

    @classmethod
    def of(
        cls,
        request: Request,
        *,
        open_: Open = open_report,
        prompt_file: Path | None = None,
        answer_file: Path | None = None,
    ) -> Course:
        """Read the report and get everything ready; nothing is sent or run.

        Raises OptimasError (SourceError, ConfigError, ReportError, KernelChoiceError, BackendError, …) with the reason.
        """
        given = None if request.settings is None else Settings.model_validate(request.settings)
        program = Program.of(request.source, request.folder, settings=given, open_=open_)
        if program.settings.search.rounds > 1:  # the next round starts from a new profile of the winner
            proving = program.settings.prove.model_copy(update={"reprofile": True})
            program = replace(program, settings=program.settings.model_copy(update={"prove": proving}))
        settings = program.settings.rewrite
        subject = _narrowed(program.subject(request.profile, request.kernel), request.finding)
        past = _Past.of(Corpus.of_user(program.settings.corpus), subject, request)
        catalogue = settings.backend == "catalogue"
        recorded = program.settings.prove.executor == "recorded"  # which runs nothing
        known = None if recorded else past.experience()  # what was recorded is found by the catalogue's own order
        backend: Backend = (
            CatalogueBackend(subject, allow=settings.allow, only=request.transformation, experience=known)
            if catalogue
            else make_backend(settings, prompt_file=prompt_file, answer_file=answer_file)
        )
        prompt = build_prompt(
            subject,
            subset=parse_subset(request.evidence),
            max_tokens=settings.prompt_tokens,
            cases=past.cases(backend, program.settings.corpus.cases),
            allow=settings.allow,
        )
        task = Task.of(
            subject,
            prompt,
            backend=settings.backend,
            attempts=CANDIDATES if catalogue else settings.attempts,
            search=catalogue,
            samples=1 if catalogue else settings.samples,
            allow=settings.allow,
            limits=Limits.of(program.settings.guard),
        )
        builder = prover = None
        unproven = ""
        if request.build:
            builder = ScratchBuilder.of(program.folder, subject.home.path, subject.profile, settings.allow)
        if request.prove and (request.build or recorded):
            place = make_executor(program.settings.prove, program.folder)
            try:
                prover = Prover.of(program.folder, subject, place, program.settings)
                prover = prover.on_input(request.input) if prover is not None and request.input else prover
            except NoTargetError as error:
                unproven = f"not proven: {error.sentence()}"
        return cls(
            program,
            past.corpus,
            task,
            backend,
            builder,
            prover,
            request,
            unproven,
            open=open_,
            prompt_file=prompt_file,
            answer_file=answer_file,
        )

    @property
    def subject(self) -> Subject:
        """The kernel, its evidence and its source."""
        return self.task.subject

    @property
    def prompt(self) -> Prompt:
        """What is asked."""
        return self.task.prompt

    @property
    def actions(self) -> tuple[Action, ...]:
        """What would leave the machine and what would be run."""
        actions: list[Action] = []
        destination = self.backend.destination
        if destination is not None and destination.backend != "manual":
            actions.append(
                Send(
                    backend=destination.backend,
                    destination=destination.where,
                    model=destination.model,
                    encrypted=destination.encrypted or destination.local,
                    size=Asked(prompt=self.prompt).size,
                )
            )
        if self.builder is not None and self.builder.commands:
            actions.append(Run(commands=self.builder.commands, why=self.builder.why))
        action = None if self.prover is None else self.prover.action
        if action is not None:
            actions.append(action)
        return tuple(actions)

    def dry_run(self) -> Rewriting:
        """What would be asked, where and with what commands, without doing any of it."""
        return optimize.dry_run(self.task, self.backend, self.builder)

    @property
    def rules(self) -> optimize.Rules:
        """How much is tried."""
        search, rewrite = self.program.settings.search, self.program.settings.rewrite
        return optimize.Rules(
            candidates=search.candidates if self.task.search else rewrite.samples,
            finals=search.finals,
            budget_s=search.budget_seconds or None,
            until_proven=self.task.search and self.prover is not None and not self.prover.compares,
        )

    async def run(self, notify: Notify = lambda _stage, _words: None) -> Rewriting:
        """Do it, in as many rounds as the settings say.

        Cancelling ends every process that was started. Raises OptimasError where no outcome is possible.
        """
        if self.program.settings.search.rounds > 1:
            from optimas_lsp.course.rounds import run_rounds

            return await run_rounds(self, notify)
        return await self.one_round(notify, self.rules)

    async def one_round(self, notify: Notify, rules: optimize.Rules, **known: Any) -> Rewriting:
        """One round by ``rules``; ``known`` are fields of its outcome. It is kept in the corpus."""
        started = datetime.now(UTC).replace(microsecond=0).isoformat()
        prover = self.told(notify)
        prove = _unproven(self.unproven) if self.unproven else None if prover is None else _in_turn(prover)
        rewriting = await optimize.optimize(
            self.task,
            self.backend,
            self.builder,
            prove=prove,
            screen=None if prover is None or not prover.compares else prover.screen,
            rules=rules,
            notify=notify,
        )
        rewriting = await asyncio.to_thread(scored, rewriting, self.subject)
        done = rewriting.model_copy(update={"started": started, **known})
        await asyncio.to_thread(self.corpus.keep, done, context=Context(project=self.program.folder.name))
        return done

    def told(self, notify: Notify) -> Prover | None:
        """The prover, whose progress is told."""
        return None if self.prover is None else replace(self.prover, on_event=_told(notify))


@dataclass(frozen=True, eq=False)
class _Past:
    """What past attempts give to one rewrite; ``query`` None: nothing."""

    corpus: Corpus
    query: Query | None
    study: bool

    @classmethod
    def of(cls, corpus: Corpus, subject: Subject, request: Request) -> _Past:
        return cls(corpus, None if request.past == "ignore" else Query.of(subject), request.past == "others")

    def cases(self, backend: Backend, most: int) -> tuple[PastCase, ...]:
        """For the prompt; the catalogue reads none. Code of other programs stays on this machine."""
        where = backend.destination
        if self.query is None or where is None:
            return ()
        leaves = not where.local or where.backend == "manual"  # a person may take it anywhere
        return self.corpus.past_cases(self.query, most=most, study=self.study, leaves=leaves)

    def experience(self) -> Experience | None:
        """For the catalogue's ranking."""
        query = self.query
        if query is None:
            return None
        without, own = (query, None) if self.study else (None, query)
        return self.corpus.experience(query.rules, without=without, own=own)


def _unproven(sentence: str) -> Prove:
    """What stands in for a proof that cannot be made."""

    async def prove(_candidate: Candidate, _verdict: Verdict) -> Proof:
        return Proof(state="not-proven", sentence=sentence)

    return prove


def _in_turn(prover: Prover) -> Prove:
    """Whole proofs of one search, each counted."""
    made = 0

    async def prove(candidate: Candidate, verdict: Verdict) -> Proof:
        nonlocal made
        made += 1
        return await prover.of_number(made).prove(candidate, verdict)

    return prove


def _told(notify: Notify) -> Callable[[Event], None]:
    """Progress of the proof, as it comes from a thread, told on this event loop."""
    loop = asyncio.get_running_loop()

    def tell(event: Event) -> None:
        count = "" if event.total is None else f" ({event.done} of {event.total})"
        loop.call_soon_threadsafe(notify, "prove", f"{event.stage}: {event.text}{count}")

    return tell


def _narrowed(subject: Subject, finding: str) -> Subject:
    """The subject with only this piece of evidence and what is about the whole kernel; without a name all of it."""
    if not finding:
        return subject
    kernel: KernelAnalysis = subject.kernel
    if not any(each.id == finding for each in kernel.evidence):
        raise FindingError(
            f"{kernel.base_name} has no finding {finding}",
            where=subject.source.path,
            remedy=f"choose of: {', '.join(each.id for each in kernel.evidence) or 'none'}",
        )
    kept = tuple(each for each in kernel.evidence if each.id == finding or each.location is None)
    return replace(subject, kernel=kernel.model_copy(update={"evidence": kept}))
