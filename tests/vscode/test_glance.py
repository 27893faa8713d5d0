"""The short proof in a real VS Code: a folder with a report, and findings show. The long one is test_profile.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.vscode.code_server import ROOT, editor, installed


@pytest.mark.timeout(900)
@pytest.mark.skipif(installed() is None, reason="no VS Code here: run tests/vscode/install_code_server.sh")
def test_opening_a_folder_with_a_report_shows_squiggles_heat_and_the_tree(tmp_path: Path) -> None:
    folder = tmp_path / "adjacent"
    folder.mkdir()
    (report,) = (ROOT / "samples" / "adjacent").glob("profile.ncu-rep*")
    for source in (ROOT / "samples" / "adjacent" / "adjacent.cu", report):
        shutil.copy(source, folder)
    with editor(tmp_path / "editor") as running:
        seen = running.drive("glance", folder, tmp_path / "shots", file="adjacent.cu", line=31)
    assert "1 hot" in seen["status"]
    assert seen["tree"][0].startswith("adjacent_kernel")
    assert len(seen["tree"]) > 3
