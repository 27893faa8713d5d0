"""``optimas target``: how a program is built and run, as configured or as inferred, ready for ``optimas.toml``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Folder, Format, Output, TextOrJson

if TYPE_CHECKING:
    from optimas_lsp.prove.inference import Inferred


def target(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The file with the kernel.")],
    *,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="REPORT", help="A report: which program it was, and of what GPU."),
    ] = None,
    folder: Folder = None,
    format_: TextOrJson = Format.text,
    output: Output = None,
) -> None:
    """Show how a program is built and run for a proof; runs nothing.

    As text it is the table target for optimas.toml, with what was inferred from what as comments. Where
    nothing says it, that is a failure, and the sentence tells what is needed.
    """
    from optimas_lsp.cli.rewriting import open_report
    from optimas_lsp.course import Program
    from optimas_lsp.prove.inference import Wanted, find_target

    if output is not None:
        output_file.check(output, [source])
    program = Program.of(source, folder)
    if profile is None:
        what = Wanted(program.folder, program.source)
    else:
        what = Wanted.of(program.folder, program.source, open_report(profile, program.settings))
    found = find_target(what)
    if format_ is Format.json:
        data = {
            "folder": str(program.folder),
            "target": found.target.model_dump(mode="json"),
            "inferred": found.sentences,
        }
        output_file.emit(json.dumps(data, indent=2) + "\n", output)
    else:
        output_file.emit(as_toml(found), output)


def as_toml(found: Inferred) -> str:
    """The table as TOML, without what is the default; inferred sentences are comments."""
    given = found.target.model_dump(mode="json", exclude_defaults=True)
    inputs = given.pop("inputs")
    lines = [f"# {each}" for each in found.sentences]
    lines += ["[target]", *(f"{key} = {_value(value)}" for key, value in given.items())]
    lines += ["", "[target.inputs]", *(f"{json.dumps(name)} = {_value(command)}" for name, command in inputs.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in pairs) + " }"
    return json.dumps(value, ensure_ascii=False)
