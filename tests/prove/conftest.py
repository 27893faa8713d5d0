"""Small C programs as proof jobs: what the runner does around a GPU is the same without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove.bundle import pack
from optimas_lsp.prove.target import parse_target

HELLO = '#include <stdio.h>\nint main(void) { puts("sum 42"); return 0; }\n'
PASSED = {"status": "pass", "sentence": "every guardrail passed"}


@dataclass
class PackedJob:
    """A job folder and what its runner said."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, python: str = sys.executable) -> subprocess.Popen[bytes]:
        command = [python, str(self.folder / "runner.pyz"), str(self.folder)]
        return subprocess.Popen(
            command, env={**os.environ, **self.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, python: str = sys.executable) -> int:
        process = self.start(python)
        _out, err = process.communicate(timeout=100)
        assert b"Traceback" not in err, err.decode()
        return process.returncode

    @property
    def result(self) -> dict[str, Any]:
        return json.loads((self.folder / "result.json").read_text("utf-8"))

    def gate(self, name: str) -> dict[str, Any]:
        return next(gate for gate in self.result["gates"] if gate["name"] == name)

    def events(self) -> Iterator[dict[str, Any]]:
        for line in (self.folder / "events.jsonl").read_text("utf-8").splitlines():
            yield json.loads(line)


Packer = Callable[..., PackedJob]


@pytest.fixture
def packed(tmp_path: Path) -> Packer:
    """Pack a C program and its rewrite; keywords go into [target], ``options`` into the job."""

    def make(
        baseline: str = HELLO, candidate: str = HELLO, *, options: dict[str, Any] | None = None, **target: Any
    ) -> PackedJob:
        folder = tmp_path / "program"
        folder.mkdir(exist_ok=True)
        (folder / "main.c").write_text(baseline, "utf-8")
        table = {
            "build": [["gcc", "-O1", "-o", "build/main", "main.c"]],
            "inputs": {"default": ["build/main"]},
            "time_limit_s": 20,
            **target,
        }
        job = tmp_path / "job"
        parsed = parse_target(table, where="optimas.toml")
        pack(folder, parsed, {"main.c": candidate.encode()}, job, kernels=[], static=PASSED, options=options)
        return PackedJob(job)

    return make


@pytest.fixture
def claimed_gpu(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose nvidia-smi names a GPU, so that the gates that run the program do so.

    There is no g++, hence no witness: nothing can be proven there, but everything else is the real thing.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "nvidia-smi"
    script.write_text('#!/bin/sh\ncase "$*" in *name,driver*) echo "No device, 1.0, GPU-none";; esac\n', "utf-8")
    script.chmod(0o755)
    for tool in ("gcc", "as", "ld", "sh", "env", "sleep", "true", "touch", "tr", "unshare"):
        found = shutil.which(tool)
        if found:
            (folder / tool).symlink_to(found)
    return {"PATH": str(folder), "CUDA_HOME": "", "CUDA_PATH": ""}
