"""Run one untrusted command: own process group, limits, stripped environment, everything it started ended with it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import BinaryIO, Callable, Dict, Generator, List, Sequence

_DEVICES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")  # the one says nothing without the other
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", *_DEVICES)
KEPT_PREFIXES = ("NVIDIA_",)
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_PR_SET_DUMPABLE = 4
_PR_SET_PDEATHSIG = 1
_POLL_S = 0.02


class Limits:
    """What one command may use: wall seconds, resident MB, processes of this user on top of today's, MB a file."""

    def __init__(
        self,
        seconds: float = 60.0,
        memory_mb: int = 32768,
        processes: int = 512,
        file_mb: int = 4096,
        network: bool = False,
    ) -> None:
        self.seconds = float(seconds)
        self.memory_mb = int(memory_mb)
        self.processes = int(processes)
        self.file_mb = int(file_mb)
        self.network = bool(network)


class Finished:
    """How a command ended: ``status`` (negative: signal), ``seconds`` of wall time, ``stopped``: why we ended it."""

    def __init__(self, status: int, seconds: float, stopped: str, stdout: Path, stderr: Path) -> None:
        self.status = status
        self.seconds = seconds
        self.stopped = stopped
        self.stdout = stdout
        self.stderr = stderr

    @property
    def good(self) -> bool:
        return self.status == 0 and not self.stopped

    def sentence(self, what: str) -> str:
        """One sentence about a failure, with the last line the program wrote."""
        if self.stopped:
            return f"{what} was stopped: {self.stopped}"
        how = f"ended by signal {-self.status}" if self.status < 0 else f"exit status {self.status}"
        lines = (read_tail(self.stderr) or read_tail(self.stdout)).strip().splitlines()
        return "{} failed ({}){}".format(what, how, ": " + lines[-1][:300] if lines else "")


def read_tail(path: Path, limit: int = 65536) -> str:
    """The last ``limit`` bytes of a file as text, for people to read."""
    with contextlib.suppress(OSError), Path(path).open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - limit))
        return stream.read().decode("utf-8", "replace")
    return ""


def clean_environment(scratch: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of untrusted code: what builds and CUDA need, no secrets, home and temp inside ``scratch``."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES))
        and not any(word in name.upper() for word in _SECRET_WORDS)
    }
    kept["HOME"] = kept["TMPDIR"] = str(scratch)
    kept.update(extra or {})
    return kept


PARENT = "OPTIMAS_PARENT"
"""The variable with the process id of a starter that the runner must not outlive."""

_starter = 0


def take_parent() -> None:
    """From now on a command ends, as on SIGTERM, when the process that ``PARENT`` names is no longer the parent."""
    global _starter  # noqa: PLW0603  (one starter a process)
    with contextlib.suppress(ValueError):
        _starter = int(os.environ.pop(PARENT, "0"))


def _left_alone() -> bool:
    return _starter != 0 and os.getppid() != _starter


SPENT: Dict[str, List[float]] = {}
"""{what: [how often, seconds of wall time]} of everything this runner had others do: builds, runs, tools, waiting."""


def charge(what: str, seconds: float) -> None:
    """Note that ``seconds`` went to ``what``, not to the runner's own work."""
    entry = SPENT.setdefault(what, [0, 0.0])
    entry[0] += 1
    entry[1] += seconds


_network_prefix: list[str] | None = None


def network_prefix() -> list[str]:
    """The command prefix that takes the network away, or [] where the system does not allow that."""
    global _network_prefix  # noqa: PLW0603  (asked of the system once a process)
    if _network_prefix is None:
        _network_prefix = []
        unshare = shutil.which("unshare")
        for arguments in (["-n"], ["-r", "-n"]) if unshare else ():
            probe = [str(unshare), *arguments, "true"]
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                quiet = subprocess.DEVNULL
                if subprocess.run(probe, stdout=quiet, stderr=quiet, timeout=10, check=False).returncode == 0:
                    _network_prefix = probe[:-1]
                    break
    return _network_prefix or []


def adopt_orphans() -> None:
    """Become the parent of daemonised grandchildren, so that they can be found and ended (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def _adopting() -> Generator[None, None, None]:
    """Adopt orphans for a while, also in a process that otherwise does not (a command line, which starts ssh, too)."""
    already = ctypes.c_int(0)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(already), 0, 0, 0)
    adopt_orphans()
    try:
        yield
    finally:
        if not already.value:
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def close_memory() -> None:
    """Close our own memory and first environment to other processes of this user: they hold the seal's key."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_leftovers(work: Path) -> int:
    """Kill what an earlier runner of the job left running when it was killed itself; returns how many there were.

    They are known by the temporary folder in their environment, which lies in the job's ``work``.
    """
    mark, count = b"TMPDIR=" + os.fsencode(str(work)), 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                variables = (entry / "environ").read_bytes().split(b"\0")
                if any(v == mark or v.startswith(mark + b"/") for v in variables):
                    os.kill(int(entry.name), signal.SIGKILL)
                    count += 1
    return count


def _parents() -> dict[int, list[tuple[int, int, str]]]:
    tree: dict[int, list[tuple[int, int, str]]] = {}
    for entry in (path.name for path in Path("/proc").iterdir()):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = Path("/proc", entry, "stat").read_text("utf-8", "replace")
                fields = stat[stat.rindex(")") + 2 :].split()
                tree.setdefault(int(fields[1]), []).append((int(entry), int(fields[21]), fields[0]))
    return tree


def descendants(root: int) -> list[tuple[int, int]]:
    """(pid, resident pages) of every process below ``root``, zombies left out."""
    tree, queue = _parents(), [root]
    found: list[tuple[int, int]] = []
    while queue:
        for pid, pages, state in tree.get(queue.pop(), []):
            queue.append(pid)
            if state != "Z":
                found.append((pid, pages))
    return found


def end_descendants(root: int | None = None) -> None:
    """Kill every process below ``root`` (this process), again and again until none is left; reap the dead."""
    root = root or os.getpid()
    for _ in range(50):
        alive = descendants(root)
        for pid, _pages in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not alive:
            return
        time.sleep(0.01)


def _limit_child(limits: Limits) -> Callable[[], None]:
    import resource  # absent on Windows, where nothing untrusted is run

    library, runner = ctypes.CDLL(None), os.getpid()

    def apply() -> None:
        os.setsid()
        with contextlib.suppress(AttributeError):
            library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != runner:  # it died before the line above
            os.kill(os.getpid(), signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_mb << 20, limits.file_mb << 20))
        with contextlib.suppress(ValueError, OSError):
            if os.getuid() != 0:  # the limit counts all of a user's processes and does not bind root
                resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes, limits.processes))

    return apply


def remove(path: Path) -> None:
    """Remove whatever is there, without following a link; nothing is fine, too."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(str(path), ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _replaced(path: Path, stream: BinaryIO) -> bool:
    """Whether ``path`` is not ``stream`` any more; then an empty file takes its place: a device would never end."""
    own = os.fstat(stream.fileno())
    with contextlib.suppress(OSError):
        now = os.lstat(path)
        if (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino):
            return False
    remove(path)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return True


def run(
    command: Sequence[str],
    folder: Path,
    environment: dict[str, str],
    limits: Limits,
    log: Path,
    name: str,
    what: str = "command",
) -> Finished:
    """Run ``command`` in ``folder``; its output goes to ``log/name.out`` and ``.err``. Never raises for what it does.

    Its time is charged to ``what``.

    Memory is the resident size of the whole process tree, looked at as it runs: an address-space limit would stop
    every CUDA program, which reserves far more than it uses.
    """
    Path(log).mkdir(parents=True, exist_ok=True)
    out, err = Path(log, name + ".out"), Path(log, name + ".err")
    prefix = [] if limits.network else network_prefix()
    page = os.sysconf("SC_PAGE_SIZE")
    stopped, began = "", time.monotonic()
    for path in (out, err):  # what an earlier command left there may lead anywhere
        remove(path)
    with out.open("xb") as stdout, err.open("xb") as stderr, _adopting():
        try:
            child = subprocess.Popen(
                [*prefix, *command],
                cwd=str(folder),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=_limit_child(limits),  # noqa: PLW1509  (one thread; limits must be set in the child)
            )
        except OSError as error:
            stderr.write(f"{command[0]}: {error.strerror}\n".encode())
            return Finished(127, 0.0, "", out, err)
        looked = began
        try:
            while child.poll() is None:
                now = time.monotonic()
                if now - began > limits.seconds:
                    stopped = f"it ran longer than {limits.seconds:g} s"
                    break
                if now - looked > 0.25:
                    looked = now
                    if _left_alone():
                        os.kill(os.getpid(), signal.SIGTERM)
                    tree = descendants(os.getpid())
                    if sum(pages for _pid, pages in tree) * page > limits.memory_mb << 20:
                        stopped = f"it used more than {limits.memory_mb} MB of memory"
                        break
                    if len(tree) > limits.processes:
                        stopped = f"it started more than {limits.processes} processes"
                        break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_POLL_S if now - began > 0.5 else 0.002)
            seconds = time.monotonic() - began
        finally:
            status = child.poll()
            charge(what, time.monotonic() - began)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            if status is None:
                child.kill()
                status = child.wait()
            end_descendants()
        if _replaced(out, stdout) | _replaced(err, stderr):
            stopped = stopped or "it replaced the file that its output goes to"
    if status == -signal.SIGXFSZ and not stopped:
        stopped = f"it wrote a file larger than {limits.file_mb} MB"
    return Finished(status, seconds, stopped, out, err)
