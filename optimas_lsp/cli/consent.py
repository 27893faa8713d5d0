"""``optimas consent``: what was accepted to be sent or run, for which folders; and taking it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimas_lsp.cli import output as output_file
from optimas_lsp.cli.options import Format, TextOrJson
from optimas_lsp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optimas_lsp.rewrite.consent import Action, Ask, Grant

app = typer.Typer(no_args_is_help=True, help="What was accepted to be sent or run, for which folders.")


@app.command("list")
def list_(
    format_: TextOrJson = Format.text,
) -> None:
    """List what was accepted, with the time and an id to revoke it by."""
    from optimas_lsp.rewrite.consent import Consents

    consents = Consents.of_user()
    grants = consents.grants()
    if format_ is Format.json:
        rows = [{"id": grant.id, **grant.model_dump(mode="json")} for grant in grants]
        output_file.emit(json.dumps(rows, indent=2) + "\n", None)
        return
    if not grants:
        output_file.emit("nothing was accepted\n", None)
    output_file.emit(output_file.readable("".join(map(_row, grants))), None)


@app.command("revoke")
def revoke(
    chosen: Annotated[str, typer.Argument(metavar="ID|FOLDER", help="One consent by its id, or a folder's.")] = "",
    *,
    all_: Annotated[bool, typer.Option("--all", help="Everything.")] = False,
) -> None:
    """Take back what was accepted; the next time it is asked for again."""
    from optimas_lsp.rewrite.consent import Consents

    if all_ == bool(chosen):
        raise ConfigError("what to revoke is not clear", remedy="give an id or folder (optimas consent list), or --all")
    consents = Consents.of_user()
    gone = consents.revoke(None if all_ else chosen)
    if not gone and not all_:
        raise ConfigError(f"nothing was accepted under '{chosen}'", remedy="optimas consent list shows ids and folders")
    output_file.emit("".join(f"revoked {_row(grant)}" for grant in gone) or "nothing was accepted\n", None)


def _row(grant: Grant) -> str:
    return f"{grant.id}  {grant.accepted:%Y-%m-%d %H:%M} UTC  {grant.folder}\n  {grant.action.sentence()}\n"


def asker(*, accept: bool) -> Ask | None:
    """How this process asks: ``--accept`` answers yes, a terminal asks the person, anything else cannot."""
    import sys

    if accept:
        return lambda _folder, _actions: True
    return _on_terminal if sys.stdin.isatty() and sys.stderr.isatty() else None


def _on_terminal(folder: Path, actions: Sequence[Action]) -> bool:
    typer.echo(output_file.readable(f"For the folder {folder}, optimas would"), err=True)
    for action in actions:
        typer.echo(output_file.readable(f"- {action.sentence()}"), err=True)
    return typer.confirm("Accept this for the folder from now on? (optimas consent revoke takes it back)", err=True)
