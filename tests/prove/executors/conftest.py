"""A real sshd and a real Slurm on loopback, started for a session and ended by their process ids."""

from __future__ import annotations

import os
import shutil
import signal
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


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cluster of one node, this machine."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    needed = ("munged", "slurmctld", "slurmd", "sbatch")
    tools = {name: shutil.which(name, path=path) for name in needed}
    if os.getuid() != 0 or None in tools.values():
        pytest.skip("needs root, slurmctld, slurmd and munged (Debian: apt-get install slurm-wlm munge)")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    host = socket.gethostname().split(".")[0]
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    settings = {
        "ClusterName": "optimas",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.sock",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.pid",
        "SlurmctldLogFile": f"{folder}/slurmctld.log",
        "SlurmdLogFile": f"{folder}/slurmd.log",
        "SlurmUser": "root",
        "SlurmctldPort": "17817",
        "SlurmdPort": "17818",
        "ReturnToService": "2",
    }
    node = f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=1000 State=UNKNOWN\n"
    node += "PartitionName=debug Nodes=ALL Default=YES MaxTime=60 State=UP\n"
    text = "".join(f"{key}={value}\n" for key, value in settings.items())
    (folder / "slurm.conf").write_text(text + node, "utf-8")
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    started: list[subprocess.Popen[bytes]] = []
    munge = [f"--{key}={folder}/{value}" for key, value in (("key-file", "munge.key"), ("socket", "munge.sock"))]
    munge += [f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"]
    try:
        for command in (
            [tools["munged"], "-F", "--force", *munge],
            [tools["slurmctld"], "-D"],
            [tools["slurmd"], "-D"],
        ):
            quiet = subprocess.DEVNULL
            started.append(subprocess.Popen([str(word) for word in command], stdout=quiet, stderr=quiet))
            time.sleep(0.5)
        for _ in range(100):
            done = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
            if "idle" in done.stdout:
                break
            time.sleep(0.2)
        else:
            pytest.skip("slurm did not become idle: " + (folder / "slurmctld.log").read_text()[-500:])
        yield
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        if before is None:
            del os.environ["SLURM_CONF"]
        else:
            os.environ["SLURM_CONF"] = before
