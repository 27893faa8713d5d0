"""Machine code beside its source in real Neovims: in step both ways, along the waits, and gone without a trace."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.neovim.test_neovim import current_neovim, old_neovim
from tests.neovim.walk import walk

pytestmark = pytest.mark.timeout(400)

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "accuracy"
SCRIPT = Path(__file__).with_name("sass.lua")

LOAD, USE = "0x0200", "0x0220"
"""The load that makes accuracy_kernel wait, and the comparison in rank.cuh that waits for it."""

LINE = 40
"""Of the load."""


def _run(nvim: Path, tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "accuracy"
    folder.mkdir()
    (report,) = SAMPLE.glob("profile.ncu-rep*")
    for source in (SAMPLE / "accuracy.cu", SAMPLE / "rank.cuh", report):
        shutil.copy(source, folder)
    return walk(
        nvim,
        SCRIPT,
        folder / "accuracy.cu",
        tmp_path,
        OPTIMAS_LINE=str(LINE),
        OPTIMAS_LOAD=LOAD,
        OPTIMAS_USE=USE,
        OPTIMAS_REPORT=str(folder / report.name),
        OPTIMAS_ASIDE=str(tmp_path / report.name),
    )


@pytest.mark.parametrize("find", [current_neovim, old_neovim])
def test_source_and_machine_code_walk_in_step_along_what_waits_for_what(find: Any, tmp_path: Path) -> None:
    seen = _run(find(), tmp_path)
    source = (SAMPLE / "accuracy.cu").read_text("utf-8").splitlines()

    assert seen["kept"], "the cursor stays in the source"
    assert not seen["modifiable"]
    assert LOAD in seen["cursor"], "the listing stands at the costliest instruction of the line"
    assert any(LOAD in each["text"] for each in seen["line"]["OptimasInStep"])
    (waiting,) = (each for each in seen["line"]["OptimasWaiting"] if USE in each["text"])
    assert waiting["words"].startswith("◀ waits for it: 86 % of all stalls (long_scoreboard)")

    own = seen["instruction"]
    assert [each["text"] for each in own["source"]["OptimasInStep"]] == [source[LINE]], "the call in the kernel"
    (cause,) = (each for each in own["code"]["OptimasCause"] if LOAD in each["text"])
    assert "◀ cause of 86 %" in cause["words"]
    (line,) = (each for each in own["source"]["OptimasCause"] if each["text"] == source[LINE - 1])
    assert line["words"].startswith("◀ cause of 86 %"), "the line that makes it wait"
    assert seen["syntax"] == "optimasSassOpcode"

    assert LOAD in seen["cause"]
    assert USE in seen["back"]
    assert USE in seen["waiting"]
    assert "long_scoreboard" in seen["told"]
    assert f"waits for {LOAD}" in seen["told"]
    assert seen["header"]["file"].endswith("rank.cuh")
    assert seen["header"]["line"] == 9
    assert any(USE in each["text"] for each in seen["of_header"]["OptimasInStep"])

    assert seen["gone"]["text"][0] == "The machine code cannot be shown now."
    assert len(seen["gone"]["text"]) > 1, "and why"
    assert not seen["gone"]["marks"]
    assert seen["before_closing"], "closing had something to take away"
