"""``optimas lsp``: the language server, on standard input and output or on a TCP port of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from optimas_lsp.errors import ConfigError


def lsp(
    tcp: Annotated[
        str, typer.Option("--tcp", metavar="HOST:PORT", help="Serve on this loopback address instead of stdio.")
    ] = "",
    stdio: Annotated[bool, typer.Option("--stdio", help="Serve on standard input and output (the default).")] = False,
) -> None:
    """Serve the language server protocol to an editor."""
    from optimas_lsp.server import app as server

    if tcp and stdio:
        raise ConfigError("--tcp and --stdio exclude each other", remedy="leave one of them out")
    if not tcp:
        from optimas_lsp.__main__ import tell_a_person

        tell_a_person()
        raise typer.Exit(server.serve_stdio())
    host, port = address(tcp)
    raise typer.Exit(server.serve_tcp(host, port))


def address(text: str) -> tuple[str, int]:
    """Host and port in ``HOST:PORT`` (``[::1]:2087`` for IPv6); raises ConfigError when it is no such thing."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ConfigError(f"--tcp {text}: not HOST:PORT", remedy="write for instance --tcp 127.0.0.1:2087")
    return host.removeprefix("[").removesuffix("]"), int(port)
