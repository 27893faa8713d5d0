"""What the extension costs VS Code at start: loading its code and the call to activate, in a real VS Code.

``python benchmarks/vscode_activation.py`` prints ``name value unit`` lines. VS Code's figure is a time on the wall, so
that on a busy machine other processes are in it; the smallest of several is nearest to the extension's own and must
stay below 200 ms. Needs ``tests/vscode/install_code_server.sh``; without it nothing is measured, and a note says so.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _lsp import keep, show

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.vscode.code_server import CLIENT, editor, installed  # noqa: E402 (found through the path above)

ROUNDS = 5

LOAD = """
const vscode = { OverviewRulerLane: {} }, module_ = require("module"), load = module_._load;
module_._load = (name, ...more) => (name === "vscode" ? vscode : load(name, ...more));
const before = process.cpuUsage();
require(process.argv[1]);
const { user, system } = process.cpuUsage(before);
process.stdout.write(String((user + system) / 1000));
"""
"""Processor time that loading the bundle takes (ms), with as much of ``vscode`` as loading looks at."""


def loading() -> float:
    """Milliseconds of processor time; the packaged bundle must be there."""
    bundle = str(CLIENT / "out" / "extension.js")
    ran = subprocess.run(["node", "-e", LOAD, bundle], check=True, stdout=subprocess.PIPE, text=True)
    return float(ran.stdout)


def main() -> None:
    """Open a window on a sample with a report several times; each activates the extension anew."""
    if installed() is None:
        print("vscode_activation: not measured, no VS Code here: run tests/vscode/install_code_server.sh")
        return
    sample = ROOT / "samples" / "adjacent"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "adjacent"
        folder.mkdir()
        for source in (sample / "adjacent.cu", *sample.glob("profile.ncu-rep*")):
            shutil.copy(source, folder)
        whole: list[float] = []
        with editor(Path(scratch) / "editor") as running:
            for _ in range(ROUNDS):
                seen = running.drive("activation", folder, Path(scratch) / "shots", file="adjacent.cu")
                took = re.search(r"Activation: (\d+)ms", seen["row"])
                assert took is not None, seen["row"]
                whole.append(float(took[1]))
            own = [float(each) for each in re.findall(r"activated in ([\d.]+) ms", running.log())]
    figures = {
        "vscode_activation.by_vscode.smallest": (min(whole), "ms"),
        "vscode_activation.by_vscode.median": (statistics.median(whole), "ms"),
        "vscode_activation.by_vscode.largest": (max(whole), "ms"),
        "vscode_activation.own_call.median": (statistics.median(own), "ms"),
        "vscode_activation.own_call.largest": (max(own), "ms"),
        "vscode_activation.loading.processor.median": (statistics.median(loading() for _ in range(ROUNDS)), "ms"),
    }
    keep("vscode_activation", show(figures))


if __name__ == "__main__":
    main()
