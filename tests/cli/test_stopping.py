"""SIGTERM and a closed terminal end a command as Ctrl-C does: what it began is ended and cleared."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

COROUTINE = """
import asyncio, sys
from optimas_lsp.cli import stopping
async def work():
    try:
        print("begun", flush=True)
        await asyncio.sleep(300)
    finally:
        print("cleared", flush=True)
try:
    stopping.run(work())
except KeyboardInterrupt:
    sys.exit(130)
"""

PLAIN = """
import sys, time
from optimas_lsp.cli import stopping
try:
    with stopping.stopped_like_ctrl_c():
        print("begun", flush=True)
        time.sleep(300)
except KeyboardInterrupt:
    print("cleared", flush=True)
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("script", [COROUTINE, PLAIN], ids=["coroutine", "plain"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_stopped_clears_up(script: str, number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        assert process.stdout.read() == "cleared\n"
        assert process.wait(60) == 130


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("script", [COROUTINE, PLAIN], ids=["coroutine", "plain"])
def test_a_command_that_outlives_its_terminal_on_purpose_goes_on(script: str) -> None:
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" + script
    with subprocess.Popen([sys.executable, "-c", ignoring], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "cleared\n"
        assert process.wait(60) == 130
