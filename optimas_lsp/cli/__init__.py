"""The command line: optimas <command>, one module a command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line (imported late: the language server never needs it).

    A failure with a sentence for the user is printed as that sentence, and the exit status is 1.
    """
    from optimas_lsp.cli.app import app
    from optimas_lsp.errors import OptimasError

    try:
        app()
    except OptimasError as error:
        sys.stderr.write(f"optimas: {error.sentence()}\n")
        raise SystemExit(1) from None
