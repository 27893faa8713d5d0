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
    from optimas_lsp.rewrite.tries import Try

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
    asked = "" if outcome.backend == "catalogue" else f"about {prompt.tokens:,} tokens, evidence "  # which reads none
    lines.append(f"{'prompt  ' if asked else 'evidence'} {asked}{', '.join(prompt.evidence)}")
    lines += [f"         left out: {', '.join(prompt.dropped)}"] if prompt.dropped else []
    if prompt.elsewhere and prompt.elsewhere[0] not in outcome.sentence:
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
    of = f"try {outcome.nearest}: " if outcome.nearest is not None else ""
    lines += [f"EAR      {of}{in_one_line(scores)}"] if scores is not None else []
    lines += _checked(outcome)
    lines += [f"moved    {said}" for said in _moved(outcome)]
    shown = outcome.standing or outcome.last
    if outcome.status == "candidate" and shown is not None:
        lines += ["", (outcome.diff or shown.diff).rstrip("\n")]
        lines += [f"flagged  {rule.id}: {rule.message}" for rule in _flags(outcome)]
    lines += ["", *outcome.explanation] if outcome.explanation else []
    return "\n".join(lines) + "\n"


def _tries(outcome: Rewriting) -> Iterator[str]:
    """Each try with what became of it, round by round where there were several, and why there are no more."""
    from optimas_lsp.rewrite.tries import time_spent, tries_of

    for number, one in enumerate(outcome.rounds or (outcome,), 1):
        if outcome.rounds:
            yield f"round {number}  {one.status}: {one.sentence}"
        tries = tries_of(one)
        for each in tries:
            yield from _try(each, one)
        spent = time_spent(tries)
        yield from (f"proofs   took {spent}",) if spent else ()
    if outcome.ended:
        yield f"ended    {outcome.ended}"


def _try(each: Try, one: Rewriting) -> Iterator[str]:
    """What it changes; what became of it, what was timed and how long that took."""
    attempt = one.attempts[each.number - 1]
    said = each.said + (
        f" (at {attempt.stopped_at})" if attempt.stopped_at not in {None, "prove"} and not attempt.unchanged else ""
    )
    gain = each.gain
    if gain is not None and gain.factor not in said:
        said += f"; {gain.words}{' in a short proof' if each.short else ''}"
    if one.backend != "catalogue":
        said += f"; answered in {attempt.reply.seconds:.1f} s"
    if each.steps:
        waited = f" and waited {each.waited_s:.0f} s" if each.waited_s >= 0.5 else ""
        said += f"; took {each.took_s:.0f} s{waited}"
    yield f"try {each.number:<4} {each.label or said}"
    if each.label:
        yield f"         {said}"


def _checked(outcome: Rewriting) -> Iterator[str]:
    """The gates of the whole proof of what stands, those that passed in a line."""
    from optimas_lsp.score.effect import measured

    gates = measured(outcome.proof).gates if outcome.standing is not None else ()
    held = [each.name for each in gates if each.status == "pass"]
    if held:
        yield f"gates    passed: {', '.join(held)}"
    for each in gates:
        if each.status != "pass":
            yield f"         {each.status}: {each.name}: {each.sentence}"


def _moved(outcome: Rewriting) -> list[str]:
    """How the cited findings moved, where both versions were profiled again."""
    gates: list[dict[str, Any]] = [] if outcome.proof is None else outcome.proof.details.get("gates") or []
    facts: list[dict[str, Any]] = [gate.get("facts") or {} for gate in gates]
    return [str(said) for each in facts for said in each.get("cited") or ()]


def _flags(outcome: Rewriting) -> list[RuleVerdict]:
    shown = outcome.standing or outcome.last
    verdict = shown.verdict if shown is not None else None
    return [] if verdict is None else [rule for rule in verdict.rules if rule.status == "flag"]
