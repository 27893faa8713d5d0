"""Serve LSP over standard input and output; nothing heavy is imported before serving."""

from __future__ import annotations

import os
import sys

USAGE = """\
optimas-lsp: the language server of Optimas, on standard input and output. An editor starts it, with no arguments.

  optimas-lsp --version                the version
  optimas-lsp --help                   this text
  optimas lsp --tcp 127.0.0.1:2087     serve on a port of this machine instead
  optimas --help                       the command line

How to set up each editor: docs/editors/.
"""

HINT = "optimas-lsp: waiting for an editor on standard input; Ctrl-C ends it (optimas-lsp --help)\n"

INTERRUPTED = 130


def main() -> None:
    """Start the language server on stdio and exit with its status; 130 after Ctrl-C.

    Arguments other than ``--help`` and ``--version`` are left alone: clients add some, such as ``--stdio``.
    """
    _distrust_working_folder()
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.write(USAGE)
        return
    if "--version" in sys.argv[1:]:
        from optimas_lsp import __version__

        sys.stdout.write(f"optimas-lsp {__version__}\n")
        return
    try:
        tell_a_person()
        from optimas_lsp.server.app import serve_stdio

        status = serve_stdio()
    except KeyboardInterrupt:
        status = INTERRUPTED
    raise SystemExit(status)


def tell_a_person() -> None:
    """Say on standard error what is waited for when a person started the server in a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr.write(HINT)


def _distrust_working_folder() -> None:
    """Import nothing from the folder we were started in: it is often somebody's project.

    ``python -m`` puts it first in the search path. It stays only where this package itself lies in it.
    """
    first = sys.path[0] if sys.path else ""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib comes later)
    started_in = os.path.realpath(first or os.curdir)
    if started_in == os.path.realpath(os.curdir) and started_in != os.path.realpath(home):
        del sys.path[:1]


if __name__ == "__main__":
    main()
