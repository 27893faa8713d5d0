"""The package that carries the server's dependencies installs it where no index can be reached."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from tests.vscode.code_server import CLIENT, ROOT, package

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here"),
]


def test_the_package_with_dependencies_installs_the_server_without_an_index(tmp_path: Path) -> None:
    made = package(tmp_path, server=True, dependencies=True)
    with zipfile.ZipFile(made) as archive:
        names = [name for name in archive.namelist() if name.endswith(".whl")]
        archive.extractall(tmp_path / "vsix", names)
    folder = tmp_path / "vsix" / "extension" / "server"
    (own,) = folder.glob("optimas_lsp-*.whl")
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / "bin" / "python"
    nowhere = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    # The words that install.ts uses.
    words = ["-m", "pip", "install", "--upgrade", "--retries", "0", "--find-links", str(folder), str(own)]
    subprocess.run([python, *words], env=nowhere, check=True, timeout=300, capture_output=True)
    report = ROOT / "samples" / "adjacent" / "profile.ncu-repz"
    command = [python.with_name("optimas"), "analyze", report, "--format", "json"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["kernels"][0]["evidence"]
    assert '"--retries", "0", "--find-links"' in (CLIENT / "src" / "install.ts").read_text("utf-8")
