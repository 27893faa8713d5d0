"""What tests about jobs share: a compiler in the test's hand, sessions that are ready, and a server's processes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from tests.server.conftest import Connect, EditorClient

VSCODE, NEOVIM, OLD_NEOVIM = "vscode_1.100.3_languageclient_11", "neovim_0.11.4", "neovim_0.7.2"
YES = "Accept for this folder"
NO_BUILD = {"jobs": {"build": False}}
LISTED = {"jobs": True}


class Compiler:
    """A script called nvcc, first on PATH. ``hold`` makes it run until it is ended."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "nvcc"
        self.set("exit 0")

    def set(self, body: str) -> None:
        output = 'for word; do [ "$keep" ] && : >"$word"; keep=; [ "$word" = -o ] && keep=1; done'
        self.script.write_text(f"#!/bin/sh\n{output}\n{body}\n")
        self.script.chmod(0o755)

    def hold(self, where: str = "") -> None:
        """Run for ever once ``began`` was read; only in folders whose path contains ``where``."""
        pipe = self.script.with_name("began")
        if not pipe.exists():
            os.mkfifo(pipe)
        self.set(f'case "$PWD" in *{where}*) echo >{pipe}; sleep 1000 & wait;; esac')

    async def began(self) -> None:
        """Wait until it runs."""
        pipe = os.open(self.script.with_name("began"), os.O_RDONLY | os.O_NONBLOCK)
        loop, said = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(pipe, said.set)
        try:
            await asyncio.wait_for(said.wait(), 180)  # never for ever: a test that fails must end
        finally:
            loop.remove_reader(pipe)
            os.close(pipe)

    def left(self) -> list[psutil.Process]:
        """The processes that still run it."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            words = [*(process.info["cmdline"] or []), (process.info["environ"] or {}).get("PATH", "")]
            if any(str(self.script.parent) in word for word in words) and process.pid != os.getpid():
                found.append(process)
        return [each for each in found if each.is_running() and not _servers_own(each.cmdline())]

    def release(self) -> None:
        """Let what waits go on, and wait no more."""
        self.set("exit 0")
        for each in self.left():
            if each.name() == "sleep":
                each.kill()


def _servers_own(words: list[str]) -> bool:
    """The server, and what it looks things up with: no part of a job."""
    return "optimas_lsp" in words or any(word.startswith("optimas_lsp.server.") for word in words)


async def started(connect: Connect, folder: Path, settings: dict[str, Any], client: str = VSCODE) -> tuple[Any, str]:
    """A session with the adjacent sample open, once its report is read."""
    editor: EditorClient = await connect(client, folder, configuration=settings, options=LISTED)
    uri = editor.open(folder / "adjacent.cu")
    await editor.settled()
    return editor, uri


def course_of(editor: EditorClient) -> psutil.Process:
    """The process of the job that runs."""
    assert editor._server is not None
    children = psutil.Process(editor._server.pid).children()
    (found,) = [each for each in children if "optimas_lsp.course" in each.cmdline()]
    return found


def below(editor: EditorClient) -> list[psutil.Process]:
    """Every process that the server started, but what it looks ahead with."""
    assert editor._server is not None
    found: list[psutil.Process] = []
    for each in psutil.Process(editor._server.pid).children(recursive=True):
        try:
            if "optimas_lsp.server.possible" not in each.cmdline():
                found.append(each)
        except psutil.NoSuchProcess:
            continue
    return found
