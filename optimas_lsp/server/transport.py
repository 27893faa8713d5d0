"""Bytes in and out: frames messages from standard input or a loopback connection and hands them to the protocol.

Standard input is read by a daemon thread of its own, so no other work can hold it up and a blocked read never keeps
the process alive after ``exit``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from typing import BinaryIO

from optimas_lsp.errors import OptimasError
from optimas_lsp.server.hardening import HardenedServer

logger = logging.getLogger(__name__)

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
MAXIMUM_BODY = 256 * 1024 * 1024
"""A longer message is a broken frame, not a document (bytes)."""


class _Output:
    """Writes whole messages to a binary stream; a client that went away is noticed, not raised through handlers."""

    def __init__(self, stream: BinaryIO, server: HardenedServer) -> None:
        self._stream = stream
        self._server = server

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except (BrokenPipeError, ValueError, ConnectionError):
            self._server.leave(1)

    def close(self) -> None:
        """Nothing to do: the stream belongs to the process."""


class _TcpOutput:
    """Writes whole messages to a connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close(self) -> None:
        self._writer.close()


async def _read_messages(reader: asyncio.StreamReader, server: HardenedServer) -> None:
    """Hand every framed message to the protocol until the stream ends."""
    length = -1
    try:
        while line := await reader.readline():
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value) if value.strip().isdigit() else -1
            elif not line.strip():
                if not 0 <= length <= MAXIMUM_BODY:
                    logger.warning("a message without a usable Content-Length was skipped")
                    continue
                server.protocol.receive(await reader.readexactly(length))
                length = -1
    except (asyncio.IncompleteReadError, ConnectionError):
        logger.info("the client went away in the middle of a message")
    except ValueError as error:
        logger.warning("the stream holds no LSP messages: %s", error)


async def _serve(reader: asyncio.StreamReader, server: HardenedServer, status: asyncio.Future[int]) -> int:
    reading = asyncio.ensure_future(_read_messages(reader, server))
    await asyncio.wait({reading, status}, return_when=asyncio.FIRST_COMPLETED)
    reading.cancel()
    if not status.done():
        server.leave(1)
    if server.finish is not None:
        await server.finish()
    return status.result() if status.done() else 1


def _pump(stream: BinaryIO, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    """Copy standard input into ``reader`` from a thread that nothing waits for."""
    descriptor = stream.fileno()
    try:
        while chunk := os.read(descriptor, 1 << 16):
            loop.call_soon_threadsafe(reader.feed_data, chunk)
        loop.call_soon_threadsafe(reader.feed_eof)
    except (OSError, RuntimeError):
        logger.debug("standard input is closed or the loop has ended")


async def _stdio(server: HardenedServer) -> int:
    loop = asyncio.get_running_loop()
    server.exit_status = loop.create_future()
    reader = asyncio.StreamReader()
    server.protocol.set_writer(_Output(sys.stdout.buffer, server))
    threading.Thread(target=_pump, args=(sys.stdin.buffer, reader, loop), name="stdin", daemon=True).start()
    return await _serve(reader, server, server.exit_status)


def run_stdio(server: HardenedServer) -> int:
    """Serve over standard input and output; returns 0 after ``shutdown`` and ``exit``, else 1."""
    return asyncio.run(_stdio(server))


async def _tcp(server: HardenedServer, host: str, port: int) -> int:
    loop = asyncio.get_running_loop()
    server.exit_status = status = loop.create_future()
    taken = asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if taken.is_set():
            writer.close()
            return
        taken.set()
        server.protocol.set_writer(_TcpOutput(writer))
        code = await _serve(reader, server, status)
        writer.close()
        server.leave(code)

    listener = await asyncio.start_server(connected, host, port)
    address = listener.sockets[0].getsockname()
    sys.stderr.write(f"optimas-lsp: listening on {address[0]}:{address[1]}\n")
    sys.stderr.flush()
    try:
        return await status
    finally:
        listener.close()


def run_tcp(server: HardenedServer, host: str, port: int) -> int:
    """Serve one client over TCP, on the loopback interface only; port 0 lets the system choose and says which.

    Raises OptimasError for an address that others could reach, and when the port cannot be had.
    """
    if host not in LOOPBACK:
        raise OptimasError(
            f"the language server has no authentication and listens on this machine only, not on '{host}'",
            remedy="use 127.0.0.1:PORT and reach it from elsewhere through an SSH tunnel (ssh -L PORT:127.0.0.1:PORT)",
        )
    try:
        return asyncio.run(_tcp(server, host, port))
    except (OSError, OverflowError, socket.gaierror) as error:
        raise OptimasError(
            f"cannot listen on {host}:{port}: {error}", remedy="choose another port, or 0 to let the system choose"
        ) from None
