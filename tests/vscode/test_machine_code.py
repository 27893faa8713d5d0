"""Machine code beside its source in a real VS Code: in step, along the waits, through edits, and gone without a trace."""

from __future__ import annotations

import shutil
import subprocess
import sys
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


def test_source_and_machine_code_walk_in_step_along_what_waits_for_what(running: Editor, tmp_path: Path) -> None:
    folder = _copy("accuracy", tmp_path, "accuracy.cu", "rank.cuh")
    source = (folder / "accuracy.cu").read_text("utf-8").splitlines()
    code, rows = _code(folder)
    use = max(range(len(code.rows)), key=lambda row: code.rows[row].stalled)
    load = code.rows[use].waits_for[0].row
    last = max(row for row in range(len(code.rows)) if code.rows[row].places)

    def instruction(row: int) -> dict[str, Any]:
        file, line = code.rows[row].places[0]
        assert Path(code.files[file]).name in {"accuracy.cu", "rank.cuh"}
        return {"line": line, "text": rows.index(row) + 1, "sass": f"0x{code.rows[row].offset:04x}"}

    innermost, *_, outermost = code.rows[use].places
    loading = instruction(load)
    seen = running.drive(
        "machineCode",
        folder,
        tmp_path / "shots",
        file="accuracy.cu",
        name="accuracy_kernel (machine code)",
        load={**loading, "source": source[loading["line"] - 1].strip()},
        use=instruction(use),
        call=source[outermost[1] - 1].strip(),
        after=instruction(last),
        header={"file": Path(code.files[innermost[0]]).name, "line": innermost[1]},
        report=next(folder.glob("profile.ncu-rep*")).name,
        aside=str(tmp_path / "aside"),
    )
    print(seen)
