"""Proves a candidate where the settings say, with the program's own commands."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from optimas_lsp.config import Settings
from optimas_lsp.errors import ConfigError, OptimasError
from optimas_lsp.prove.bundle import BundleError, pack
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.executors.outcome import Event, Executor, Outcome, Running
from optimas_lsp.prove.executors.recorded import Recorded
from optimas_lsp.prove.executors.slurm import Slurm
from optimas_lsp.prove.executors.ssh import Ssh
from optimas_lsp.prove.inference import Wanted, find_target
from optimas_lsp.prove.options import ncu_arguments, only_timed, short_proof, whole_proof
from optimas_lsp.prove.report import conclusion
from optimas_lsp.prove.reprofile import Cited, judged
from optimas_lsp.prove.runner.tools import gpu
from optimas_lsp.prove.scratch import scratch
from optimas_lsp.prove.target import Target
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.consent import Run
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.outcome import Proof
from optimas_lsp.rewrite.prompt_writer import Subject


def proof_action(
    target: Target, executor: Executor, inferred: Sequence[str] = (), reprofile: Sequence[str] = ()
) -> Run | None:
    """What a proof runs: the build and the program on every input, many times; None for a recorded one.

    ``reprofile``: ncu's arguments, where both versions are profiled again. How another machine is reached is one of
    the commands: an option of ssh can name a program that runs here, and what was accepted is for one host.
    """
    if isinstance(executor, Recorded):
        return None
    words = "the proof, each many times"
    reached: tuple[tuple[str, ...], ...] = ()
    if isinstance(executor, Ssh):
        words += f", on {executor.host}, where the folder is copied to; ssh itself runs here, not in the copy"
        reached = (tuple(executor.reaching),)
    elif isinstance(executor, Slurm):
        words += ", as a Slurm job; sbatch itself runs here, not in the copy"
        reached = (("sbatch", *executor.asked),)
    words += "".join(f"; {each}" for each in inferred)
    decisive = target.inputs[target.time_input or next(iter(target.inputs))]
    profiled = (("ncu", *reprofile, *decisive),) if reprofile else ()
    return Run(commands=(*reached, *target.build, *target.inputs.values(), *profiled), why=words)


@dataclass(frozen=True)
class Prover:
    """Packs a job, runs it and waits for its end; cancelling ends every process of the job.

    ``on_event`` is told how it goes, from another thread; ``inferred`` says what was concluded from what where no
    ``[target]`` is configured. Where both versions are profiled again, the candidate's report is kept in the folder
    ``reports``, if there is one, under the digest of its source.
    """

    folder: Path
    subject: Subject
    target: Target
    executor: Executor
    on_event: Callable[[Event], None] = lambda _event: None
    inferred: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    reports: Path | None = None

    @classmethod
    def of(cls, folder: Path, subject: Subject, executor: Executor, settings: Settings | None = None) -> Prover | None:
        """A prover; None where there is no GPU on this machine and the proof would run here.

        Raises ConfigError for a wrong ``[target]``, and NoTargetError where there is none and none can be inferred.
        """
        if isinstance(executor, Local) and gpu() is None:
            return None
        found = find_target(Wanted.of(folder, subject.home.path, subject.profile))
        return cls(folder, subject, found.target, executor, inferred=found.sentences, settings=settings or Settings())

    def on_input(self, name: str) -> Prover:
        """The prover that decides by the time on this input; raises ConfigError where the target has none such."""
        if name not in self.target.inputs:
            raise ConfigError(
                f"there is no input '{name}'", where=self.folder, remedy=f"choose of: {', '.join(self.target.inputs)}"
            )
        return replace(self, target=self.target.model_copy(update={"time_input": name}))

    def of_number(self, number: int) -> Prover:
        """The prover for whole proof ``number`` of one search, from 1: later ones need a higher confidence.

        With proofs of equal candidates until one passes, some candidate would pass by chance. The k-th may err with
        1 / (k (k - 1)) of what the first may; over all k that sums up to as much again. Recorded ones measure nothing.
        """
        if number < 2 or not self.compares:
            return self
        proving = self.settings.prove
        level = 1 - (1 - proving.confidence) / (number * (number - 1))
        prove = proving.model_copy(update={"confidence": level})
        return replace(self, settings=self.settings.model_copy(update={"prove": prove}))

    @property
    def action(self) -> Run | None:
        """What is to be accepted before a proof."""
        return proof_action(self.target, self.executor, self.inferred, self._again())

    @property
    def compares(self) -> bool:
        """Whether short proofs can be made: not where results are recorded, for nothing is measured anew there."""
        return not isinstance(self.executor, Recorded)

    async def prove(self, candidate: Candidate, verdict: Verdict) -> Proof:
        """The whole proof's conclusion; a proof that cannot be made is ``not-proven`` with the reason."""
        options = whole_proof(self.settings.prove, self.target, self._again())
        with scratch("proof") as job:
            try:
                outcome = await self._outcome(job, candidate, verdict, options, self.target)
                cited = Cited.by(candidate.proposal, self.subject.profile, [self.subject.kernel], self._kernels())
                outcome, compared = await asyncio.to_thread(judged, job, outcome, cited, self.settings)
                await asyncio.to_thread(self._keep, job, candidate)
            except OptimasError as error:
                return Proof(state="not-proven", sentence=f"not proven: {error.sentence()}")
        return Proof(
            state=_STATES.get(outcome.verdict or "", "not-proven"),
            sentence=conclusion(outcome),
            details=outcome.model_dump(mode="json"),
            compared=None if compared is None else compared.model_dump(mode="json", by_alias=True),
        )

    async def screen(self, candidate: Candidate, verdict: Verdict, best: float | None) -> Proof:
        """A short proof on the input that is timed, to compare candidates by; never ``proven``.

        ``best``: see ``options.short_proof``.
        """
        options = short_proof(self.settings.prove, best)
        with scratch("proof") as job:
            try:
                outcome = await self._outcome(job, candidate, verdict, options, only_timed(self.target))
            except OptimasError as error:
                return Proof(state="not-proven", sentence=f"not proven: {error.sentence()}")
        timed = outcome.gate("time")
        sentence = conclusion(outcome)
        if outcome.verdict != "rejected" and timed is not None and outcome.timing is not None:
            sentence = f"a short proof, which only compares candidates: {timed.sentence}"
        state = "refuted" if outcome.verdict == "rejected" else "not-proven"
        return Proof(state=state, sentence=sentence, details=outcome.model_dump(mode="json"))

    def _again(self) -> tuple[str, ...]:
        """What ncu is told, where both versions are profiled again."""
        return ncu_arguments(self.subject.profile, self._kernels()) if self.settings.prove.reprofile else ()

    def report_of(self, candidate: str) -> Path | None:
        """The kept profile of the candidate whose source has this SHA-256; None where it was not profiled again."""
        place = None if self.reports is None else self.reports / f"{candidate}.ncu-rep"
        return place if place is not None and place.is_file() else None

    def _keep(self, job: Path, candidate: Candidate) -> None:
        report = job / "candidate.ncu-rep"
        if self.reports is not None and report.is_file():
            shutil.copyfile(report, self.reports / f"{candidate.sha256}.ncu-rep")

    async def _outcome(
        self, job: Path, candidate: Candidate, verdict: Verdict, options: Mapping[str, Any], target: Target
    ) -> Outcome:
        flags = f", flagged: {', '.join(verdict.flags)}" if verdict.flags else ""
        ceiling = self.subject.kernel.roofline.ceiling if self.subject.kernel.roofline is not None else None
        await asyncio.to_thread(
            pack,
            self.folder,
            target,
            {self.subject.source.name: candidate.edited},
            job,
            kernels=self._kernels(),
            static={"status": "pass", "sentence": f"every guardrail passed{flags}"},
            ceiling_speedup=None if ceiling is None else ceiling.plausible_speedup,
            options=options,
        )
        if (job / "tree" / self.subject.source.name).read_bytes() != candidate.original:
            raise BundleError(
                "the file was saved since the rewrite was asked for, so a proof would be about another text",
                where=self.subject.source.path,
                remedy="ask for the rewrite again",
            )
        running = await self._submitted(job)
        waiting = asyncio.ensure_future(asyncio.to_thread(_ended, running, self.on_event))
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            await asyncio.to_thread(running.cancel)
            with contextlib.suppress(OptimasError):
                await waiting
            raise

    async def _submitted(self, job: Path) -> Running:
        """The job under way: to start it takes seconds, here (a witness is built) as well as over ssh."""
        starting = asyncio.ensure_future(asyncio.to_thread(self.executor.submit, job))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OptimasError):
                await asyncio.to_thread((await starting).cancel)
            raise

    def _kernels(self) -> list[str]:
        """The kernel and whatever else was compiled from its definition, such as other instantiations."""
        syntax, kernel = self.subject.home.syntax, self.subject.kernel
        own = syntax.kernel(kernel.name, kernel.mangled)
        same = (each.mangled for each in self.subject.profile.kernels if syntax.kernel(each.name, each.mangled) == own)
        return list(dict.fromkeys([kernel.mangled, *same]))


_STATES: dict[str, Literal["proven", "refuted"]] = {"proven": "proven", "rejected": "refuted"}


def _ended(running: Running, on_event: Callable[[Event], None]) -> Outcome:
    for event in running.events():
        on_event(event)
    return running.collect()
