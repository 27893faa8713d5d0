"""The options that several commands share, each said once: use them as annotations of a command's parameters."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Format(Enum):
    """What a result looks like."""

    text = "text"
    json = "json"


SourceFile = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="The file to change: with the kernel, or a header it uses.")
]
ProposalFile = Annotated[
    Path, typer.Option("--proposal", metavar="FILE", help="The proposal: JSON, or a model's answer that holds it.")
]
Report = Annotated[
    Path, typer.Option("--profile", metavar="REPORT", help=".ncu-rep, .ncu-repz or .optimas.json[.zst] file.")
]
KernelPattern = Annotated[
    str, typer.Option("--kernel", metavar="REGEX", help="Which kernel; without it the costliest in SOURCE.")
]
EvidenceList = Annotated[
    str, typer.Option("--evidence", metavar="LIST", help="Sources of evidence: pc, rl, ia, with commas, or all.")
]
Allowed = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="WHAT", help="Permit what is refused by default; may be repeated."),
]
Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="The program's folder; without it SOURCE's, or its optimas.toml's."),
]
Sources = Annotated[
    list[Path] | None,
    typer.Option("--source", metavar="DIR", help="Folder with the sources and optimas.toml; may be repeated."),
]
TextOrJson = Annotated[Format, typer.Option("--format", help="Text for people, JSON for programs.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead.")]
