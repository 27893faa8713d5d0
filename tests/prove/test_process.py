"""Limits on untrusted commands: each is really enforced, and nothing that was started outlives the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from optimas_lsp.prove.bundle import write_runner
from optimas_lsp.prove.runner import process
from optimas_lsp.prove.runner.process import Limits

DRIVER = """
import json, sys
from pathlib import Path
from optimas_lsp.prove.runner import process
process.adopt_orphans()
folder, command, limits = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
environment = process.clean_environment(folder)
done = process.run(command, folder, environment, process.Limits(**limits), folder / "logs", "it")
print(json.dumps({"status": done.status, "stopped": done.stopped, "sentence": done.sentence("it"),
                  "left": process.descendants(__import__("os").getpid()), "prefix": process.network_prefix()}))
"""


def _run(folder: Path, command: list[str], **limits: object) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(folder), json.dumps(command), json.dumps({"seconds": 20, **limits})],
        capture_output=True,
        check=True,
        timeout=180,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "HF_TOKEN": "t", "AWS_SECRET": "s"},
    )
    return json.loads(done.stdout)


def test_time_is_limited(tmp_path: Path) -> None:
    done = _run(tmp_path, ["sleep", "300"], seconds=0.3)
    assert done["stopped"] == "it ran longer than 0.3 s"
    assert done["left"] == []


PLAIN = """
import sys
from pathlib import Path
from optimas_lsp.prove.runner import process
folder = Path(sys.argv[1])
detach = "(setsid sh -c 'echo $$ > pid; exec sleep 300' &); while [ ! -s pid ]; do :; done"
process.run(["sh", "-c", detach], folder, process.clean_environment(folder), process.Limits(20), folder / "logs", "it")
print(Path("/proc", (folder / "pid").read_text().strip()).exists())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_what_a_command_detaches_ends_with_it_in_any_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, str(tmp_path)],
        capture_output=True,
        check=True,
        text=True,
        timeout=180,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == "False"


def test_memory_of_the_whole_tree_is_limited(tmp_path: Path) -> None:
    hog = "import time; kept = bytearray(300 << 20); time.sleep(60)"
    done = _run(tmp_path, ["sh", "-c", f'{sys.executable} -c "{hog}" & wait'], memory_mb=150)
    assert done["stopped"] == "it used more than 150 MB of memory"
    assert done["left"] == []


def test_the_size_of_a_file_is_limited(tmp_path: Path) -> None:
    done = _run(tmp_path, ["dd", "if=/dev/zero", "of=big", "bs=1M", "count=8"], file_mb=2)
    assert done["status"] != 0
    assert "it wrote a file larger than 2 MB" in str(done["stopped"])
    assert (tmp_path / "big").stat().st_size <= 2 << 20


def test_the_number_of_processes_is_limited(tmp_path: Path) -> None:
    done = _run(tmp_path, ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait"], processes=4)
    assert done["status"] != 0
    assert done["left"] == []


def test_a_daemon_that_detaches_itself_twice_is_ended(tmp_path: Path) -> None:
    daemon = (
        "setsid sh -c 'setsid sh -c \"echo $$ > pid; exec sleep 300\" &' & "
        "for i in $(seq 200); do [ -s pid ] && exit 0; sleep 0.02; done"
    )
    done = _run(tmp_path, ["sh", "-c", daemon])
    assert done["status"] == 0
    assert done["left"] == []
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_secrets_do_not_reach_the_command(tmp_path: Path) -> None:
    _run(tmp_path, ["sh", "-c", "env > seen"])
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines() if "=" in line)
    assert seen["HOME"] == seen["TMPDIR"] == str(tmp_path)
    assert "HF_TOKEN" not in seen
    assert "AWS_SECRET" not in seen


def test_the_network_is_taken_away_where_the_system_allows(tmp_path: Path) -> None:
    done = _run(tmp_path, ["cat", "/proc/net/dev"])
    if not done["prefix"]:
        pytest.skip("this system does not let a user take the network away (unshare -n)")
    names = [line.split(":")[0].strip() for line in (tmp_path / "logs" / "it.out").read_text().splitlines()[2:]]
    assert names == ["lo"]


def test_a_command_that_does_not_exist_is_a_failure_and_no_exception(tmp_path: Path) -> None:
    done = _run(tmp_path, ["./no-such-program"], network=True)
    assert done["status"] == 127
    assert "No such file" in str(done["sentence"])


def test_the_environment_keeps_what_cuda_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("NVIDIA_API_KEY", "x")
    kept = process.clean_environment(tmp_path)
    assert kept["CUDA_VISIBLE_DEVICES"] == "1"
    assert "NVIDIA_API_KEY" not in kept
    assert Limits().network is False


ORDINARY = """
import errno, json, os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from optimas_runner import process
process.adopt_orphans()
forks = '''import errno, os, time
seen = 0
for _ in range(40):
    try:
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
    except OSError as error:
        seen += error.errno == errno.EAGAIN
print(seen)
'''
here = Path(sys.argv[2])
limits = process.Limits(seconds=20, processes=10)
done = process.run([sys.executable, "-c", forks], here, process.clean_environment(here), limits, here / "logs", "it")
print(json.dumps({"refused": process.read_tail(done.stdout), "stopped": done.stopped,
                  "left": process.descendants(os.getpid())}))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_the_kernel_itself_limits_the_processes_of_an_ordinary_user() -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("there is no Python that an ordinary user may run")
    folder = Path(tempfile.mkdtemp(prefix="optimas-test-"))
    try:
        folder.chmod(0o777)
        write_runner(folder / "runner.pyz")
        done = subprocess.run(
            [python, "-c", ORDINARY, str(folder / "runner.pyz"), str(folder)],
            capture_output=True,
            check=True,
            timeout=180,
            user=65534,
            group=65534,
            extra_groups=[],
            cwd=folder,
        )
    finally:
        shutil.rmtree(folder)
    found = json.loads(done.stdout)
    assert int(found["refused"] or 0) > 0 or found["stopped"] == "it started more than 10 processes"
    assert int(found["refused"] or 30) >= 30
    assert found["left"] == []
