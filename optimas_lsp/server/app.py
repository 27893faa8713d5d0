"""Registers every handler; the only module that does."""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

from optimas_lsp import __version__


def build() -> LanguageServer:
    """A server with every feature registered, not yet connected."""
    return LanguageServer("optimas-lsp", __version__)


def serve_stdio() -> int:
    """Serve over standard input and output until the client leaves; returns the exit status."""
    build().start_io()
    return 0
