"""What ncu says is understood: real output of ncu 2025.3.1 on an H200 (ncu_said/), and texts its manual documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.profile.ncu import SECTIONS, Filter, command, diagnose, exit_code, failures, parse, profiled

RECORDED = json.loads((Path(__file__).parent / "ncu_said" / "ncu-2025.3.1-h200.json").read_text("utf-8"))["cases"]


def said(text: str) -> list[Any]:
    return [one for one in map(parse, text.splitlines()) if one is not None]


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("filter-matches-nothing", "nothing"),
        ("launches-nothing", "nothing"),
        ("program-fails-early", "program-failed"),
        ("program-fails-late", "program-failed"),
        ("program-aborts", "program-failed"),
        ("kernel-faults", "launch-failed"),
        ("no-such-program", "no-program"),
        ("not-executable", "no-program"),
        ("unknown-section", "section"),
        ("unknown-option", "option"),
        ("cannot-write", "write"),
    ],
)
def test_a_recorded_failure_is_recognised(case: str, code: str) -> None:
    found = diagnose(said(RECORDED[case]["output"]))
    assert found is not None
    assert found[0].code == code


@pytest.mark.parametrize(
    "case", ["success", "other-user", "second-profiler", "second-profiler-other-folder", "no-device"]
)
def test_a_recorded_success_shows_no_failure(case: str) -> None:
    assert diagnose(said(RECORDED[case]["output"])) is None


PERMISSION = "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
BUSY = (
    "Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently"
)
DRIVER = "Cuda driver is not compatible with Nsight Compute."
NO_LIBRARY = "Failed to initialize the profiler: LibraryNotLoaded"


@pytest.mark.parametrize(
    ("text", "code"), [(PERMISSION, "permission"), (BUSY, "busy"), (DRIVER, "driver"), (NO_LIBRARY, "driver")]
)
def test_a_documented_failure_that_could_not_be_provoked_is_recognised(text: str, code: str) -> None:
    found = diagnose(said(f"==ERROR== {text}"))
    assert found is not None
    assert found[0].code == code


def test_the_programs_own_output_is_never_taken_for_ncus() -> None:
    assert diagnose(said("my log: ERR_NVGPUCTRPERM\nNo kernels were profiled\n")) is None


def test_progress_names_the_kernel_and_its_passes() -> None:
    launches = [profiled(one) for one in said(RECORDED["success"]["output"])]
    assert [launch for launch in launches if launch] == [("good(float *)", 10), ("good(float *)", 10)]
    (single,) = [launch for one in said(RECORDED["kernel-faults"]["output"]) if (launch := profiled(one))]
    assert single == ("bad(float *)", 1)


def test_the_programs_exit_code_is_read() -> None:
    assert exit_code(said(RECORDED["program-fails-early"]["output"])) == 3
    assert exit_code(said(RECORDED["success"]["output"])) is None


def test_every_failure_says_what_to_do() -> None:
    for failure in failures():
        assert failure.what
        assert len(failure.remedy) > 20


def test_the_command_line_names_sections_filter_and_replay() -> None:
    chosen = Filter(kernels="^triad", skip=2, count=3, replay="application", clocks="none")
    line = command("ncu", ("./a out", "--export", "x"), Path("r.ncu-rep"), chosen)
    text = " ".join(line)
    assert all(f"--section {section}" in text for section in SECTIONS)
    assert "--kernel-name regex:^triad --launch-skip 2 --launch-count 3" in text
    assert "--replay-mode application" in text
    assert line[-3:] == ["./a out", "--export", "x"]
    assert line.index("--export") < line.index("./a out")
