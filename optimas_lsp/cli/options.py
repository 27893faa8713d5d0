"""The options that several commands share, each said once: use them as annotations of a command's parameters."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from optimas_lsp.config import Prove


class Format(Enum):
    """What a result looks like."""

    text = "text"
    json = "json"


class Place(Enum):
    """Where a proof runs."""

    local = "local"
    ssh = "ssh"
    slurm = "slurm"
    recorded = "recorded"


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
OneKernel = Annotated[
    str, typer.Option("--kernel", metavar="REGEX", help="Only the kernel of the report that this means.")
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

ProofPlace = Annotated[
    Place | None, typer.Option("--executor", help="Where the proof runs; without it the setting prove.executor.")
]
SshHost = Annotated[str | None, typer.Option("--host", metavar="HOST", help="ssh: the host, as ssh knows it.")]
SshOptions = Annotated[
    list[str] | None, typer.Option("--ssh-option", metavar="WORD", help="ssh: passed on; may be repeated.")
]
SlurmPartition = Annotated[str | None, typer.Option("--partition", metavar="NAME", help="slurm: the partition.")]
SlurmAccount = Annotated[str | None, typer.Option("--account", metavar="NAME", help="slurm: the account.")]
SlurmGpus = Annotated[str | None, typer.Option("--gpus", metavar="GRES", help="slurm: what --gres asks for.")]
SlurmTime = Annotated[str | None, typer.Option("--time", metavar="TIME", help="slurm: the job's time limit.")]
RecordsFolder = Annotated[
    Path | None, typer.Option("--records", metavar="DIR", help="recorded: the folder of recorded results.")
]

Accept = Annotated[
    bool, typer.Option("--accept", help="Accept for this folder what would be sent and run (optimas consent).")
]

Reprofile = Annotated[
    bool | None,
    typer.Option(
        "--reprofile/--no-reprofile",
        help="Profile both versions again and say how the cited findings moved; needs ncu.",
    ),
]


def proof_settings(
    settings: Prove,
    place: Place | None,
    *,
    host: str | None,
    ssh_option: list[str] | None,
    partition: str | None,
    account: str | None,
    gpus: str | None,
    time: str | None,
    records: Path | None,
    reprofile: bool | None = None,
    time_inputs: str | None = None,
) -> Prove:
    """The settings with what the command line says instead; raises ConfigError for a place that lacks its address."""
    given: dict[str, object] = {
        "executor": None if place is None else place.value,
        "host": host,
        "ssh_options": None if ssh_option is None else tuple(ssh_option),
        "partition": partition,
        "account": account,
        "gpus": gpus,
        "time": time,
        "records": None if records is None else str(records.absolute()),
        "reprofile": reprofile,
        "time_inputs": time_inputs,
    }
    chosen = settings.model_copy(update={key: value for key, value in given.items() if value is not None})
    if place is Place.ssh and not chosen.host:
        raise ConfigError("--executor ssh needs a host", remedy="add --host NAME, as ssh knows it")
    if place is Place.recorded and not chosen.records:
        raise ConfigError("--executor recorded needs the results", remedy="add --records DIR")
    return chosen


HtmlPage = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write the outcome as one HTML page here.")
]
