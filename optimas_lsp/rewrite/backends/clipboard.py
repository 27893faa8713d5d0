"""The system's clipboard, through the program that each system has for it."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass

from optimas_lsp.rewrite.backends.model import BackendError

_PROGRAMS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("pbcopy",), ("pbpaste",)),
    (("wl-copy",), ("wl-paste", "--no-newline")),
    (("xclip", "-selection", "clipboard", "-in"), ("xclip", "-selection", "clipboard", "-out")),
    (("xsel", "--clipboard", "--input"), ("xsel", "--clipboard", "--output")),
    (("clip.exe",), ("powershell.exe", "-NoProfile", "-Command", "Get-Clipboard -Raw")),
)
"""How to copy from standard input and paste to standard output; the first that is installed is used."""

SECONDS = 10.0


@dataclass(frozen=True)
class Clipboard:
    """A pair of programs."""

    copying: tuple[str, ...]
    pasting: tuple[str, ...]

    @classmethod
    def of_system(cls) -> Clipboard:
        """The one of this system; raises BackendError where there is no program for it."""
        for copying, pasting in _PROGRAMS:
            if shutil.which(copying[0]) and shutil.which(pasting[0]):
                return cls(copying, pasting)
        raise BackendError(
            "no program for the clipboard was found",
            remedy="install wl-clipboard, xclip or xsel, or exchange files: --prompt-file and --answer-file",
        )

    async def copy(self, text: str) -> None:
        """Put ``text`` on the clipboard; raises BackendError."""
        await _run(self.copying, text.encode("utf-8", "replace"), output=False)

    async def paste(self) -> str:
        """What is on the clipboard; empty where it holds no text."""
        try:
            return (await _run(self.pasting, b"", output=True)).decode("utf-8", "replace").replace("\r\n", "\n")
        except BackendError:
            return ""


async def _run(command: tuple[str, ...], data: bytes, *, output: bool) -> bytes:
    """Programs that keep the clipboard stay behind as a daemon: their output is not waited for."""
    out = asyncio.subprocess.PIPE if output else asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=out, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError as error:
        raise BackendError(f"{command[0]} cannot be run: {error.strerror}") from None
    try:
        async with asyncio.timeout(SECONDS):
            found, _ = await process.communicate(data)
    except TimeoutError:
        raise BackendError(f"{command[0]} did not end in {SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise BackendError(f"{command[0]} failed with status {process.returncode}")
    return found or b""
