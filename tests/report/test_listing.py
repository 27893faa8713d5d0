"""The listing shows the answer first and lets nothing in a report drive the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from optimas_lsp.config import Settings
from optimas_lsp.insight.analysis import analyze
from optimas_lsp.insight.evidence import Analysis, Cause, Evidence, Location
from optimas_lsp.profile.model import Frame, Profile, SourceFile
from optimas_lsp.report.rows import BAR_CELLS, bar, plain
from optimas_lsp.report.text import render
from tests.insight.synthetic import LIBRARY, USER, kernel, line, profile

FILE = "/home/ada/app/kernel.cu"


def text_of(profile: Profile, analysis: Analysis | None = None, width: int = 120, **options: object) -> str:
    analysis = analysis or analyze(profile, Settings(), report_path=Path("k.ncu-rep"))
    out = io.StringIO()
    render(analysis, profile, Console(file=out, width=width, **options))  # pyright: ignore[reportArgumentType]
    return out.getvalue()


def simple(**changes: object) -> Profile:
    subject = profile(kernel([line(1), line(2)], [(0, "long_scoreboard", 900, 700), (1, "wait", 100, 50)]))
    return subject.model_copy(update=changes)


def test_the_hottest_line_comes_with_its_source_and_finding() -> None:
    rows = text_of(simple()).splitlines()
    at = next(at for at, row in enumerate(rows) if "kernel.cu:1" in row)
    assert "90.0 ± 1.9 %" in rows[at]
    assert rows[at].endswith("__global__ void k() {}")
    assert rows[at + 1].strip().startswith("▲ PC-1")


def test_control_characters_in_a_report_never_reach_the_terminal() -> None:
    evil = SourceFile(path=FILE, text="\x1b[2J\x07 boom\n")
    text = text_of(simple(files=(evil,), report_name="x"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "boom" in text
    assert plain("a\tb\x00\x9b\u2028") == "a   b���"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, text_of(simple(), width=width).splitlines())) <= width


def test_colours_are_there_on_a_terminal_and_gone_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in text_of(simple(), force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in text_of(simple(), force_terminal=True)


def test_a_bar_is_as_long_as_its_share() -> None:
    assert bar(0.0) == " " * BAR_CELLS
    assert bar(1.0) == "█" * BAR_CELLS
    assert bar(0.5) == "█" * 5 + " " * 5
    assert bar(7.0) == bar(1.0)
    assert bar(0.5, ascii_only=True) == "#####....."


def test_a_reason_is_explained_once_and_its_cause_named_every_time() -> None:
    subject = profile(kernel([line(1), line(2)], [(0, "long_scoreboard", 500, 400), (1, "long_scoreboard", 400, 300)]))
    analysis = analyze(subject, Settings(), report_path=Path("k.ncu-rep"))
    [found] = analysis.kernels
    cause = Cause(file=FILE, line=7, opcode="LDG.E", share=0.99, confidence="dominant")
    pcs = [each.model_copy(update={"causes": (cause,)}) for each in found.evidence if each.source == "pc"]
    blamed = Evidence(
        id="BL-1",
        source="bl",
        rule="long_scoreboard",
        kernel=found.mangled,
        location=Location(file=FILE, line=7),
        samples=900,
        not_issued=700,
        level="act",
        text="others wait for this load.",
    )
    analysis = analysis.model_copy(
        update={"kernels": (found.model_copy(update={"evidence": (*pcs, blamed)}),)},
    )
    rows = text_of(subject, analysis).splitlines()
    assert sum("warps wait here for" in row for row in rows) == 1
    assert any("long_scoreboard, as PC-1, because of kernel.cu:7 (LDG.E)" in row for row in rows)
    first = next(at for at, row in enumerate(rows) if "kernel.cu:7" in row)
    assert "BL-1 others wait for this load." in rows[first + 1]
    assert first < next(at for at, row in enumerate(rows) if "kernel.cu:1" in row), "the line to change comes first"


def test_a_library_line_is_listed_at_the_line_that_called_it() -> None:
    chain = (Frame(file=LIBRARY, line=500), Frame(file=USER, line=1))
    text = text_of(profile(kernel([chain], [(0, "barrier", 400, 400)])))
    assert "kernel.cu:1 (in block.cuh:500)  __global__ void k() {}" in text


def test_cold_kernels_are_one_line() -> None:
    rows = [(0, "long_scoreboard", 900, 700)]
    names = [chr(ord("a") + at) for at in range(12)]
    subject = profile(*(kernel([line(1)], rows, name) for name in names), durations=[1e6, *[1e3] * 11])
    text = " ".join(text_of(subject).split())
    assert "not hot: b 0.1 %, c 0.1 %" in text
    assert "and 3 more (--all shows them)" in text
