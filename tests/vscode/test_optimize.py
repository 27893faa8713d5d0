"""*Optimise This Kernel* in a real VS Code, with the catalogue and a proof that was recorded on an H200."""

from __future__ import annotations

import os
import re
import shutil
import socket
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

FILE = "adjacent.cu"
RECORDED = """
[prove]
executor = "recorded"
records = "."
"""


def _kernel_line(folder: Path) -> int:
    lines = (folder / FILE).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith("__global__ void adjacent_kernel"))


def _copy(into: Path, *, settings: str = RECORDED, build: bool | None = None, jobs: str = "") -> Path:
    """The sample with its report and its recorded proofs; candidates are built where there is a compiler.

    Past attempts are left out: with them the catalogue may propose something that was never recorded.
    """
    folder = into / "adjacent"
    folder.mkdir(parents=True)
    sample = ROOT / "samples" / "adjacent"
    for source in (sample / FILE, sample / "outcomes.json", *sample.glob("profile.ncu-rep*")):
        shutil.copy(source, folder)
    builds = "true" if (_compiles() if build is None else build) else "false"
    target = (sample / "optimas.toml").read_text("utf-8")
    own = f"{settings}\n[corpus]\nenable = false\n\n[jobs]\nbuild = {builds}\n{jobs}"
    (folder / "optimas.toml").write_text(target + own, "utf-8")
    return folder


def _compiles() -> bool:
    return shutil.which("nvcc") is not None


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One VS Code for all claims of this module."""
    with editor(tmp_path_factory.mktemp("editor") / "e", {"workbench.colorTheme": "Default Dark Modern"}) as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample in a folder of its own."""
    return _copy(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def seen(running: Editor, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one walk from the squiggle to the edit and back showed."""
    line = _kernel_line(folder)
    return running.drive(
        "optimize", folder, tmp_path_factory.mktemp("shots"), file=FILE, line=line, asks=_compiles(), mark="#pragma"
    )


def test_the_light_bulb_offers_the_rewrite_of_the_kernel(seen: dict[str, Any]) -> None:
    assert any("Optimise" in title and "adjacent_kernel" in title for title in seen["actions"]), seen["actions"]


@pytest.mark.skipif(not _compiles(), reason="no nvcc here, so nothing is built and nobody is asked")
def test_the_exact_commands_are_asked_about_before_anything_runs(seen: dict[str, Any], folder: Path) -> None:
    assert "nvcc -O3 -arch=sm_90 -lineinfo -o build/adjacent adjacent.cu" in seen["question"]
    assert str(folder) in seen["question"]


def test_the_offer_names_gain_interval_and_that_the_proof_was_recorded(seen: dict[str, Any]) -> None:
    assert re.search(r"3\.9\d times less time \(95 % interval 3\.\d\d to 3\.\d\d\)", seen["offer"])
    assert "recorded on NVIDIA H200" in seen["offer"]
    assert "not measured now" in seen["offer"]


def test_the_outcome_shows_what_was_checked_and_what_was_not(seen: dict[str, Any]) -> None:
    assert "adjacent_kernel" in seen["outcome"]
    assert "not checked" in seen["outcome"].lower()
    assert "recorded" in seen["outcome"].lower()
    assert len(seen["headings"]) >= 4, "the change, the gates, the times, what is open"


def test_a_preview_changes_nothing(seen: dict[str, Any]) -> None:
    assert seen["untouched"]


def test_applying_writes_the_rewrite_and_undo_gives_the_exact_text_back(seen: dict[str, Any]) -> None:
    original = (ROOT / "samples" / "adjacent" / FILE).read_text("utf-8")
    assert seen["applied"] != original
    assert "#pragma unroll" in seen["applied"]
    assert seen["undone"] == original
    assert any("applied" in row for row in seen["after"])
    assert any("ready" in row for row in seen["again"])


def _held(into: Path, gate: Path) -> Path:
    """A folder whose candidates are built until ``gate`` exists."""
    held = _copy(into, build=True)
    toml = held / "optimas.toml"
    text = toml.read_text("utf-8")
    start = text.index("build = [[")
    end = text.index("\n", start)
    wait = f"until [ -e '{gate}' ]; do sleep 0.1; done"
    toml.write_text(f"{text[:start]}build = [['sh', '-c', \"{wait}\"]]{text[end:]}", "utf-8")
    return held


def _waiting(gate: Path) -> list[str]:
    """Processes of the build that wait for ``gate``."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
    return [line.decode("utf-8", "replace") for line in lines if str(gate).encode() in line and b"until" in line]


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return os.access(path, os.R_OK)


def test_a_job_can_be_cancelled_where_it_is_shown_and_leaves_no_process(running: Editor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = _held(tmp_path, gate)
    line = _kernel_line(held)
    seen = running.drive(
        "meanwhile", held, tmp_path / "shots", file=FILE, line=line, gate=str(gate), asks=True, end="cancel"
    )
    assert any("cancelled" in row for row in seen["rows"])
    assert not _waiting(gate)


def test_an_edit_inside_the_kernel_makes_the_result_stale_and_is_never_overwritten(
    running: Editor, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = _held(tmp_path, gate)
    original = (held / FILE).read_text("utf-8")
    line = _kernel_line(held)
    seen = running.drive(
        "meanwhile", held, tmp_path / "shots", file=FILE, line=line, gate=str(gate), asks=True, end="edit"
    )
    assert "adjacent_kernel was edited" in seen["told"]
    assert seen["text"].replace(" // edited", "") == original, "nothing but the user's own edit"
    assert seen["restored"] == original


def test_a_kernel_is_explained_its_prompt_is_shown_and_a_finding_can_be_known(running: Editor, tmp_path: Path) -> None:
    work = _copy(tmp_path)
    seen = running.drive("reading", work, tmp_path / "shots", file=FILE, line=_kernel_line(work), known=30)
    assert "memory" in seen["explain"]
    assert "You rewrite GPU kernels" in seen["prompt"], "word for word, not rendered"


def test_the_way_from_the_tree_to_the_question_needs_no_mouse_and_escape_means_no(
    running: Editor, tmp_path: Path
) -> None:
    work = _copy(tmp_path, build=True)
    seen = running.drive("keyboard", work, tmp_path / "shots", file=FILE, line=_kernel_line(work))
    for title in ("Optimise This Kernel", "Explain", "Show the Prompt", "Profile This Kernel"):
        assert title in seen["items"]
    assert any("cancelled" in row for row in seen["rows"])


def test_a_confirmed_edit_is_previewed_by_the_editor_and_jobs_outlive_the_server(
    running: Editor, tmp_path: Path
) -> None:
    work = _copy(tmp_path, build=False, jobs="confirm = true\n")
    seen = running.drive("confirm", work, tmp_path / "shots", file=FILE, line=_kernel_line(work), mark="#pragma")
    assert "__restrict__" in seen["words"]
    assert seen["untouched"]
    assert "#pragma unroll" in seen["applied"]
    assert any("applied" in row for row in seen["kept"])


def test_in_an_untrusted_folder_a_lens_does_not_do_what_it_says(tmp_path: Path) -> None:
    work = _copy(tmp_path)
    with editor(tmp_path / "editor", restricted=True) as untrusting:
        seen = untrusting.drive("untrusted", work, tmp_path / "shots", file=FILE, line=_kernel_line(work))
    assert "nothing is built, run, sent or changed" in seen["words"]
    assert seen["rows"] == 0


def test_a_backend_that_cannot_be_reached_is_a_sentence(running: Editor, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    service = f'[rewrite]\nbackend = "openai"\nmodel = "none"\nbase_url = "http://127.0.0.1:{port}/v1"\nretries = 0\n'
    broken = _copy(tmp_path, settings=service, build=False)
    original = (broken / FILE).read_text("utf-8")
    seen = running.drive("failing", broken, tmp_path / "shots", file=FILE, line=_kernel_line(broken))
    assert f"127.0.0.1:{port}" in seen["question"], "where the code would go is said first"
    assert f"127.0.0.1:{port}" in seen["words"]
    assert (broken / FILE).read_text("utf-8") == original


def test_a_profile_that_arrives_late_shows_at_once(running: Editor, tmp_path: Path) -> None:
    late = _copy(tmp_path)
    (report,) = late.glob("profile.ncu-rep*")
    report.rename(tmp_path / report.name)
    seen = running.drive(
        "late", late, tmp_path / "shots", file=FILE, line=31, report=str(tmp_path / report.name), name=report.name
    )
    assert "no profile" in seen["before"]
    assert "hot" in seen["status"]
