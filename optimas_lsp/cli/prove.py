"""``optimas prove``: build, run, compare and time one proposed rewrite, and say what came of it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.failures import say
from optimas_lsp.cli.options import (
    Accept,
    Allowed,
    Format,
    OneKernel,
    Output,
    ProofPlace,
    ProposalFile,
    RecordsFolder,
    Report,
    Reprofile,
    SlurmAccount,
    SlurmGpus,
    SlurmPartition,
    SlurmTime,
    SourceFile,
    SshHost,
    SshOptions,
    TextOrJson,
    proof_settings,
)
from optimas_lsp.cli.stopping import stopped_like_ctrl_c
from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

    from optimas_lsp.cli.rewriting import About
    from optimas_lsp.insight.evidence import KernelAnalysis
    from optimas_lsp.prove.executors.outcome import Executor, Outcome
    from optimas_lsp.prove.target import Target
    from optimas_lsp.rewrite.proposal import Proposal

NOT_PROVEN = 1


def prove(
    source: SourceFile,
    *,
    proposal: ProposalFile,
    profile: Report,
    kernel: OneKernel = "",
    allow: Allowed = None,
    executor: ProofPlace = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            "--inputs",
            metavar="NAME",
            help="Only this input of the table target.inputs; all: time every one and say which are won, tied, lost. "
            "Without it every input is compared and one is timed.",
        ),
    ] = None,
    reprofile: Reprofile = None,
    job: Annotated[
        Path | None, typer.Option("--job", metavar="DIR", help="Keep the job, its logs and its results here.")
    ] = None,
    host: SshHost = None,
    ssh_option: SshOptions = None,
    partition: SlurmPartition = None,
    account: SlurmAccount = None,
    gpus: SlurmGpus = None,
    time: SlurmTime = None,
    records: RecordsFolder = None,
    accept: Accept = False,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Prove a rewrite: build and run both versions in copies, compare them bit for bit, sanitize and time them.

    How to build and run it stands in the table target of its optimas.toml; without one it is inferred from its build
    files. What would be run is shown once and has to be accepted (optimas consent). JSON is
    optimas.proof/1.
    """
    from optimas_lsp.cli.consent import asker
    from optimas_lsp.cli.guard import judge
    from optimas_lsp.course import Program
    from optimas_lsp.prove.bundle import pack
    from optimas_lsp.prove.executors.making import make_executor
    from optimas_lsp.prove.inference import Wanted, find_target
    from optimas_lsp.prove.options import ncu_arguments, whole_proof
    from optimas_lsp.prove.proving import proof_action
    from optimas_lsp.prove.report import Proof, as_text, conclusion, over_inputs
    from optimas_lsp.prove.reprofile import Cited, judged
    from optimas_lsp.rewrite.candidate import Candidate
    from optimas_lsp.rewrite.consent import Consents, require

    if output is not None:
        output_file.check(output, [source, proposal, profile])
    everything = Program.of(source).settings
    settings = proof_settings(
        everything.prove,
        executor,
        host=host,
        ssh_option=ssh_option,
        partition=partition,
        account=account,
        gpus=gpus,
        time=time,
        records=records,
        reprofile=reprofile,
        time_inputs="all" if inputs == "all" else None,
    )
    program, proposed, verdict = judge(source, proposal, profile=profile, kernel=kernel, allow=allow)
    about = program.about(profile, kernel)
    touched, ceiling = _kernels(about, proposed)
    kernels = [each.mangled for each in touched]
    found = find_target(Wanted.of(program.folder, about.changeable[0].home, about.profile))
    target = _restricted(found.target, inputs)
    place = make_executor(settings, program.folder)
    again = ncu_arguments(about.profile, kernels) if settings.reprofile else ()
    action = proof_action(target, place, found.sentences, again)
    if action is not None and verdict.accepted:
        require(Consents.of_user(), program.folder, [action], asker(accept=accept))
    why = "; ".join(f"{rule.id}: {rule.message}" for rule in verdict.failures())
    static = {
        "status": "pass" if verdict.accepted else "fail",
        "sentence": why
        or "every guardrail passed" + (f", flagged: {', '.join(verdict.flags)}" if verdict.flags else ""),
    }
    data = program.source.read_bytes()
    candidate = Candidate.of(data, proposed, path=program.source) if verdict.accepted else None
    name = program.source.relative_to(program.folder).as_posix()
    with _folder(job) as folder:
        edited = data if candidate is None else candidate.edited
        pack(
            program.folder,
            target,
            {name: edited},
            folder,
            kernels=kernels,
            static=static,
            ceiling_speedup=ceiling,
            options=whole_proof(settings, target, again),
        )
        outcome, compared = judged(
            folder, _run(place, folder), Cited.by(proposed, about.profile, touched, kernels), everything
        )
    left_out = sorted(set(found.target.inputs) - set(target.inputs))
    inferred = [f"the target was inferred: {each}" for each in found.sentences]
    open_ = (*inferred, *outcome.not_checked, *([f"inputs left out: {', '.join(left_out)}"] if left_out else []))
    proof = Proof(
        source=name,
        executor=settings.executor,
        verdict=outcome.verdict or "cancelled",
        sentence=conclusion(outcome),
        gates=outcome.gates,
        not_checked=open_,
        recorded=outcome.recorded,
        machine=outcome.machine,
        timing=outcome.timing,
        inputs=over_inputs(outcome),
        compared=None if compared is None else compared.model_dump(mode="json", by_alias=True),
        job=outcome.job,
        diff="" if candidate is None else candidate.diff(name),
    )
    shown = proof.model_dump_json(indent=2) + "\n" if format_ is Format.json else output_file.readable(as_text(proof))
    output_file.emit(shown, output)
    if outcome.verdict != "proven":
        raise typer.Exit(NOT_PROVEN)


def _restricted(target: Target, name: str | None) -> Target:
    if name is None or name == "all":
        return target
    if name not in target.inputs:
        raise ConfigError(
            f"--inputs {name}: there is no such input", remedy=f"choose of: all, {', '.join(target.inputs)}"
        )
    only = {"inputs": {name: target.inputs[name]}, "time_input": None, "sanitize_input": None}
    return target.model_copy(update=only)


def _kernels(about: About, proposal: Proposal) -> tuple[list[KernelAnalysis], float | None]:
    """The report's kernels that the proposal changes, and the most that they may gain, if known."""
    changed = {each.function for each in proposal.functions}
    touched = {each.kernel.mangled: each.kernel for each in about.changeable if changed.intersection(each.functions)}
    ceilings = [each.roofline.ceiling if each.roofline is not None else None for each in touched.values()]
    limits = [None if ceiling is None else ceiling.plausible_speedup for ceiling in ceilings]
    known = [limit for limit in limits if limit is not None]
    return list(touched.values()), max(known) if known and len(known) == len(limits) else None


@contextmanager
def _folder(job: Path | None) -> Generator[Path]:
    if job is not None:
        yield job
        return
    from optimas_lsp.prove.scratch import scratch

    with scratch("proof") as folder:
        yield folder


def _run(place: Executor, job: Path) -> Outcome:
    """Submit, show progress on a terminal, collect; an interruption, SIGTERM or SIGHUP cancels the job first."""

    with stopped_like_ctrl_c():
        running = place.submit(job)
        try:
            for event in running.events():
                if sys.stderr.isatty():
                    count = "" if event.total is None else f" ({event.done}/{event.total})"
                    say(f"{event.stage}: {event.text}{count}")
            return running.collect()
        except KeyboardInterrupt:
            running.cancel()
            raise
