"""The application that gathers every command; a command imports what is heavy only when it runs."""

from __future__ import annotations

import typer

from optimas_lsp.cli import profile

app = typer.Typer(
    name="optimas",
    no_args_is_help=True,
    help="GPU profiles as evidence on source lines.",
    pretty_exceptions_enable=False,
)


@app.callback()
def root() -> None:
    """GPU profiles as evidence on source lines."""


app.command("profile", context_settings={"allow_extra_args": True, "ignore_unknown_options": False})(profile.profile)
