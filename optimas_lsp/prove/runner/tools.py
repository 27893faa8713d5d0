"""The tools of the machine that a proof uses, and what the machine says about itself."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Generator, Sequence

from . import process

try:
    import fcntl
except ImportError:  # not on Windows, where no proof runs
    fcntl = None

_PLACES = ("/usr/local/cuda/bin", "/opt/cuda/bin")


def find(name: str) -> str | None:
    """The absolute path of a CUDA tool: PATH, then CUDA_HOME, then the usual folders; None when it is not there."""
    places = [os.environ.get("PATH", "")]
    places += [str(Path(os.environ[v], "bin")) for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    return shutil.which(name, path=os.pathsep.join([*places, *_PLACES]))


def ask(command: Sequence[str], seconds: float = 30) -> str:
    """Standard output of a short command, or '' when it fails."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
    return ""


def gpu() -> dict[str, str] | None:
    """{name, driver, uuid} of the first visible GPU, or None where there is none.

    nvidia-smi cannot be asked about a MIG device: it goes by the name that it was chosen by, and has its own turns.
    """
    text = _smi("name,driver_version,uuid", "csv,noheader")
    fields = [part.strip() for part in text.splitlines()[0].split(",")] if text.strip() else []
    if len(fields) != 3:
        return None
    chosen = _chosen()
    own = chosen.isdigit() or fields[2].startswith(chosen)
    return {"name": fields[0], "driver": fields[1], "uuid": fields[2] if own else chosen}


def _chosen() -> str:
    """The number or name of the GPU that programs see first; '' when nobody chose."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()


def _smi(query: str, form: str) -> str:
    """What nvidia-smi says of the GPU that programs see first; it does not heed CUDA_VISIBLE_DEVICES by itself."""
    smi = find("nvidia-smi")
    if not smi:
        return ""
    command = [smi, "--query-gpu=" + query, "--format=" + form]
    chosen = _chosen()
    return (ask([*command, "-i", chosen]) if chosen else "") or ask(command)


def state() -> dict[str, Any]:
    """Clocks (MHz), temperature (°C) and throttle reasons now; {} when unknown."""
    text = _smi("clocks.sm,clocks.mem,temperature.gpu,clocks_event_reasons.active", "csv,noheader,nounits")
    fields = [part.strip() for part in text.splitlines()[0].split(",")] if text.strip() else []
    if len(fields) != 4:
        return {}
    numbers = [float(f) if re.fullmatch(r"\d+(\.\d+)?", f) else None for f in fields[:3]]
    return {"sm_mhz": numbers[0], "memory_mhz": numbers[1], "temperature_c": numbers[2], "throttle": fields[3]}


def version(name: str) -> str | None:
    """The last line a tool prints for --version, or None."""
    path = find(name)
    lines = ask([path, "--version"]).strip().splitlines() if path else []
    return lines[-1].strip() if lines else None


@contextlib.contextmanager
def gpu_turn(exclusive: bool, uuid: str) -> Generator[None, None, None]:
    """Hold this machine's turn on the GPU: timings alone, everything else together. Other proofs wait.

    The lock lies where every user's proofs find it, whatever their own folder for temporary files is.
    """
    if fcntl is None:
        yield
        return
    shared = "/tmp" if Path("/tmp").is_dir() else tempfile.gettempdir()  # noqa: S108  (opened without following links)
    path = Path(shared, "optimas-gpu-{}.lock".format(re.sub(r"[^A-Za-z0-9-]", "", uuid or "0")))
    with contextlib.ExitStack() as stack:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:  # another user's file can be locked, too, but must not be opened for creating
            number = os.open(path, flags)
        except FileNotFoundError:
            number = os.open(path, flags | os.O_CREAT, 0o644)
        handle = stack.enter_context(os.fdopen(number, "rb"))
        began = time.monotonic()
        fcntl.flock(handle, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        process.charge("waiting", time.monotonic() - began)
        yield


_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)(.*)")


def entry_points(binary: Path) -> dict[str, dict[str, Any]] | None:
    """{mangled kernel: {registers, stack, shared, local, parameters (bytes)}} of a binary by cuobjdump, or None.

    Constant bank 0 holds the parameters, so its size changes with the parameter layout.
    """
    tool = find("cuobjdump")
    text = ask([tool, "--dump-resource-usage", str(binary)], seconds=60) if tool else ""
    found: dict[str, dict[str, Any]] = {}
    name: str | None = None
    for line in text.splitlines():
        match = re.match(r"\s*Function (\S+):", line)
        if match:
            name = match.group(1)
            continue
        usage = _USAGE.search(line)
        if usage and name:
            bank = re.search(r"CONSTANT\[0\]:(\d+)", usage.group(5))
            registers, stack, shared, local = (int(usage.group(i)) for i in range(1, 5))
            found[name] = {
                "registers": registers,
                "stack": stack,
                "shared": shared,
                "local": local,
                "parameters": int(bank.group(1)) if bank else None,
            }
            name = None
    return found or None


def stamp() -> str:
    """The time now, UTC, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
