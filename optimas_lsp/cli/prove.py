"""``optimas prove``: build, run, compare and time one proposed rewrite, and say what came of it."""

from __future__ import annotations

import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.failures import say
from optimas_lsp.cli.options import (
    Allowed,
    Format,
    KernelPattern,
    Output,
    ProofPlace,
    ProposalFile,
    RecordsFolder,
    Report,
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
from optimas_lsp.errors import ConfigError, SourceError

if TYPE_CHECKING:
    from collections.abc import Generator

    from optimas_lsp.cli.rewriting import Program as Reading
    from optimas_lsp.prove.executors.outcome import Executor, Outcome
    from optimas_lsp.prove.target import Target
    from optimas_lsp.rewrite.proposal import Proposal

NOT_PROVEN = 1


def prove(
    source: SourceFile,
    *,
    proposal: ProposalFile,
    profile: Report,
    kernel: KernelPattern = "",
    allow: Allowed = None,
    executor: ProofPlace = None,
    inputs: Annotated[
        str, typer.Option("--inputs", metavar="NAME", help="One input of the table target.inputs, or all.")
    ] = "all",
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
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Prove a rewrite: build and run both versions in copies, compare them bit for bit, sanitize and time them.

    How to build and run it stands in the table target of its optimas.toml. Exit status 0: proven; 1: rejected or not
    proven, for instance because there is no GPU; 2: the proof could not be made. JSON is the schema optimas.proof/1.
    """
    from optimas_lsp.cli.guard import judge
    from optimas_lsp.config import FILE_NAME
    from optimas_lsp.course import Program
    from optimas_lsp.prove.bundle import pack
    from optimas_lsp.prove.executors.making import make_executor
    from optimas_lsp.prove.report import Proof, as_text, conclusion
    from optimas_lsp.prove.target import read_target
    from optimas_lsp.rewrite.candidate import Candidate

    if output is not None:
        output_file.check(output, [source, proposal, profile])
    settings = proof_settings(
        Program.of(source).settings.prove,
        executor,
        host=host,
        ssh_option=ssh_option,
        partition=partition,
        account=account,
        gpus=gpus,
        time=time,
        records=records,
    )
    program, proposed, verdict = judge(source, proposal, profile=profile, kernel=kernel, allow=allow)
    toml = program.folder / FILE_NAME
    if not toml.is_file():
        raise SourceError(
            "nothing says how to build and run this program",
            where=program.source,
            remedy=f"put a [target] table into {FILE_NAME} beside it, see docs/proof.md",
        )
    whole = read_target(toml)
    target = _restricted(whole, inputs)
    why = "; ".join(f"{rule.id}: {rule.message}" for rule in verdict.failures())
    static = {
        "status": "pass" if verdict.accepted else "fail",
        "sentence": why
        or "every guardrail passed" + (f", flagged: {', '.join(verdict.flags)}" if verdict.flags else ""),
    }
    data = program.source.read_bytes()
    candidate = Candidate.of(data, proposed, path=program.source) if verdict.accepted else None
    name = program.source.relative_to(program.folder).as_posix()
    kernels, ceiling = _kernels(program, profile, kernel, proposed)
    with _folder(job) as folder:
        edited = data if candidate is None else candidate.edited
        pack(program.folder, target, {name: edited}, folder, kernels=kernels, static=static, ceiling_speedup=ceiling)
        outcome = _run(make_executor(settings, program.folder), folder)
    left_out = sorted(set(whole.inputs) - set(target.inputs))
    open_ = (*outcome.not_checked, *([f"inputs left out: {', '.join(left_out)}"] if left_out else []))
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
        job=outcome.job,
        diff="" if candidate is None else candidate.diff(name),
    )
    shown = proof.model_dump_json(indent=2) + "\n" if format_ is Format.json else as_text(proof)
    output_file.emit(shown, output)
    if outcome.verdict != "proven":
        raise typer.Exit(NOT_PROVEN)


def _restricted(target: Target, name: str) -> Target:
    if name == "all":
        return target
    if name not in target.inputs:
        raise ConfigError(
            f"--inputs {name}: there is no such input", remedy=f"choose of: all, {', '.join(target.inputs)}"
        )
    only = {"inputs": {name: target.inputs[name]}, "time_input": None, "sanitize_input": None}
    return target.model_copy(update=only)


def _kernels(program: Reading, report: Path, pattern: str, proposal: Proposal) -> tuple[list[str], float | None]:
    """Mangled names of the report's kernels that the proposal changes, and the most that they may gain, if known."""
    from dataclasses import replace

    from optimas_lsp.rewrite.prompt_files import Files
    from optimas_lsp.rewrite.prompt_marks import Marks
    from optimas_lsp.rewrite.prompt_reach import reach

    if pattern:
        subject = program.subject(report, pattern)
        profile, kernels = subject.profile, (subject.kernel,)
    else:
        reading = replace(program.reader, keep_all=True).read(report)
        profile, kernels = reading.profile, reading.analysis.kernels
    files = Files([program.folder])
    unit, marks = files.unit(program.source), Marks(profile, files)
    changed = {each.function for each in proposal.functions}
    names: list[str] = []
    limits: list[float | None] = []
    for each in kernels:
        found = None if unit is None else unit.syntax.kernel(each.name, each.mangled)
        if unit is None or found is None:
            continue
        reached = {function.shown_name for function in reach(unit, found, each, marks).changeable}
        if changed & reached and each.mangled not in names:
            names.append(each.mangled)
            ceiling = each.roofline.ceiling if each.roofline is not None else None
            limits.append(None if ceiling is None else ceiling.work_speedup)
    known = [limit for limit in limits if limit is not None]
    return names, max(known) if known and len(known) == len(limits) else None


@contextmanager
def _folder(job: Path | None) -> Generator[Path]:
    if job is not None:
        yield job
        return
    with tempfile.TemporaryDirectory(prefix="optimas-proof-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _run(place: Executor, job: Path) -> Outcome:
    """Submit, show progress on a terminal, collect; an interruption or SIGTERM cancels the job first."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
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
    finally:
        signal.signal(signal.SIGTERM, before)
