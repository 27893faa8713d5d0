"""``optimas guard``: whether a proposal deserves to be built, and every rule that was checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Allowed, Format, OneKernel, Output, ProposalFile, TextOrJson
from optimas_lsp.errors import ConfigError, OptimasError, SourceError

if TYPE_CHECKING:
    from optimas_lsp.cli.rewriting import Program
    from optimas_lsp.rewrite.guard.model import Allowance, Verdict
    from optimas_lsp.rewrite.proposal import Proposal

REFUSED = 1


class ProposalError(OptimasError):
    """The file holds no proposal."""


def guard(
    original: Annotated[
        Path,
        typer.Argument(metavar="ORIGINAL", help="The file that is rewritten: a kernel's, or a header it uses."),
    ],
    *,
    proposal: ProposalFile,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile", metavar="REPORT", help="The report whose evidence is cited and whose kernels may change."
        ),
    ] = None,
    kernel: OneKernel = "",
    function: Annotated[
        list[str] | None,
        typer.Option("--function", metavar="NAME", help="A function that may change; may be repeated."),
    ] = None,
    allow: Allowed = None,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Check a proposed rewrite against every rule, without compiling or running anything.

    JSON is the schema optimas.verdict/1 (optimas schema verdict). Without --profile the existence of cited evidence is
    not checked, and without --function every kernel and device function may change, with --profile those it measured.
    """
    if output is not None:
        output_file.check(output, [original, proposal, *([profile] if profile else [])])
    verdict = judge(original, proposal, profile=profile, kernel=kernel, function=function, allow=allow)[2]
    shown = output_file.readable(as_text(verdict))
    if format_ is Format.json:
        shown = verdict.model_dump_json(indent=2) + "\n"
    output_file.emit(shown, output)
    if not verdict.accepted:
        raise typer.Exit(REFUSED)


def judge(
    original: Path,
    proposal: Path,
    *,
    profile: Path | None = None,
    kernel: str = "",
    function: list[str] | None = None,
    allow: list[str] | None = None,
) -> tuple[Program, Proposal, Verdict]:
    """The program, the proposal that was read, and the guardrails' verdict on it; the arguments are guard's options.

    Raises SourceError, ProposalError, ConfigError, and what reading a report raises.
    """
    from optimas_lsp.cli.rewriting import Program
    from optimas_lsp.rewrite.guard.model import Limits
    from optimas_lsp.rewrite.guardrails import examine
    from optimas_lsp.rewrite.project_headers import project_headers
    from optimas_lsp.rewrite.prompt_files import Files

    program = Program.of(original)
    files = Files([program.folder])
    unit = files.unit(program.source)
    if unit is None:
        raise SourceError("this is no readable CUDA or Triton source", where=original, remedy="give the kernel's file")
    proposed = _proposal(proposal)
    evidence: frozenset[str] | None = None
    allowed: list[str] | None = function
    if profile is not None:
        about = program.about(profile, kernel)
        evidence, allowed = about.evidence, about.functions if function is None else function
    settings = program.settings
    verdict = examine(
        unit.syntax.text,
        proposed,
        syntax=unit.syntax,
        allowed=allowed,
        evidence=evidence,
        allow=(*settings.rewrite.allow, *_allowances(allow or [])),
        limits=Limits.of(settings.guard),
        headers=project_headers(unit.path, unit.syntax.text.text, [program.folder]),
        name=unit.path.name,
    )
    return program, proposed, verdict


def as_text(verdict: Verdict) -> str:
    """The verdict for a person: what refuses first, then what the proof has to look at, then how much was checked."""
    lines: list[str] = []
    for status, mark in (("fail", "refused"), ("flag", "to prove")):
        for rule in verdict.rules:
            if rule.status != status:
                continue
            lines.append(f"{mark:9} {rule.id}: {rule.message}")
            lines += [
                f"{'':9} {each.function}:{each.file_line or each.line}: {each.text}" for each in rule.lines if each.line
            ]
    for rule in verdict.rules:
        if rule.status == "skipped":
            lines.append(f"{'skipped':9} {rule.id}: {rule.message}")
    passed = sum(rule.status == "pass" for rule in verdict.rules)
    said = "accepted" if verdict.accepted else "refused"
    lines.append(f"{said}: {passed} of {len(verdict.rules)} rules passed")
    return "\n".join(lines) + "\n"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=path, remedy="check the path") from None


def _proposal(path: Path) -> Proposal:
    from optimas_lsp.rewrite.parse import NoProposal, parse_answer

    found = parse_answer(_bytes(path).decode("utf-8", "replace"))
    if isinstance(found, NoProposal):
        raise ProposalError(found.sentence, where=path, remedy="optimas schema proposal says what it must look like")
    return found


def _allowances(chosen: list[str]) -> list[Allowance]:
    from optimas_lsp.rewrite.guard.model import ALLOWANCES

    for each in chosen:
        if each not in ALLOWANCES:
            raise ConfigError(
                f"--allow {each}: there is no such permission", remedy=f"choose of: {', '.join(ALLOWANCES)}"
            )
    return cast("list[Allowance]", chosen)
