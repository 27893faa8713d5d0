"""Machine code beside its source in a real VS Code: in step, along the waits, through edits, gone without a trace."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.insight.machine_code import MachineCode, machine_code
from optimas_lsp.report.machine_code import listing
from tests.vscode.code_server import ROOT, Editor, editor, installed

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(900),
    pytest.mark.skipif(installed() is None, reason="no VS Code here: run tests/vscode/install_code_server.sh"),
]


def _copy(sample: str, into: Path, *names: str) -> Path:
    folder = into / sample
    folder.mkdir(parents=True)
    (report,) = (ROOT / "samples" / sample).glob("profile.ncu-rep*")
    for source in (*(ROOT / "samples" / sample / name for name in names), report):
        shutil.copy(source, folder)
    return folder


def _code(folder: Path) -> tuple[MachineCode, list[int | None]]:
    """The machine code of the folder's one kernel, and which row every line of its listing is about."""
    (report,) = folder.glob("profile.ncu-rep*")
    profile, _ = load_analysis(report, Settings())
    code = machine_code(profile, profile.kernels[0])
    return code, [shown.row for shown in listing(code, lambda file, line: "")]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One VS Code for all claims of this module."""
    with editor(
        tmp_path_factory.mktemp("editor") / "e",
        {"workbench.colorTheme": "Default Dark Modern", "editor.hover.above": False},
    ) as one:
        yield one


NAME = "accuracy_kernel (machine code)"


def _options(folder: Path) -> dict[str, Any]:
    """What the scenarios are told of the sample: the instruction that stalls most, and the one it waits for."""
    source = (folder / "accuracy.cu").read_text("utf-8").splitlines()
    header = (folder / "rank.cuh").read_text("utf-8").splitlines()
    code, rows = _code(folder)
    use = max(range(len(code.rows)), key=lambda row: code.rows[row].stalled)
    load = code.rows[use].waits_for[0].row
    last = max(row for row in range(len(code.rows)) if code.rows[row].places)

    def instruction(row: int) -> dict[str, Any]:
        line = code.rows[row].places[0][1]
        return {"line": line, "text": rows.index(row) + 1, "sass": f"0x{code.rows[row].offset:04x}  "}

    (inner, line), (outer, call) = code.rows[use].places
    assert [Path(code.files[each]).name for each in (inner, outer)] == ["rank.cuh", "accuracy.cu"]
    loading = instruction(load)
    return {
        "file": "accuracy.cu",
        "name": NAME,
        "load": {**loading, "source": source[loading["line"] - 1].strip()},
        "use": instruction(use),
        "call": source[call - 1].strip(),
        "after": instruction(last),
        "header": {"file": "rank.cuh", "line": line, "text": header[line - 1].strip()},
    }


def test_source_and_machine_code_walk_in_step_along_what_waits_for_what(running: Editor, tmp_path: Path) -> None:
    folder = _copy("accuracy", tmp_path, "accuracy.cu", "rank.cuh")
    report = next(folder.glob("profile.ncu-rep*")).name
    options = _options(folder)
    load, use = options["load"]["sass"], options["use"]["sass"]
    seen = running.drive(
        "machineCode", folder, tmp_path / "shots", report=report, aside=str(tmp_path / "aside"), **options
    )

    def words(marks: dict[str, Any], style: str, text: str) -> str:
        (found,) = (each["words"] for each in marks[style] if text in each["text"])
        return cast("str", found)

    assert "◀ waits for it: 86 % of all stalls (long_scoreboard)" in words(seen["ofLine"], "dotted", use)
    assert len(seen["ofLine"]["solid"]) > 1, "a line is several instructions"
    assert "◀ cause of 86 % of all stalls" in words(seen["cause"], "double", load)
    assert "◀ cause of 86 %" in words(seen["source"], "double", options["load"]["source"])
    assert options["call"] in seen["source"]["solid"][0]["text"]
    assert "long_scoreboard" in seen["hover"]["text"]
    assert "inlined into accuracy.cu" in seen["hover"]["text"]
    assert seen["hover"]["tables"] == 1
    assert load.strip() in seen["choices"][0]
    assert seen["choices"][0].startswith("waits for")
    assert seen["choices"][-1].startswith("is waited for by")
    assert len(seen["header"]["solid"]) == 1
    assert not any(use in each["text"] for each in seen["moved"]["solid"]), "that is the next line's"
    assert any("no open report" in line for line in seen["gone"]), "why there is none"


def test_of_several_kernels_in_a_file_one_is_chosen(running: Editor, tmp_path: Path) -> None:
    folder = _copy("shmem", tmp_path, "shmem.cu")
    names = ["mix_tiles<float>", "mix_tiles<double>"]
    source = (folder / "shmem.cu").read_text("utf-8").splitlines()
    line = next(number for number, text in enumerate(source, 1) if "tile[y][x] = input" in text)
    seen = running.drive(
        "machineCodeOfAnother",
        folder,
        tmp_path / "shots",
        file="shmem.cu",
        line=line,
        names=names,
        name="mix_tiles (machine code)",
    )
    assert seen["tabs"] == [1, 2], "each has a tab of its own"


def test_the_picture_of_the_manual_can_be_taken_again(running: Editor, tmp_path: Path) -> None:
    folder = _copy("accuracy", tmp_path, "accuracy.cu", "rank.cuh")
    shots = tmp_path / "shots"
    themes = ["Light Modern", "Dark High Contrast", "Dark Modern"]
    size = {"width": 1800, "height": 720}
    running.drive("machineCodePicture", folder, shots, themes=themes, viewport=size, **_options(folder))
    assert 20_000 < (shots / "machine-code-Dark-Modern.png").stat().st_size < 400_000
