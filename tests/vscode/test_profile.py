"""A folder with a real report in a real VS Code: what a person sees on the lines, in the tree and in the gutter."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vscode.code_server import ROOT, Editor, editor, installed

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(900),
    pytest.mark.skipif(installed() is None, reason="no VS Code here: run tests/vscode/install_code_server.sh"),
]

FILE = "accuracy.cu"


def _copy(sample: str, into: Path, *names: str) -> Path:
    """A copy of a sample's sources with its one full report."""
    folder = into / sample
    folder.mkdir(parents=True)
    (report,) = (ROOT / "samples" / sample).glob("profile.ncu-rep*")
    for source in (*(ROOT / "samples" / sample / name for name in names), report):
        shutil.copy(source, folder)
    return folder


def _findings(folder: Path) -> list[tuple[str, int, str]]:
    """File, line and level of every finding of the folder's report by the command line, in the order of the tree."""
    (report,) = folder.glob("profile.ncu-rep*")
    command = "import sys; from optimas_lsp.cli import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", command, "analyze", str(report), "--source", str(folder), "--format", "json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found: list[tuple[int, float, str, int, str]] = []
    for kernel in json.loads(ran.stdout)["kernels"]:
        for evidence in kernel["evidence"]:
            place = evidence["shown"] or evidence["location"]
            if place and place["path"]:
                cost = kernel["share"] * evidence["share"]
                rank = ("act", "hot", "note").index(evidence["level"])
                found.append((rank, -cost, Path(place["path"]).name, place["line"], evidence["level"]))
    return [(file, line, level) for _, _, file, line, level in sorted(found, key=lambda each: each[:2])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample in a folder of its own."""
    return _copy("accuracy", tmp_path_factory.mktemp("work"), FILE, "rank.cuh")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One VS Code for all claims of this module."""
    with editor(
        tmp_path_factory.mktemp("editor") / "e",
        {"workbench.colorTheme": "Default Dark Modern", "editor.hover.above": False},
    ) as one:
        yield one


def _top(folder: Path) -> dict[str, Any]:
    return next({"file": file, "line": line} for file, line, level in _findings(folder) if level == "act")


def _inside(folder: Path, name: str) -> int:
    return next(line for file, line, level in _findings(folder) if file == name and level != "note")


@pytest.fixture(scope="module")
def top(folder: Path) -> dict[str, Any]:
    """The costliest finding worth acting on."""
    return _top(folder)


@pytest.fixture(scope="module")
def inside(folder: Path) -> int:
    """The line of the costliest finding in the file of the kernel."""
    return _inside(folder, FILE)


@pytest.fixture(scope="module")
def seen(
    running: Editor, folder: Path, top: dict[str, Any], inside: int, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What one walk through the editor showed."""
    return running.drive("profile", folder, tmp_path_factory.mktemp("shots"), file=FILE, line=inside, top=top)


def test_the_lines_where_the_gpu_waits_carry_squiggles_and_text_at_their_ends(seen: dict[str, Any]) -> None:
    assert seen["squiggles"]["warning"] + seen["squiggles"]["info"] > 0
    assert any(re.search(r"\d %", line) for line in seen["lines"] if "//" not in line)


def test_the_hover_has_a_table_of_stall_reasons(seen: dict[str, Any]) -> None:
    assert seen["hover"]["tables"] >= 1
    assert seen["hover"]["rows"] >= 2
    assert "samples" in seen["hover"]["text"]


def test_the_kernel_has_a_code_lens_with_its_share_of_gpu_time(seen: dict[str, Any]) -> None:
    assert any("GPU time" in text for text in seen["lens"])


def test_the_tree_lists_kernels_with_their_findings_what_to_change_first_then_by_cost(
    seen: dict[str, Any], folder: Path
) -> None:
    assert any(row.startswith("accuracy_kernel") for row in seen["tree"])
    lines = [int(found[1]) for row in seen["tree"] if (found := re.match(r"[\d.]+ % line (\d+) ", row))]
    assert lines == [line for _, line, _ in _findings(folder)][: len(lines)]


def test_a_click_in_the_tree_goes_to_the_line_it_names(seen: dict[str, Any], top: dict[str, Any]) -> None:
    assert f"line {top['line']} " in seen["clicked"]
    assert seen["clicked"].endswith(top["file"])
    assert seen["arrived"] == top["line"]
    assert seen["topHover"]["tables"] >= 1


def test_heat_is_in_the_gutter_until_it_is_switched_off(seen: dict[str, Any]) -> None:
    assert seen["heat"]
    assert seen["heatOff"] == {}


def test_the_status_bar_names_the_report(seen: dict[str, Any]) -> None:
    assert "profile.ncu-rep" in seen["status"]


def test_the_extension_activates_in_under_200_ms_by_vs_codes_own_account(
    running: Editor, folder: Path, tmp_path: Path
) -> None:
    took: list[int] = []
    while len(took) < 3 and min(took, default=200) >= 200:  # a busy machine may take the processor away once
        seen = running.drive("activation", folder, tmp_path / f"shots{len(took)}", file=FILE)
        took += [int(time) for time in re.findall(r"Activation: (\d+)ms", seen["row"])[:1]]
        assert took, seen["row"]
    assert min(took) < 200
    own = [float(time) for time in re.findall(r"activated in ([\d.]+) ms", running.log())]
    sys.stdout.write(f"activation by VS Code: {took} ms; own call: {own} ms\n")


def test_the_reports_page_is_a_webview_that_follows_the_theme_and_loads_nothing(
    running: Editor, folder: Path, inside: int, tmp_path: Path
) -> None:
    names = ["Light Modern", "Dark High Contrast", "Dark Modern"]
    seen = running.drive("page", folder, tmp_path / "shots", file=FILE, line=inside, themes=names)
    colours = [(each["back"], each["text"]) for each in seen["themes"].values()]
    assert len(set(colours)) == len(names)
    assert len(seen["policies"]) == 2, "the page's own and the extension's"
    assert all("default-src 'none'" in policy for policy in seen["policies"])
    assert not any("http" in policy or "unsafe-eval" in policy for policy in seen["policies"])
    assert seen["scripted"] > 0, "the page's one script runs"
    assert not seen["switch"], "the theme decides between dark and light"


def test_findings_move_with_their_text_and_leave_when_it_changes(
    running: Editor, folder: Path, top: dict[str, Any], tmp_path: Path
) -> None:
    own = tmp_path / "own"
    shutil.copytree(folder, own)  # the editor saves by itself
    seen = running.drive("edits", own, tmp_path / "shots", **top)
    assert "samples" in seen["moved"]


def test_two_roots_show_the_findings_of_both(running: Editor, folder: Path, tmp_path: Path) -> None:
    other = _copy("adjacent", tmp_path, "adjacent.cu")
    workspace = tmp_path / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(folder)}, {"path": str(other)}]}), "utf-8")
    file, line = str(other / "adjacent.cu"), _findings(other)[0][1]
    rows = ["adjacent", "accuracy"]  # a report is shown as soon as it is read
    seen = running.drive("glance", workspace, tmp_path / "shots", file=file, line=line, rows=rows)
    assert any("adjacent" in row for row in seen["tree"])
    assert any("accuracy" in row for row in seen["tree"])


def test_an_untrusted_folder_shows_its_profile_and_chooses_no_python(folder: Path, inside: int, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n", "utf-8")
    trap.chmod(0o755)
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    (work / ".vscode").mkdir()
    (work / ".vscode" / "settings.json").write_text(json.dumps({"optimas.python": str(trap)}), "utf-8")
    (work / "optimas_lsp").mkdir()
    (work / "optimas_lsp" / "__init__.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n", "utf-8")
    with editor(tmp_path / "editor", restricted=True) as untrusting:
        seen = untrusting.drive("glance", work, tmp_path / "shots", file=FILE, line=inside)
    assert "hot" in seen["status"]
    assert seen["restricted"] == 1
    assert not (tmp_path / "sprung").exists()


def test_the_walkthrough_has_its_five_steps(running: Editor, folder: Path, tmp_path: Path) -> None:
    seen = running.drive("walkthrough", folder, tmp_path / "shots")
    assert len(seen["steps"]) == 5


def test_the_pictures_of_the_manual_can_be_taken_again(running: Editor, folder: Path, tmp_path: Path) -> None:
    size = {"width": 1240, "height": 800}
    for sample, scroll in {"accuracy": 0, "adjacent": 6}.items():
        place = folder if sample == "accuracy" else _copy("adjacent", tmp_path, "adjacent.cu")
        top = _top(place)
        shots = tmp_path / f"{sample}-shots"
        line = _inside(place, f"{sample}.cu")
        options = {"file": f"{sample}.cu", "line": line, "top": top, "scroll": scroll, "viewport": size}
        running.drive("picture", place, shots, **options)
        assert 20_000 < (shots / "picture.png").stat().st_size < 400_000
