"""A real Slurm of one node, this machine, on loopback: started by whoever needs it and ended by its process ids."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """The cluster, its files in ``folder``; ``SLURM_CONF`` leads to it meanwhile. Skips where it cannot be had."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    needed = ("munged", "slurmctld", "slurmd", "sbatch")
    tools = {name: shutil.which(name, path=path) for name in needed}
    if os.getuid() != 0 or None in tools.values():
        pytest.skip("needs root, slurmctld, slurmd and munged (Debian: apt-get install slurm-wlm munge)")
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
