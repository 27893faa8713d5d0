"""``optimas version``: which Optimas this is."""

from __future__ import annotations

import typer

from optimas_lsp import __version__


def version() -> None:
    """Print the version."""
    typer.echo(f"optimas {__version__}")


def eager(wanted: bool) -> None:
    """The same for ``optimas --version``."""
    if wanted:
        version()
        raise typer.Exit
