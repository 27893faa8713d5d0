"""Serve LSP over standard input and output; nothing heavy is imported before serving."""

from __future__ import annotations


def main() -> None:
    """Start the language server on stdio and exit with its status."""
    from optimas_lsp.server.app import serve_stdio

    raise SystemExit(serve_stdio())


if __name__ == "__main__":
    main()
