"""A kernel is optimised from real Neovims: asked for, followed, read, previewed, applied, undone, and cancelled."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.test_neovim import current_neovim, old_neovim
from tests.neovim.walk import walk

pytestmark = pytest.mark.timeout(400)

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "adjacent"
SCRIPT = Path(__file__).with_name("optimize.lua")

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")


def _folder(into: Path, *, build: bool, gate: Path | None = None) -> Path:
    """The sample with its recorded proofs; with ``gate`` a build waits until that file exists, which it never does."""
    folder = into / "adjacent"
    folder.mkdir()
    for source in (SAMPLE / "adjacent.cu", SAMPLE / "outcomes.json", *SAMPLE.glob("profile.ncu-rep*")):
        shutil.copy(source, folder)
    text = (SAMPLE / "optimas.toml").read_text("utf-8")
    if gate is not None:
        start = text.index("build = [[")
        wait = f"until [ -e '{gate}' ]; do sleep 0.1; done"
        text = f"{text[:start]}build = [['sh', '-c', \"{wait}\"]]{text[text.index(chr(10), start) :]}"
    text += '\n[prove]\nexecutor = "recorded"\nrecords = "."\n\n[corpus]\nenable = false\n'
    text += f"\n[jobs]\nbuild = {str(build).lower()}\n"
    (folder / "optimas.toml").write_text(text, "utf-8")
    return folder


def _run(nvim: Path, folder: Path, tmp_path: Path, *, held: bool = False) -> dict[str, Any]:
    return walk(nvim, SCRIPT, folder / "adjacent.cu", tmp_path, OPTIMAS_HELD="1" if held else "0")


def _holds(seen: dict[str, Any]) -> None:
    """What must hold in every Neovim."""
    original = (SAMPLE / "adjacent.cu").read_text("utf-8")
    assert re.search(r"3\.9\d times less time \(95 % interval 3\.\d\d to 3\.\d\d\)", seen["offer"])
    assert "recorded on NVIDIA H200" in seen["offer"]
    assert "not measured now" in seen["offer"]
    assert any("of 5" in words for words in seen["progress"]), seen["progress"]
    assert "not checked" in seen["outcome"]
    assert seen["diff"]
    assert seen["untouched"], "a preview changes nothing"
    assert "#pragma unroll" in seen["previewed"]
    assert seen["previewed"] != original
    assert seen["applied"] == "// one\n// two\n" + seen["previewed"]
    assert seen["undone"], "undo gives the exact text back"
    assert seen["refused"], "a stale rewrite touches nothing"
    assert "adjacent_kernel" in seen["list"]


@pytest.mark.parametrize("find", [current_neovim, pytest.param(old_neovim, marks=pytest.mark.full)])
def test_a_recorded_proof_is_offered_previewed_applied_and_undone(find: Any, tmp_path: Path) -> None:
    _holds(_run(find(), _folder(tmp_path, build=False), tmp_path))


@pytest.mark.full
@needs_nvcc
def test_the_same_with_a_build_that_is_asked_about_first(tmp_path: Path) -> None:
    seen = _run(current_neovim(), _folder(tmp_path, build=True), tmp_path)
    _holds(seen)
    assert len(seen["asked"]) == 1
    assert "nvcc -O3 -arch=sm_90 -lineinfo -o build/adjacent adjacent.cu" in seen["asked"][0]


@pytest.mark.full
def test_cancelling_ends_the_build_and_leaves_the_text(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    seen = _run(current_neovim(), _folder(tmp_path, build=True, gate=gate), tmp_path, held=True)
    assert seen["text"] == seen["original"]
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
    assert not [line for line in commands if str(gate).encode() in line and b"until" in line]


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True
