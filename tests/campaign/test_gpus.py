"""Each worker has its GPU, in the experiment's process and in the proof; GPUs do not wait for each other.

The GPUs are simulated by an nvidia-smi that tells of two; everything else is real: Parsl's worker processes, courses,
runners, locks, and a program in C that is timed.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from optimas_lsp.campaign.design import read
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.results import Results
from optimas_lsp.prove.runner import tools
from tests.campaign.watching import courses, start, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.campaign.conftest import Write

SMI = """#!/bin/sh
case "$*" in
-L) echo "GPU 0: Simulated (UUID: {uuid}-0)"; echo "GPU 1: Simulated (UUID: {uuid}-1)";;
*name,driver*"-i 1") echo "Simulated 1, 1.0, {uuid}-1";;
*name,driver*"-i MIG"*) exit 6;;
*name,driver*) echo "Simulated 0, 1.0, {uuid}-0";;
esac
"""
TIMED = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    const char *device = getenv("CUDA_VISIBLE_DEVICES"), *order = getenv("CUDA_DEVICE_ORDER");
    const char *place = getenv("TMPDIR");
    char mine[4096], other[4096], alone[4096];
    if (!device || !order || strlen(device) != 1) return 1;
    FILE *log = fopen(PLACE "/log", "a");
    fprintf(log, "%s %s %s\\n", device, order, place);
    fclose(log);
    puts("sum 42");
    if (!strstr(place, "-time-")) return 0;
    snprintf(alone, sizeof alone, PLACE "/alone-%s", device);
    if (open(alone, O_CREAT | O_EXCL, 0600) < 0) return 2;
    snprintf(mine, sizeof mine, PLACE "/timed-%s", device);
    snprintf(other, sizeof other, PLACE "/timed-%c", device[0] == '0' ? '1' : '0');
    close(open(mine, O_CREAT, 0600));
    for (int i = 0; access(other, R_OK); i++) { if (i > 40000) return 3; usleep(10000); }
    return unlink(alone) ? 4 : 0;
}
"""
"""While one is timed the other GPU is timed, too, or it fails; two on one GPU fail as well."""

OWN = """\
[target]
build = [["gcc", "-O1", "-o", "build/main", "main.c"]]
inputs = { default = ["build/main"] }
time_limit_s = 500

[search]
candidates = 1
budget_seconds = 1
"""
CUDA = {"nvcc", "ncu", "nsys", "compute-sanitizer", "cuobjdump", "nvidia-smi", "g++", "c++"}
"""Left out of the simulated machine, which so has no witness: the program's own time counts."""


@pytest.fixture
def two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A machine with two GPUs by what its nvidia-smi says; the beginning of their UUIDs, which only this test knows."""
    uuid = f"GPU-test-{secrets.token_hex(8)}"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "nvidia-smi").write_text(SMI.format(uuid=uuid), "utf-8")
    (folder / "nvidia-smi").chmod(0o755)
    for place in filter(os.path.isdir, os.environ["PATH"].split(os.pathsep)):
        for tool in Path(place).iterdir():
            if tool.name not in CUDA and not (folder / tool.name).is_symlink():
                (folder / tool.name).symlink_to(tool)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield uuid
    for lock in Path("/tmp").glob(f"optimas-gpu-*{uuid}*.lock"):
        lock.unlink()


def gpu_of(pid: int) -> str:
    """The GPU that a process sees; empty when nobody chose one, or it is gone."""
    try:
        found = Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    name = b"CUDA_VISIBLE_DEVICES="
    return next((each.removeprefix(name).decode() for each in found if each.startswith(name)), "")


@pytest.mark.full
@pytest.mark.timeout(900)
def test_every_worker_has_its_gpu_and_gpus_do_not_wait_for_each_other(
    campaign: Write, two_gpus: str, tmp_path: Path
) -> None:
    places = tmp_path / "places"
    places.mkdir()
    file = campaign(
        build=True,
        evidence=("pc", "pc+rl"),
        repetitions=2,
        engine='kind = "htex"\nretries = 0\ngpus = ["0", "1"]\nworkers_per_gpu = 2',
    )
    device = 'executor = "local"\nsettings = { minimum_pairs = 3, maximum_pairs = 3 }\n'
    text = file.read_text("utf-8")
    kept, _, rest = text.partition('executor = "recorded"\n')
    file.write_text(kept + device + rest.partition("\n")[2], "utf-8")
    (file.parent / "accuracy" / "optimas.toml").write_text(OWN, "utf-8")
    (file.parent / "accuracy" / "main.c").write_text(f'#define PLACE "{places}"\n{TIMED}', "utf-8")
    process = start("run", str(file), "--accept")
    seen: set[str] = set()
    until(lambda: seen.update(map(gpu_of, courses())) or seen >= {"0", "1"} or process.poll() is not None, 300)
    _, stderr = process.communicate(timeout=500)
    assert process.returncode == 0, stderr
    assert seen == {"0", "1"}, "each experiment's process sees the GPU of its worker"
    results = Results(tmp_path / "results")
    rows = [results.row(each.key) for each in Plan.of(read(file)).experiments]
    assert len(rows) == 4
    # the program would have failed if its GPU had been timed twice at once, or the other not at all
    assert not [row for row in rows if row["ending"] in {"failed", "program-failed"}], rows
    assert all(row["gates"].get("time") for row in rows)
    lines = [line.split() for line in (places / "log").read_text("utf-8").splitlines()]
    devices: dict[str, set[str]] = {}
    for number, order, place in lines:
        assert order == "PCI_BUS_ID"
        devices.setdefault(place.partition("/work/")[0], set()).add(number)
    assert all(len(seen) == 1 for seen in devices.values()), "a proof stays on its GPU"
    assert set().union(*devices.values()) == {"0", "1"}
    for number in ("0", "1"):
        assert Path(f"/tmp/optimas-gpu-{two_gpus}-{number}.lock").exists()


@pytest.mark.parametrize(
    ("chosen", "uuid"),
    [("", "-0"), ("0", "-0"), ("1", "-1"), ("1,0", "-1"), ("MIG-a", "MIG-a"), ("MIG-b,MIG-a", "MIG-b")],
)
def test_the_turn_is_that_of_the_device_that_programs_see(
    two_gpus: str, monkeypatch: pytest.MonkeyPatch, chosen: str, uuid: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    found = tools.gpu()
    assert found is not None
    assert found["uuid"] == (uuid if uuid.startswith("MIG") else two_gpus + uuid)


@pytest.mark.parametrize(("rank", "gpu"), [("0", "2"), ("1", "GPU-b"), ("2", "2"), ("3", "GPU-b")])
def test_workers_of_one_gpu_are_not_shifted_to_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rank: str, gpu: str
) -> None:
    """Parsl's own variable is wrong with several workers a GPU, so that it must not reach the experiment."""
    from optimas_lsp.campaign.design import EngineEntry
    from optimas_lsp.campaign.engine import configuration
    from optimas_lsp.campaign.worker import _on

    [executor] = configuration(EngineEntry(kind="htex", gpus=("2", "GPU-b"), workers_per_gpu=2), tmp_path).executors
    monkeypatch.setenv("PARSL_WORKER_RANK", rank)
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", "0")
    assert _on(executor.available_accelerators) == {"CUDA_VISIBLE_DEVICES": gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert _on(()) == {}
