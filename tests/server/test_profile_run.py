"""The process that profiles a kernel for an editor: asks first, works in a copy, brings the report home.

A shell script stands for ncu, as in ``tests/profile``: only the handling of processes and files can be seen here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from optimas_lsp.server.profile_orders import plan

if TYPE_CHECKING:
    from optimas_lsp.server.orders import Target

NCU = """#!/bin/sh
[ "$1" = --version ] && exit 0
while [ "$#" -gt 0 ]; do [ "$1" = --export ] && { out="$2"; shift 2; break; }; shift; done
echo '==PROF== Profiling "k" - 0: 0%....50%....100% - 34 passes'
cat built >"$out"
"""


@pytest.fixture
def asked(tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "a.cu").write_text("text\n")
    ncu = tmp_path / "ncu"
    ncu.write_text(NCU)
    ncu.chmod(0o755)
    return {
        "folder": str(folder), "build": [["cp", "a.cu", "built"]], "program": ["/bin/true"], "kernel": "^k$",
        "ncu": str(ncu), "report": str(folder / "profiles" / "k.ncu-rep"),
    }  # fmt: skip


def talk(asked: dict[str, Any], answer: str, state: Path) -> list[dict[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "optimas_lsp.server.profile_run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OPTIMAS_STATE_DIR": str(state)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    seen: list[dict[str, Any]] = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if seen[-1]["kind"] == "consent":
            process.stdin.write(answer + "\n")
            process.stdin.flush()
    process.stdin.close()
    assert process.wait(30) == 0
    return seen


def test_the_report_comes_home_and_nothing_else(asked: dict[str, Any], tmp_path: Path) -> None:
    seen = talk(asked, "yes", tmp_path / "state")
    assert [each["kind"] for each in seen].count("consent") == 1
    (action,) = seen[0]["actions"]
    assert "cp a.cu built" in action["sentence"]
    assert "--export k.ncu-rep /bin/true" in action["sentence"]
    assert asked["report"] in action["sentence"]
    assert seen[-1]["outcome"]["status"] == "profiled"
    assert Path(asked["report"]).read_text() == "text\n"
    found = sorted(str(each.relative_to(asked["folder"])) for each in Path(asked["folder"]).rglob("*"))
    assert found == ["a.cu", "profiles", "profiles/k.ncu-rep", "profiles/k.provenance.json"]


def test_a_no_runs_nothing(asked: dict[str, Any], tmp_path: Path) -> None:
    seen = talk(asked, "no", tmp_path / "state")
    assert seen[-1]["kind"] == "error"
    assert "nothing was run" in seen[-1]["what"]
    assert [each.name for each in Path(asked["folder"]).iterdir()] == ["a.cu"]
    assert not (tmp_path / "state").exists()


def test_a_build_that_fails_is_said_with_its_last_line(asked: dict[str, Any], tmp_path: Path) -> None:
    asked["build"] = [["cp", "missing.cu", "built"]]
    seen = talk(asked, "yes", tmp_path / "state")
    assert "missing.cu" in seen[-1]["what"]
    assert not Path(asked["report"]).exists()


def test_a_kernels_name_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("text\n")
    (tmp_path / "optimas.toml").write_text('[target.inputs]\ndefault = ["/bin/true"]\n')
    kernel = SimpleNamespace(base_name="../../.ssh/k\n<int>" + "x" * 500)
    about = SimpleNamespace(path=tmp_path / "a.cu", document=None, kernel=kernel)
    found = plan(cast("Target", about))
    assert found.report.parent == tmp_path / "profiles"
    assert found.report.name.startswith("_ssh_k_int_x")
    assert len(found.report.name) < 100
    text = found.text(kernel.base_name)
    assert "\n<int>" not in text
