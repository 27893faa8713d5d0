"""The command line: optimas <command>, one module a command."""

from __future__ import annotations


def main() -> None:
    """Run the command line (imported late: the language server never needs it)."""
    from optimas_lsp.cli.app import app

    app()
