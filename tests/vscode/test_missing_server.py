"""A Python that cannot run the server: the editor says what is missing and offers what fixes it."""

from __future__ import annotations

import shutil
import venv
from pathlib import Path

import pytest

from tests.vscode.code_server import ROOT, editor, installed

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(900),
    pytest.mark.skipif(installed() is None, reason="no VS Code here: run tests/vscode/install_code_server.sh"),
]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of our own without any package of the server."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


def test_a_python_without_the_server_is_named_with_three_ways_out(tmp_path: Path, bare_python: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "kernel.cu").write_text("__global__ void k() {}\n")
    (workspace / "one.optimas.json").write_text("{}")
    with editor(tmp_path / "editor", {"optimas.python": str(bare_python)}, checkout=False) as running:
        seen = running.drive("broken", workspace, tmp_path / "shots", pattern="not installed", ask="Install")
    assert str(bare_python) in seen["toast"]
    assert seen["buttons"] == ["Install…", "New environment…", "Choose Python…"]
    assert "not installed" in seen["label"]
    assert f"{bare_python} -m pip install --upgrade" in seen["question"], "the exact command is shown first"
    assert seen["terminals"] == 0, "nothing runs once the question is answered with no"


def test_a_python_that_does_not_exist_is_named_with_its_origin(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "one.optimas.json").write_text("{}")
    absent = str(tmp_path / "no" / "python")
    assert shutil.which(absent) is None
    with editor(tmp_path / "editor", {"optimas.python": absent}, checkout=False) as running:
        seen = running.drive("broken", workspace, tmp_path / "shots", pattern="does not run")
    assert absent in seen["toast"]
    assert "from the setting optimas.python" in seen["toast"]


@pytest.mark.timeout(1200)
def test_the_button_installs_the_server_that_came_with_the_extension_and_findings_appear(tmp_path: Path) -> None:
    python = tmp_path / "own" / "bin" / "python"
    venv.create(tmp_path / "own", with_pip=True)
    workspace = tmp_path / "adjacent"
    shutil.copytree(ROOT / "samples" / "adjacent", workspace)
    with editor(tmp_path / "editor", {"optimas.python": str(python)}, checkout=False, wheel=True) as running:
        seen = running.drive(
            "repair", workspace, tmp_path / "shots", timeout=900, file="adjacent.cu", line=30, button="Install"
        )
    assert ".whl" in seen["question"]
    assert "hot" in seen["status"]
