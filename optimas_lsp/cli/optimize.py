"""``optimas optimize``: ask for a rewrite of one kernel, police the answer, build it, and say how it ended."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli import stopping
from optimas_lsp.cli.options import (
    Accept,
    EvidenceList,
    Folder,
    Format,
    HtmlPage,
    KernelPattern,
    Output,
    ProofPlace,
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

if TYPE_CHECKING:
    from optimas_lsp.rewrite.guard.model import RuleVerdict
    from optimas_lsp.rewrite.optimize import Notify
    from optimas_lsp.rewrite.outcome import Rewriting

NOT_DONE = 1


class BackendChoice(Enum):
    """Who proposes."""

    catalogue = "catalogue"
    openai = "openai"
    gemini = "gemini"
    ollama = "ollama"
    manual = "manual"


def optimize(
    source: SourceFile,
    *,
    profile: Report,
    kernel: KernelPattern = "",
    backend: Annotated[
        BackendChoice | None, typer.Option("--backend", help="Who proposes; without it the setting rewrite.backend.")
    ] = None,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="The model, for a backend that is one.")] = "",
    evidence: EvidenceList = "all",
    transformation: Annotated[
        str,
        typer.Option("--transformation", metavar="NAME", help="Only this one of the catalogue (docs/catalogue.md)."),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and run, and do neither.")
    ] = False,
    build: Annotated[
        bool, typer.Option("--build/--no-build", help="Build the candidate; otherwise only judge it.")
    ] = True,
    prove: Annotated[bool, typer.Option("--prove/--no-prove", help="Prove the candidate, if that is possible.")] = True,
    accept: Accept = False,
    prompt_file: Annotated[
        Path | None, typer.Option("--prompt-file", metavar="FILE", help="Backend manual: write the prompt here.")
    ] = None,
    answer_file: Annotated[
        Path | None, typer.Option("--answer-file", metavar="FILE", help="Backend manual: take the answer from here.")
    ] = None,
    folder: Folder = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates",
            min=1,
            max=50,
            metavar="N",
            help="Compare so many of the catalogue, or samples of a model, by short proofs before the best is proven.",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            min=0,
            metavar="SECONDS",
            help="After this time no further candidate or round is begun; 0: no limit.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            min=1,
            max=20,
            metavar="N",
            help="Rounds at most, each from the last winner and its new profile.",
        ),
    ] = None,
    reprofile: Reprofile = None,
    executor: ProofPlace = None,
    host: SshHost = None,
    ssh_option: SshOptions = None,
    partition: SlurmPartition = None,
    account: SlurmAccount = None,
    gpus: SlurmGpus = None,
    time: SlurmTime = None,
    records: RecordsFolder = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Where to keep what a person has to look at."),
    ] = None,
    html: HtmlPage = None,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Ask for a rewrite of one kernel; judge, build and, where that is possible, prove the answer.

    SOURCE itself is never changed: the outcome holds the change. JSON is the schema optimas.rewrite/1.
    """
    from optimas_lsp.cli.consent import asker
    from optimas_lsp.cli.failures import say
    from optimas_lsp.cli.rewriting import open_report
    from optimas_lsp.course import Course, Program, Request
    from optimas_lsp.rewrite.cases import keep as keep_case
    from optimas_lsp.rewrite.consent import Consents, require, state_folder

    if output is not None:
        output_file.check(output, [profile, source])
    if html is not None:
        output_file.check(html, [profile, source])
    settings = Program.of(source, folder).settings
    changed = {"backend": backend.value if backend else None, "model": model or None}
    rewrite = settings.rewrite.model_copy(update={key: each for key, each in changed.items() if each})
    if candidates is not None and rewrite.backend != "catalogue":
        rewrite = rewrite.model_copy(update={"samples": candidates})
    limits = {"candidates": candidates, "budget_seconds": budget, "rounds": rounds}
    search = settings.search.model_copy(update={key: each for key, each in limits.items() if each is not None})
    proving = proof_settings(
        settings.prove,
        executor,
        host=host,
        ssh_option=ssh_option,
        partition=partition,
        account=account,
        gpus=gpus,
        time=time,
        records=records,
        reprofile=reprofile,
    )
    request = Request(
        source=source.absolute(),
        profile=profile.absolute(),
        folder=None if folder is None else folder.absolute(),
        kernel=kernel,
        settings=settings.model_copy(update={"rewrite": rewrite, "prove": proving, "search": search}).model_dump(),
        evidence=evidence,
        transformation=transformation,
        build=build,
        prove=prove,
    )
    course = Course.of(request, open_=open_report, prompt_file=prompt_file, answer_file=answer_file)
    if dry_run:
        outcome = course.dry_run()
    else:
        require(Consents.of_user(), course.program.folder, course.actions, asker(accept=accept))
        with _progress() as notify:
            outcome = stopping.run(course.run(notify))
        for note in course.corpus.notes:
            say(note.text)
        if outcome.status == "manual-review":
            outcome = keep_case(outcome, keep or state_folder() / "cases")
    text = output_file.readable(as_text(outcome))
    if format_ is Format.json:
        text = outcome.model_dump_json(by_alias=True, indent=2) + "\n"
    output_file.emit(text, output)
    if html is not None:
        from optimas_lsp.report.html import outcome_page

        output_file.emit(outcome_page(outcome), html)
    if outcome.status in {"refuted", "no-proposal", "manual-review"}:
        raise typer.Exit(NOT_DONE)


@contextmanager
def _progress() -> Generator[Notify]:
    """The stage on standard error while a person watches; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _stage, _words: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda stage, words: bar.update(task, description=f"{stage}: {words}")


def as_text(outcome: Rewriting) -> str:
    """The outcome for a person: what came of it, each try, tokens and cost, EAR, the change and why."""
    from optimas_lsp.score.ear import recorded
    from optimas_lsp.score.words import in_one_line

    lines = [f"{outcome.status}: {outcome.sentence}", f"kernel   {outcome.kernel}"]
    lines.append(f"backend  {outcome.backend}" + (f" ({outcome.destination.where})" if outcome.destination else ""))
    prompt = outcome.prompt
    lines.append(f"prompt   about {prompt.tokens:,} tokens, evidence {', '.join(prompt.evidence)}")
    lines += [f"         left out: {', '.join(prompt.dropped)}"] if prompt.dropped else []
    if prompt.elsewhere:
        lines.append(
            f"         findings also lie in {', '.join(prompt.elsewhere)}: give that file as SOURCE to change it"
        )
    lines += [f"build    {' '.join(command)}" for command in outcome.commands]
    lines += _tries(outcome)
    usage = outcome.usage
    if usage.input_tokens is not None or usage.output_tokens is not None:
        cost = "unknown cost" if usage.cost_usd is None else f"USD {usage.cost_usd:.4f}"
        lines.append(
            f"tokens   {usage.input_tokens or 0:,} in, {usage.output_tokens or 0:,} out; {cost} ({usage.price})"
        )
    lines += [f"kept     {outcome.kept}"] if outcome.kept else []
    scores = recorded(outcome)
    lines += [f"EAR      {in_one_line(scores)}"] if scores is not None else []
    lines += [f"moved    {said}" for said in _moved(outcome)]
    shown = outcome.standing or outcome.last
    if outcome.status == "candidate" and shown is not None:
        lines += ["", (outcome.diff or shown.diff).rstrip("\n")]
        lines += [f"flagged  {rule.id}: {rule.message}" for rule in _flags(outcome)]
    lines += ["", *outcome.explanation] if outcome.explanation else []
    return "\n".join(lines) + "\n"


def _tries(outcome: Rewriting) -> Iterator[str]:
    """Each try with what became of it, round by round where there were several, and why there are no more."""
    for number, one in enumerate(outcome.rounds or (outcome,), 1):
        if outcome.rounds:
            yield f"round {number}  {one.status}: {one.sentence}"
        for attempt in one.attempts:
            said = attempt.problem or "stands"
            gain = attempt.screened.gain if attempt.screened is not None and attempt.problem else None
            said += f"; {gain.speedup:.3g} times shorter in its short proof" if gain is not None else ""
            where = f" (at {attempt.stopped_at})" if attempt.stopped_at else ""
            yield f"try {attempt.number}    {said}{where}, {attempt.reply.seconds:.1f} s"
    if outcome.ended:
        yield f"ended    {outcome.ended}"


def _moved(outcome: Rewriting) -> list[str]:
    """How the cited findings moved, where both versions were profiled again."""
    gates: list[dict[str, Any]] = [] if outcome.proof is None else outcome.proof.details.get("gates") or []
    facts: list[dict[str, Any]] = [gate.get("facts") or {} for gate in gates]
    return [str(said) for each in facts for said in each.get("cited") or ()]


def _flags(outcome: Rewriting) -> list[RuleVerdict]:
    shown = outcome.standing or outcome.last
    verdict = shown.verdict if shown is not None else None
    return [] if verdict is None else [rule for rule in verdict.rules if rule.status == "flag"]
