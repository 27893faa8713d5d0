"""A real sshd on loopback, started for a session and ended by its process id."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from optimas_lsp.prove.executors.ssh import Ssh


@pytest.fixture(scope="session")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ssh]:
    """This machine through an sshd on a port of its own, with keys made for the session."""
    sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("ssh or sshd is missing (Debian: apt-get install openssh-server openssh-client)")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    settings = f"""
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile {folder}/sshd.pid
PermitRootLogin yes
StrictModes no
UsePAM no
PasswordAuthentication no
"""
    (folder / "config").write_text(settings, "utf-8")
    process = subprocess.Popen([sshd, "-D", "-e", "-f", str(folder / "config")], stderr=(folder / "log").open("wb"))
    options = ("-F", "/dev/null", "-p", str(port), "-i", str(folder / "user"), "-o", "StrictHostKeyChecking=no")
    options += ("-o", f"UserKnownHostsFile={folder}/known", "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR")
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.skip(f"sshd did not start: {(folder / 'log').read_text()}")
        yield Ssh("127.0.0.1", options, str(folder / "jobs"))
    finally:
        process.terminate()
        process.wait()
