"""``optimas prompt``: what a model would be asked about a kernel, printed and not sent anywhere."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import EvidenceList, Folder, Format, KernelPattern, Output, Report, SourceFile, TextOrJson


def prompt(
    source: SourceFile,
    *,
    profile: Report,
    kernel: KernelPattern = "",
    evidence: EvidenceList = "all",
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", min=1, help="Leave out the least valuable evidence above this."),
    ] = None,
    folder: Folder = None,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Print the prompt for one kernel: its source with the evidence on its lines, the limits, the guardrails.

    Nothing is sent. The text is the same for the same input and the same past attempts, which it tells of as it would
    to a service (without code of other programs). JSON is the schema optimas.prompt/1.
    """
    from optimas_lsp.cli.failures import say
    from optimas_lsp.cli.rewriting import Program
    from optimas_lsp.corpus import Corpus, Query
    from optimas_lsp.rewrite.prompt import build_prompt
    from optimas_lsp.rewrite.subsets import parse_subset

    if output is not None:
        output_file.check(output, [profile, source])
    subset = parse_subset(evidence)
    program = Program.of(source, folder)
    settings = program.settings.rewrite
    subject = program.subject(profile, kernel)
    corpus = Corpus.of_user(program.settings.corpus)
    cases = corpus.past_cases(Query.of(subject), most=program.settings.corpus.cases, leaves=True)
    for note in corpus.notes:
        say(note.text)
    found = build_prompt(
        subject,
        subset=subset,
        max_tokens=max_tokens or settings.prompt_tokens,
        cases=cases,
        allow=settings.allow,
    )
    text = found.text if format_ is Format.text else found.model_dump_json(by_alias=True, indent=2) + "\n"
    output_file.emit(output_file.readable(text) if output is None and sys.stdout.isatty() else text, output)
