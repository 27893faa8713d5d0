"""``optimas prompt``: what a model would be asked about a kernel, printed and not sent anywhere."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from optimas_lsp.cli import output as output_file


class Format(Enum):
    """What the result looks like."""

    text = "text"
    json = "json"


def prompt(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="The file to change: with the kernel, or a header it uses.")
    ],
    *,
    profile: Annotated[
        Path, typer.Option("--profile", metavar="REPORT", help=".ncu-rep, .ncu-repz or .optimas.json[.zst] file.")
    ],
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="REGEX", help="Which kernel; without it the costliest in SOURCE.")
    ] = "",
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="LIST", help="Sources of evidence: pc, rl, ia, with commas, or all.")
    ] = "all",
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", min=1, help="Leave out the least valuable evidence above this."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="The program's folder; without it SOURCE's, or its optimas.toml's."
        ),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="Text for people, JSON for programs.")] = Format.text,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead.")
    ] = None,
) -> None:
    """Print the prompt for one kernel: its source with the evidence on its lines, the limits, the guardrails.

    Nothing is sent. The text is the same for the same input. JSON is the schema optimas.prompt/1.
    """
    from optimas_lsp.cli.rewriting import Program
    from optimas_lsp.rewrite.prompt import build_prompt
    from optimas_lsp.rewrite.subsets import parse_subset

    if output is not None:
        output_file.check(output, [profile, source])
    subset = parse_subset(evidence)
    program = Program.of(source, folder)
    settings = program.settings.rewrite
    found = build_prompt(
        program.subject(profile, kernel),
        subset=subset,
        max_tokens=max_tokens or settings.prompt_tokens,
        allow=settings.allow,
    )
    text = found.text if format_ is Format.text else found.model_dump_json(by_alias=True, indent=2) + "\n"
    output_file.emit(text, output)
