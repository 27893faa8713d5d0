"""Proves a candidate where the settings say, with the program's own commands."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimas_lsp.errors import OptimasError
from optimas_lsp.prove.bundle import pack
from optimas_lsp.prove.executors.local import Local
from optimas_lsp.prove.executors.outcome import Event, Executor, Outcome, Running
from optimas_lsp.prove.executors.recorded import Recorded
from optimas_lsp.prove.executors.slurm import Slurm
from optimas_lsp.prove.executors.ssh import Ssh
from optimas_lsp.prove.inference import Wanted, find_target
from optimas_lsp.prove.report import conclusion
from optimas_lsp.prove.runner.tools import gpu
from optimas_lsp.prove.target import Target
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.consent import Run
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.outcome import Proof
from optimas_lsp.rewrite.prompt_writer import Subject


def proof_action(target: Target, executor: Executor, inferred: Sequence[str] = ()) -> Run | None:
    """What a proof runs: the build and the program on every input, many times; None for a recorded one."""
    if isinstance(executor, Recorded):
        return None
    words = "the proof, each many times"
    if isinstance(executor, Ssh):
        words += f", on {executor.host}, where the folder is copied to"
    elif isinstance(executor, Slurm):
        words += ", as a Slurm job"
    words += "".join(f"; {each}" for each in inferred)
    return Run(commands=(*target.build, *target.inputs.values()), why=words)


@dataclass(frozen=True)
class Prover:
    """Packs a job, runs it and waits for its end; cancelling ends every process of the job.

    ``on_event`` is told how it goes, from another thread; ``inferred`` says what was concluded from what where no
    ``[target]`` is configured.
    """

    folder: Path
    subject: Subject
    target: Target
    executor: Executor
    on_event: Callable[[Event], None] = lambda _event: None
    inferred: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path, subject: Subject, executor: Executor) -> Prover | None:
        """A prover; None where there is no GPU on this machine and the proof would run here.

        Raises ConfigError for a wrong ``[target]``, and NoTargetError where there is none and none can be inferred.
        """
        if isinstance(executor, Local) and gpu() is None:
            return None
        found = find_target(Wanted.of(folder, subject.home.path, subject.profile))
        return cls(folder, subject, found.target, executor, inferred=found.sentences)

    @property
    def action(self) -> Run | None:
        """What is to be accepted before a proof."""
        return proof_action(self.target, self.executor, self.inferred)

    async def prove(self, candidate: Candidate, verdict: Verdict) -> Proof:
        """The proof's conclusion; a proof that cannot be made is ``not-proven`` with the reason."""
        with tempfile.TemporaryDirectory(prefix="optimas-proof-", ignore_cleanup_errors=True) as job:
            try:
                outcome = await self._outcome(Path(job), candidate, verdict)
            except OptimasError as error:
                return Proof(state="not-proven", sentence=f"not proven: {error.sentence()}")
        state = {"proven": "proven", "rejected": "refuted"}.get(outcome.verdict or "", "not-proven")
        details = outcome.model_dump(mode="json")
        return Proof.model_validate({"state": state, "sentence": conclusion(outcome), "details": details})

    async def _outcome(self, job: Path, candidate: Candidate, verdict: Verdict) -> Outcome:
        flags = f", flagged: {', '.join(verdict.flags)}" if verdict.flags else ""
        ceiling = self.subject.kernel.roofline.ceiling if self.subject.kernel.roofline is not None else None
        await asyncio.to_thread(
            pack,
            self.folder,
            self.target,
            {self.subject.source.name: candidate.edited},
            job,
            kernels=self._kernels(),
            static={"status": "pass", "sentence": f"every guardrail passed{flags}"},
            ceiling_speedup=None if ceiling is None else ceiling.work_speedup,
        )
        running = self.executor.submit(job)
        waiting = asyncio.ensure_future(asyncio.to_thread(_ended, running, self.on_event))
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            await asyncio.to_thread(running.cancel)
            with contextlib.suppress(OptimasError):
                await waiting
            raise

    def _kernels(self) -> list[str]:
        """The kernel and whatever else was compiled from its definition, such as other instantiations."""
        syntax, kernel = self.subject.home.syntax, self.subject.kernel
        own = syntax.kernel(kernel.name, kernel.mangled)
        same = (each.mangled for each in self.subject.profile.kernels if syntax.kernel(each.name, each.mangled) == own)
        return list(dict.fromkeys([kernel.mangled, *same]))


def _ended(running: Running, on_event: Callable[[Event], None]) -> Outcome:
    for event in running.events():
        on_event(event)
    return running.collect()
