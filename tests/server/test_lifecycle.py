"""Starting, leaving and surviving: exit statuses, loopback only, killed workers, clients that vanish."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from optimas_lsp.config import Settings
from optimas_lsp.errors import OptimasError
from optimas_lsp.server.app import serve_tcp
from optimas_lsp.server.jobs import LoadRequest

if TYPE_CHECKING:
    from tests.server.conftest import Connect

HEAVY = ("pydantic", "numpy", "tree_sitter", "typer", "rich", "optimas_lsp.config", "optimas_lsp.server.session")


def framed(*messages: dict[str, Any]) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)


INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}
INITIALIZED = {"method": "initialized", "params": {}}
SHUTDOWN = {"id": 2, "method": "shutdown"}
EXIT = {"method": "exit"}


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([INITIALIZE, INITIALIZED, SHUTDOWN, EXIT], 0),
        ([INITIALIZE, INITIALIZED, EXIT], 1),
        ([INITIALIZE, INITIALIZED], 1),
        ([EXIT], 1),
        ([], 1),
    ],
)
@pytest.mark.parametrize("command", [["-m", "optimas_lsp"]])
def test_the_exit_status_says_whether_shutdown_came_first(
    command: list[str], messages: list[dict[str, Any]], status: int
) -> None:
    run = subprocess.run(
        [sys.executable, *command], input=framed(*messages), capture_output=True, timeout=180, check=False
    )
    assert run.returncode == status
    assert b"Traceback" not in run.stderr


def test_a_stream_that_is_no_lsp_ends_the_server_instead_of_hanging_it() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "optimas_lsp"],
        input=b"GET / HTTP/1.1\r\nHost: x\r\n\r\nContent-Length: twelve\r\n\r\n" + b"\0" * 200_000,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 1
    assert b"Traceback" not in run.stderr


def test_nothing_heavy_is_imported_before_the_first_reply() -> None:
    code = (
        "import sys, json\n"
        "from optimas_lsp.server.app import build\n"
        "server = build()\n"
        "class Out:\n"
        "    def write(self, data): self.data = data\n"
        "out = Out(); server.protocol.set_writer(out)\n"
        f"server.protocol.receive({framed(INITIALIZE).split(bytes([13, 10, 13, 10]))[1]!r})\n"
        "assert b'capabilities' in out.data\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=True)
    assert run.stdout.strip() == "[]"


def test_no_module_of_the_folder_it_is_started_in_is_ever_run(
    samples: Path, cache: Path, tmp_path: Path, root: Path
) -> None:
    traps = ("pygls", "lsprotocol", "attrs", "cattrs", "json", "asyncio", "numpy", "pydantic", "zstandard", "typing")
    for name in traps:
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path(__file__).with_suffix('.run').touch()\n")
    shutil.copy(next((samples / "stencil").glob("profile.ncu-rep*")), tmp_path)
    initialize = {**INITIALIZE, "params": {**INITIALIZE["params"], "rootUri": tmp_path.as_uri()}}
    debug = {"id": 7, "method": "workspace/executeCommand", "params": {"command": "optimas.debugInformation"}}
    env = {**os.environ, "PYTHONPATH": str(root), "OPTIMAS_CACHE_DIR": str(cache)}
    with subprocess.Popen(
        [sys.executable, "-m", "optimas_lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=env
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(framed(initialize, INITIALIZED))
        process.stdin.flush()
        seen = b""
        while b"source files here" not in seen and b"showMessage" not in seen:
            seen += process.stdout.read1()
        process.stdin.write(framed(debug, SHUTDOWN, EXIT))
        process.stdin.flush()
        assert process.wait(30) == 0
    assert b"source files here" in seen
    assert not list(tmp_path.glob("*.run"))


def test_exit_waits_for_no_thread_and_pygls_never_starts_one() -> None:
    code = (
        "import asyncio, sys, time\n"
        "from optimas_lsp.server.background import Background\n"
        "from optimas_lsp.server.hardening import HardenedServer\n"
        "from optimas_lsp.server.transport import run_stdio\n"
        "server = HardenedServer('probe', '0')\n"
        "tasks = []\n"
        "@server.command('test.block')\n"
        "async def block(*_):\n"
        "    tasks.append(asyncio.ensure_future(Background().run(time.sleep, 3600)))\n"
        "    await asyncio.sleep(0.01)\n"
        "status = run_stdio(server)\n"
        "assert server._thread_pool is None\n"
        "sys.exit(status)\n"
    )
    block = {"id": 3, "method": "workspace/executeCommand", "params": {"command": "test.block"}}
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(framed(INITIALIZE, INITIALIZED, block))
        process.stdin.flush()
        seen = b""
        while b'"id":3' not in seen.replace(b" ", b""):
            seen += process.stdout.read1()
        process.stdin.write(framed(SHUTDOWN, EXIT))
        process.stdin.flush()
        assert process.wait(20) == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])  # noqa: S104
def test_only_the_loopback_interface_is_listened_on(host: str) -> None:
    with pytest.raises(OptimasError, match="this machine only"):
        serve_tcp(host, 0)


def test_a_port_that_is_taken_is_told_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OptimasError, match="choose another port"):
        serve_tcp("127.0.0.1", other.getsockname()[1])


def test_over_tcp_one_client_is_served_and_the_process_ends_with_it() -> None:
    code = "from optimas_lsp.server.app import serve_tcp; raise SystemExit(serve_tcp('127.0.0.1', 0))"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as process:
        assert process.stderr
        port = int(process.stderr.readline().rsplit(b":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(framed(INITIALIZE))
            assert b"capabilities" in client.recv(1 << 16)
            with socket.create_connection(("127.0.0.1", port), timeout=30) as second:
                assert second.recv(1) == b""
            client.sendall(framed(INITIALIZED, SHUTDOWN, EXIT))
            assert process.wait(30) == 0


async def worker_of(server: psutil.Process) -> psutil.Process:
    """The process that reads a report for that server, once it runs."""
    async with asyncio.timeout(60):
        while True:
            for child in server.children(recursive=True):
                try:
                    if "optimas_lsp.server.worker" in child.cmdline():
                        return child
                except (psutil.NoSuchProcess, psutil.ZombieProcess):
                    continue
            await asyncio.sleep(0.005)


@pytest.mark.asyncio
async def test_a_killed_worker_leaves_the_server_answering_and_is_told(
    connect: Connect, place: Callable[[str], Path]
) -> None:
    folder = place("stencil")
    client = await connect("neovim_0.11.4", folder)
    uri = client.open(folder / "stencil.cu")
    worker = await worker_of(psutil.Process(client._server.pid))
    worker.send_signal(signal.SIGKILL)
    message = await client.until(lambda: client.messages)
    assert "was killed" in message[0].message
    assert "profile.ncu-rep" in message[0].message
    known = await client.settled()
    assert known["reports"] == []
    await client.command("reloadReports")
    assert await client.until(lambda: client.diagnostics.get(uri))


@pytest.mark.asyncio
@pytest.mark.parametrize("politely", [True, False])
async def test_no_worker_outlives_its_server(connect: Connect, place: Callable[[str], Path], politely: bool) -> None:
    client = await connect("neovim_0.11.4", place("stencil"))
    server = psutil.Process(client._server.pid)
    worker = await worker_of(server)
    family = [worker, *worker.children(recursive=True)]
    if politely:
        await client.shutdown_session()
    else:
        os.kill(server.pid, signal.SIGKILL)
    _, alive = await asyncio.to_thread(psutil.wait_procs, family, 20)
    assert alive == []


def test_a_worker_ends_quietly_after_its_answer(samples: Path, cache: Path) -> None:
    folder = samples / "stencil"
    request = LoadRequest(next(folder.glob("profile.ncu-rep*")), Settings().model_dump(mode="json"), (folder,), cache)
    with subprocess.Popen(
        [sys.executable, "-m", "optimas_lsp.server.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(request.message())
        process.stdin.flush()  # and stays open: the server still wants the answer
        kinds = [json.loads(line)["kind"] for line in process.stdout]
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
    assert kinds[-1] == "done"
    assert {"report", "file", "kernel", "lines", "evidence"} <= set(kinds)


def test_a_worker_whose_server_is_gone_ends_at_once(samples: Path, cache: Path) -> None:
    folder = samples / "stencil"
    request = LoadRequest(next(folder.glob("profile.ncu-rep*")), Settings().model_dump(mode="json"), (folder,), cache)
    run = subprocess.run(
        [sys.executable, "-m", "optimas_lsp.server.worker"],
        input=request.message(),
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert run.returncode in (0, 3)
    assert run.stderr == b""
