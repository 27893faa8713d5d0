"""Serve LSP over standard input and output; nothing heavy is imported before serving."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Start the language server on stdio and exit with its status."""
    _distrust_working_folder()
    from optimas_lsp.server.app import serve_stdio

    raise SystemExit(serve_stdio())


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
