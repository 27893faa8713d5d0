"""``optimas-lsp`` by hand: it says what it is, what it waits for, and ends without a traceback."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from optimas_lsp import __version__

ROOT = Path(__file__).parents[2]
SERVER = [sys.executable, "-m", "optimas_lsp"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SERVER, *arguments], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)


def test_it_tells_its_version_and_how_it_is_used() -> None:
    assert run("--version").stdout == f"optimas-lsp {__version__}\n"
    assert "docs/editors" in run("--help").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_in_a_terminal_it_says_what_it_waits_for_and_ctrl_c_ends_it_in_silence() -> None:
    ours, its = pty.openpty()
    try:
        with subprocess.Popen(
            SERVER, stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, start_new_session=True
        ) as server:
            assert server.stderr is not None
            assert b"waiting for an editor" in server.stderr.readline()
            server.send_signal(signal.SIGINT)
            rest = server.communicate(timeout=60)[1]
        assert server.returncode == 130
        assert b"Traceback" not in rest
    finally:
        os.close(ours)
        os.close(its)
