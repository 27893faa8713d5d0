"""Without an editor: instructions of a source line, lines of an instruction, and waits, as the extension finds them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.insight.machine_code import MachineCode, machine_code
from optimas_lsp.report.machine_code import listing

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "vscode-client"
SAMPLE = ROOT / "samples" / "accuracy"

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None or not (CLIENT / "node_modules").is_dir(),
    reason="the extension's Node packages are not here: cd vscode-client && npm ci",
)

ASK = """
import {{ readFileSync }} from "node:fs";
import {{ Indexed, brief }} from {module};
const code = new Indexed(JSON.parse(readFileSync({data}, "utf8")));
const {{ use, load }} = JSON.parse(readFileSync({rows}, "utf8"));
const plain = (waits) => Object.fromEntries([...waits].map(([row, wait]) => [row, wait]));
const text = code.lineOf.get(use);
process.stdout.write(JSON.stringify({{
  text: code.text,
  ofText: code.rowsOfText(text),
  ofHeading: code.rowsOfText(text - 1),
  ofHeader: code.rowsOfSource("file:///rank.cuh", 9),
  ofCall: code.rowsOfSource("file:///accuracy.cu", 43),
  ofChanged: code.rowsOfSource("file:///accuracy.cu", 40),
  ofElsewhere: code.rowsOfSource("file:///other.cu", 9),
  places: code.placesOfText(text),
  changed: code.placesOfText(code.lineOf.get(load)),
  causes: plain(code.waits([use], "waits_for")),
  within: plain(code.waits([use, load], "waits_for")),
  heaviest: code.heaviest([load, use]),
  none: code.heaviest([]),
  sass: code.sassIn(text),
  brief: brief(code.code.rows[load]),
}}));
"""


def _code() -> MachineCode:
    (report,) = SAMPLE.glob("profile.ncu-rep*")
    profile, _ = load_analysis(report, Settings())
    return machine_code(profile, profile.kernels[0])


def _asked(tmp_path: Path, code: MachineCode, use: int, load: int) -> dict[str, Any]:
    """Two lines were typed above accuracy.cu's code, line 40 was changed, and rank.cuh is not open."""
    moved = [[line, None if line == 40 else line + 2] for line in range(1, 60)]
    files = {"accuracy.cu": moved, "rank.cuh": None}
    data = {
        **code.model_dump(mode="json", by_alias=True),
        "listing": [each.model_dump(mode="json") for each in listing(code, lambda file, line: "text")],
        "sources": [
            {"uri": f"file:///{name}" if name in files else None, "lines": files.get(name)}
            for name in (Path(each).name for each in code.files)
        ],
    }
    paths = {name: tmp_path / f"{name}.json" for name in ("data", "rows")}
    paths["data"].write_text(json.dumps(data), "utf-8")
    paths["rows"].write_text(json.dumps({"use": use, "load": load}), "utf-8")
    module = tmp_path / "code.mjs"
    bundle = ["npx", "esbuild", "src/sass/code.ts", "--format=esm", "--log-level=warning", f"--outfile={module}"]
    subprocess.run(bundle, cwd=CLIENT, check=True, timeout=120)
    names = {"module": module, **paths}
    script = ASK.format(**{name: json.dumps(str(path)) for name, path in names.items()})
    (tmp_path / "ask.mjs").write_text(script, "utf-8")
    ran = subprocess.run(["node", str(tmp_path / "ask.mjs")], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return cast("dict[str, Any]", json.loads(ran.stdout))


@pytest.mark.timeout(300)
def test_lines_instructions_and_waits_are_found_by_each_other(tmp_path: Path) -> None:
    code = _code()
    use = max(range(len(code.rows)), key=lambda row: code.rows[row].stalled)
    edge = code.rows[use].waits_for[0]
    seen = _asked(tmp_path, code, use, edge.row)

    (inner, line), (outer, call) = code.rows[use].places
    assert (line, call) == (9, 41)
    assert seen["ofText"] == [use]
    assert seen["ofHeading"] == rows_at(code, outer, call), "a heading means all instructions of its line"
    assert seen["ofHeader"] == rows_at(code, inner, line)
    assert seen["ofCall"] == rows_at(code, outer, call), "a line that moved is found where it is now"
    assert use in seen["ofCall"], "the line of a call has the instructions inlined into it"
    assert seen["ofChanged"] == [], "a line that was changed has none"
    assert seen["ofElsewhere"] == []
    assert seen["places"] == [{"uri": "file:///rank.cuh", "line": 9}, {"uri": "file:///accuracy.cu", "line": 43}]
    assert seen["changed"] == []

    assert seen["causes"][str(edge.row)] == {"samples": edge.samples, "reasons": [edge.reason]}
    assert str(edge.row) not in seen["within"], "waits among the instructions at hand are their own affair"
    assert seen["heaviest"] == use
    assert "none" not in seen
    start, end = seen["sass"]
    assert seen["text"].splitlines()[_line_of(code, use)][start:end] == code.rows[use].sass
    assert seen["brief"] == f"0x{code.rows[edge.row].offset:04x} {code.rows[edge.row].sass.split()[0]}"


def rows_at(code: MachineCode, file: int, line: int) -> list[int]:
    """The rows with that line anywhere in their inline chain."""
    return [number for number, row in enumerate(code.rows) if (file, line) in row.places]


def _line_of(code: MachineCode, row: int) -> int:
    return next(number for number, each in enumerate(listing(code, lambda file, line: "text")) if each.row == row)
