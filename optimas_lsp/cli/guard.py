"""``optimas guard``: whether a proposal deserves to be built, and every rule that was checked."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.config import FILE_NAME, Settings, from_toml
from optimas_lsp.errors import ConfigError, OptimasError, SourceError

if TYPE_CHECKING:
    from optimas_lsp.rewrite.guard.model import Allowance, Verdict
    from optimas_lsp.rewrite.proposal import Proposal
    from optimas_lsp.source.syntax import Syntax

REFUSED = 1


class Format(Enum):
    """What the verdict looks like."""

    text = "text"
    json = "json"


class ProposalError(OptimasError):
    """The file holds no proposal."""


def guard(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The CUDA source that the proposal rewrites.")],
    *,
    proposal: Annotated[
        Path, typer.Option("--proposal", metavar="FILE", help="The proposal: JSON, or a model's answer that holds it.")
    ],
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile", metavar="REPORT", help="The report whose evidence is cited and whose kernels may change."
        ),
    ] = None,
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="REGEX", help="Only kernels of the report whose name this matches.")
    ] = "",
    function: Annotated[
        list[str] | None,
        typer.Option("--function", metavar="NAME", help="A function that may change; may be repeated."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="WHAT", help="Permit what is refused by default; may be repeated."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="Text for people, JSON for programs.")] = Format.text,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead.")
    ] = None,
) -> None:
    """Check a proposed rewrite against every rule, without compiling or running anything.

    Exit status 0: accepted, flags may remain for the proof; 1: refused; 2: a file cannot be read or is no proposal.
    JSON is the schema optimas.verdict/1 (optimas schema verdict). Without --profile the existence of cited evidence is
    not checked, and without --function every kernel and device function may change, with --profile those it measured.
    """
    from optimas_lsp.rewrite.guard.model import Limits
    from optimas_lsp.rewrite.guardrails import examine
    from optimas_lsp.rewrite.project_headers import project_headers
    from optimas_lsp.source.syntax import language_of, parse
    from optimas_lsp.source.text import SourceText, decode

    if output is not None:
        output_file.check(output, [original, proposal, *([profile] if profile else [])])
    text = SourceText.of(decode(_bytes(original)).text)
    if language_of(original) == "python":
        raise SourceError("the guardrails read CUDA only", where=original, remedy="have a person look at this rewrite")
    proposed = _proposal(proposal)
    settings = _settings(original)
    syntax = parse(text, "cuda")
    evidence: frozenset[str] | None = None
    allowed: list[str] | None = function
    if profile is not None:
        evidence, kernels = _measured(profile, kernel, original, syntax)
        allowed = kernels if function is None else function
    verdict = examine(
        text,
        proposed,
        syntax=syntax,
        allowed=allowed,
        evidence=evidence,
        allow=(*settings.rewrite.allow, *_allowances(allow or [])),
        limits=Limits.of(settings.guard),
        headers=project_headers(original, text.text),
    )
    shown = verdict.model_dump_json(indent=2) + "\n" if format_ is Format.json else as_text(verdict)
    output_file.emit(shown, output)
    if not verdict.accepted:
        raise typer.Exit(REFUSED)


def as_text(verdict: Verdict) -> str:
    """The verdict for a person: what refuses first, then what the proof has to look at, then how much was checked."""
    lines: list[str] = []
    for status, mark in (("fail", "refused"), ("flag", "to prove")):
        for rule in verdict.rules:
            if rule.status != status:
                continue
            lines.append(f"{mark:9} {rule.id}: {rule.message}")
            lines += [f"{'':9} {each.function}:{each.line}: {each.text}" for each in rule.lines if each.line]
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


def _settings(original: Path) -> Settings:
    file = original.absolute().parent / FILE_NAME
    return from_toml(file) if file.is_file() else Settings()


def _allowances(chosen: list[str]) -> list[Allowance]:
    from optimas_lsp.rewrite.guard.model import ALLOWANCES

    for each in chosen:
        if each not in ALLOWANCES:
            raise ConfigError(
                f"--allow {each}: there is no such permission", remedy=f"choose of: {', '.join(ALLOWANCES)}"
            )
    return cast("list[Allowance]", chosen)


def _measured(profile: Path, kernel: str, original: Path, syntax: Syntax) -> tuple[frozenset[str], list[str]]:
    """The ids of all evidence in the report, and the functions of the file that its kernels reach."""
    from optimas_lsp.cli.reading import Reader
    from optimas_lsp.rewrite.reach import reached

    reader = Reader.of(sources=[original.absolute().parent], kernel=kernel, keep_all=True)
    analysis = reader.read(profile).analysis
    found = [match for each in analysis.kernels if (match := syntax.kernel(each.name, each.mangled)) is not None]
    if not found:
        names = ", ".join(sorted({each.base_name for each in analysis.kernels})) or "none"
        raise SourceError(
            "none of the report's kernels is defined in this file",
            where=original,
            remedy=f"give the file that defines one of: {names}",
        )
    ids = frozenset(evidence.id for each in analysis.kernels for evidence in each.evidence)
    return ids, [function.shown_name for function in reached(syntax, found)]
