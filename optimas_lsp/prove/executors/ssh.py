"""Run a job on another machine through the system's ssh: its configuration, agents and jump hosts serve here, too.

The job travels as a tar stream into a folder of its own there. The remote shell watches its standard input: when that
ends, because the job is cancelled or because the connection is lost, it ends the runner, which ends what it started,
and removes the folder.
"""

from __future__ import annotations

import contextlib
import io
import secrets
import shlex
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from optimas_lsp.prove.executors.outcome import Event, ExecutorError, Outcome, Running, parse_event, read_outcome

PATIENCE_S = 30.0
_PARTS = ("tree", "patch", "witness", "runner.pyz", "job.json")
_BACK = ("result.json", "events.jsonl", "runner.log", "logs", "baseline.ncu-rep", "candidate.ncu-rep")

_REMOTE = """cd {folder} || exit 2
IFS= read -r OPTIMAS_SEAL; export OPTIMAS_SEAL
exec 3<&0
: >> events.jsonl
{python} runner.pyz . </dev/null >runner.log 2>&1 3<&- & runner=$!
unset OPTIMAS_SEAL
tail -n +1 -f events.jsonl </dev/null 2>/dev/null 3<&- & follower=$!
(cat <&3; : > left; kill -TERM $runner) >/dev/null 2>&1 & watcher=$!
wait $runner; status=$?
kill $watcher 2>/dev/null
lines=$(wc -l < events.jsonl); sleep 1
kill $follower 2>/dev/null; wait $follower 2>/dev/null
if [ -e left ]; then here=$(pwd); cd / && rm -rf "$here"; fi
echo "exit $status"
"""


@dataclass(frozen=True)
class Ssh:
    """A host as ssh knows it; ``options`` go to ssh as they are, ``folder`` is where jobs lie there."""

    host: str
    options: tuple[str, ...] = ()
    folder: str = ".cache/optimas/jobs"
    python: str = "python3"

    def submit(self, job: Path) -> Running:
        """Copy the job there and start it; raises ExecutorError with ssh's own words."""
        if self.host.startswith("-"):
            raise ExecutorError("this is no host name", where=self.host)
        return SshRun(self, job.absolute())

    @property
    def reaching(self) -> list[str]:
        """The local command line without what is run there."""
        return ["ssh", "-o", "BatchMode=yes", "-T", *self.options, "--", self.host]

    def command(self, script: str) -> list[str]:
        """The local command line that runs a shell script there."""
        return [*self.reaching, f"sh -c {shlex.quote(script)}"]


class SshRun:
    """One job there."""

    def __init__(self, place: Ssh, job: Path) -> None:
        self._place, self._job = place, job
        self._key = secrets.token_hex(32)
        self._folder = f"{place.folder}/{secrets.token_hex(8)}"
        self._status: int | None = None
        quoted = shlex.quote(self._folder)
        self._send(f"umask 077; mkdir -p {quoted} && tar -C {quoted} -xf -")
        script = _REMOTE.format(folder=quoted, python=shlex.quote(place.python))
        self._process = subprocess.Popen(
            place.command(script),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if self._process.stdout is None or self._process.stderr is None or self._process.stdin is None:
            raise ExecutorError("ssh cannot be talked to", where=place.host)  # never: all three were asked for
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        with contextlib.suppress(BrokenPipeError):  # what ssh says about it is read when it has ended
            self._stdin.write(f"{self._key}\n".encode())
            self._stdin.flush()

    def _send(self, script: str) -> None:
        parts = [name for name in _PARTS if (self._job / name).exists()]
        # -h: what is a link here (large data) must be there in full
        with subprocess.Popen(["tar", "-C", str(self._job), "-chf", "-", *parts], stdout=subprocess.PIPE) as packer:
            self._run(script, stdin=packer.stdout)

    def _run(self, script: str, stdin: IO[bytes] | int | None = subprocess.DEVNULL) -> bytes:
        done = subprocess.run(
            self._place.command(script),
            stdin=stdin,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise ExecutorError(_words(done.stderr), where=self._place.host, remedy="try ssh to this host by hand")
        return done.stdout

    def events(self) -> Iterator[Event]:
        """Progress until the remote runner ends."""
        for line in self._stdout:
            text = line.decode("utf-8", "replace")
            if text.startswith("exit "):
                self._status = int(text.split()[1])
            else:
                event = parse_event(text)
                if event is not None:
                    yield event

    def cancel(self) -> None:
        """Close the remote standard input, which ends the job there; wait for it."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(ExecutorError):
            self._run(f"rm -rf {shlex.quote(self._folder)}")

    def collect(self) -> Outcome:
        """Wait, fetch results and logs, remove the remote folder; raises ExecutorError."""
        for _ in self.events():
            pass
        status = self._process.wait()
        words = self._stderr.read()
        quoted = shlex.quote(self._folder)
        if self._status is None:
            with contextlib.suppress(ExecutorError):
                self._run(f"rm -rf {quoted}")
            raise ExecutorError(f"the connection ended (ssh: {status}): {_words(words)}", where=self._place.host)
        try:
            data = self._run(f"cd {quoted} && tar -chf - $(ls -d {' '.join(_BACK)} 2>/dev/null)")
            unpack(data, self._job, _BACK)
        finally:
            self._run(f"rm -rf {quoted}")
        return read_outcome(self._job, self._key, self._status)


def unpack(data: bytes, job: Path, allowed: Sequence[str]) -> None:
    """Write what came back into the job's folder: plain files below the allowed names only. Raises ExecutorError."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive.getmembers():
                if member.name.split("/")[0] in allowed and (member.isfile() or member.isdir()):
                    archive.extract(member, job, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise ExecutorError(f"what came back cannot be unpacked: {error}", where=job) from None


def _words(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "ssh failed without a word"
