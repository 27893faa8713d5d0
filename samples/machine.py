"""The machine that measures: its commands, its GPU, its tools, and what must not leak from it."""

from __future__ import annotations

import datetime
import hashlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPU_FACTS = (
    "name",
    "driver_version",
    "memory.total",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "temperature.gpu",
    "power.draw",
)


class MeasureError(Exception):
    """A step that failed, in a sentence for the person who started the measurement."""


def run(command: list[str], cwd: Path, env: dict[str, str], limit_s: float) -> str:
    """Run a command and return what it printed; raise with its last lines where it fails."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, timeout=limit_s, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise MeasureError(f"{command[0]} was not found: install it or put it on PATH") from error
    except subprocess.TimeoutExpired as error:
        raise MeasureError(f"{' '.join(command)} took longer than {limit_s:.0f} s") from error
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise MeasureError(f"{' '.join(command)} in {cwd.name} ended with {done.returncode}:\n{tail}")
    return done.stdout


def clean_environment(room: Path) -> dict[str, str]:
    """Return the little environment that every command gets: nothing personal can leak from it."""
    home = room / "home"
    home.mkdir(parents=True, exist_ok=True)
    env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    env |= {"HOME": str(home), "TMPDIR": str(room), "LANG": "C.UTF-8"}
    env |= {"TRITON_CACHE_DIR": str(room / "triton-cache")}
    return env


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def gpu_facts(env: dict[str, str]) -> dict[str, str]:
    """Return what nvidia-smi says about the first GPU at this moment."""
    query = ["nvidia-smi", "--query-gpu=" + ",".join(GPU_FACTS), "--format=csv,noheader"]
    values = run(query, HERE, env, 60).splitlines()[0].split(", ")
    return dict(zip(GPU_FACTS, values, strict=True))


def tool_versions(env: dict[str, str]) -> dict[str, str]:
    """Return the versions of the tools in their own words."""
    versions = {
        "nvcc": run(["nvcc", "--version"], HERE, env, 60).splitlines()[-2].strip(),
        "ncu": run(["ncu", "--version"], HERE, env, 60).splitlines()[-1].strip(),
    }
    probe = "import sys, torch, triton; print(sys.version.split()[0], torch.__version__, triton.__version__)"
    try:
        found = run(["python3", "-c", probe], HERE, env, 120).split()
        versions |= dict(zip(("python", "torch", "triton"), found, strict=True))
    except MeasureError:
        versions["triton"] = "not installed"
    return versions


def find_leaks(report: Path) -> list[str]:
    """Return what a report tells about this machine though it should not."""
    data = report.read_bytes()
    names = {"host name": socket.gethostname(), "folder": str(HERE), "home": os.environ.get("HOME", "")}
    return [what for what, text in names.items() if len(text) > 5 and text.encode() in data]


def hiding_prefix(room: Path, env: dict[str, str]) -> list[str]:
    """Return the start of a command line that hides the toolkit's headers from what it runs.

    A kernel that calls atomicAdd inlines a header of the toolkit, and ncu would import its text.
    Needs the right to make a mount namespace; without it the answer is empty.
    """
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise MeasureError("nvcc was not found: install the CUDA toolkit or put it on PATH")
    root = Path(nvcc).resolve().parent.parent
    found = [root / "include", *root.glob("targets/*/include")]
    folders = sorted({str(p.resolve()) for p in found if p.is_dir()})
    if not folders:
        return []
    empty = room / "empty"
    empty.mkdir(parents=True, exist_ok=True)
    script = " && ".join(f"mount --bind {empty} {folder}" for folder in folders)
    prefix = ["unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh"]
    try:
        run([*prefix, "true"], room, env, 30)
    except MeasureError as error:
        say(f"The toolkit's headers cannot be hidden, so reports may embed them: {error}")
        return []
    return prefix


def say(text: str) -> None:
    """Tell the person what happens, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def now() -> str:
    """Return the date and time, UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
