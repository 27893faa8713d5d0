"""The application that gathers every command."""

from __future__ import annotations

import typer

app = typer.Typer(name="optimas", no_args_is_help=True, help="GPU profiles as evidence on source lines.")


@app.callback()
def root() -> None:
    """GPU profiles as evidence on source lines."""
