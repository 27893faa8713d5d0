"""Profiling a program: processes end, reports appear whole, failures carry their cause.

A GPU is needed for the real thing (``test_collect_gpu.py``). Here a small shell script stands for ncu, and only so that
the handling of the process can be seen: what it is given, what it prints, how it ends.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from optimas_lsp.profile.collect import Step, collect, find_ncu, read_sweep
from optimas_lsp.profile.ncu import CollectError, Filter
from optimas_lsp.profile.provenance import Request

WRITES = """
while [ "$#" -gt 0 ]; do [ "$1" = --export ] && { out="$2"; shift 2; break; }; shift; done
program="$*"
"""


@pytest.fixture
def stand_in(tmp_path: Path):
    """Make an executable that stands for ncu; ``$out`` is the report it was asked for, ``$program`` the rest."""

    def make(script: str) -> str:
        path = tmp_path / "ncu-stand-in"
        path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 0\n{WRITES}\n{script}\n')
        path.chmod(0o755)
        return str(path)

    return make


def request(tmp_path: Path, ncu: str, **more: object) -> Request:
    return Request(program=("/bin/true",), folder=tmp_path / "profiles", stem="run", ncu=ncu, **more)  # type: ignore[arg-type]


def test_report_and_provenance_are_written_and_progress_is_told(tmp_path: Path, stand_in) -> None:
    ncu = stand_in(
        'echo "==PROF== Profiling \\"triad(float*)\\" - 0: 0%....50%....100% - 34 passes"; '
        'echo hello; printf report >"$out"'
    )
    steps: list[Step] = []
    (measured,) = collect(request(tmp_path, ncu), steps.append)
    assert measured.report == tmp_path / "profiles" / "run.ncu-rep"
    assert measured.report.read_text() == "report"
    assert steps == [Step(run=1, runs=1, launch=1, kernel="triad(float*)", passes=34)]
    provenance = json.loads((tmp_path / "profiles" / "run.provenance.json").read_text())
    assert provenance["schema"] == "optimas.provenance/1"
    assert provenance["reports"][0]["passes"] == [34]
    assert str(tmp_path) not in json.dumps(provenance["ncu_command"])
    assert sorted(path.name for path in measured.report.parent.iterdir()) == ["run.ncu-rep", "run.provenance.json"]


def test_a_sweep_profiles_once_with_each_argument_list(tmp_path: Path, stand_in) -> None:
    sweep = tmp_path / "sizes"
    sweep.write_text("# rows columns\n100 10\n\n'a b' --deep  # quoted\n")
    ncu = stand_in('printf "%s" "$program" >"$out"')
    measured = collect(request(tmp_path, ncu, sweep=read_sweep(sweep)))
    assert [one.report.name for one in measured] == ["run-001.ncu-rep", "run-002.ncu-rep"]
    assert [one.report.read_text() for one in measured] == ["/bin/true 100 10", "/bin/true a b --deep"]


@pytest.mark.parametrize(
    ("text", "words"), [("# nothing\n", "names no arguments"), ("ok\n'open\n", "No closing quotation")]
)
def test_a_sweep_without_arguments_or_with_an_open_quote_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "sizes"
    path.write_text(text)
    with pytest.raises(CollectError, match=words) as caught:
        read_sweep(path)
    assert str(path) in str(caught.value)


def test_a_failed_program_leaves_no_report_and_quotes_its_last_words(tmp_path: Path, stand_in) -> None:
    ncu = stand_in(
        'printf report >"$out"; echo "cannot open input.dat"; '
        'echo "==ERROR== The application returned an error code (3)."; exit 3'
    )
    with pytest.raises(CollectError) as caught:
        collect(request(tmp_path, ncu))
    assert caught.value.code == "program-failed"
    assert "exit code 3" in str(caught.value)
    assert "cannot open input.dat" in str(caught.value)
    assert list((tmp_path / "profiles").iterdir()) == []


def test_no_report_without_a_known_reason_names_the_command_to_try(tmp_path: Path, stand_in) -> None:
    with pytest.raises(CollectError) as caught:
        collect(request(tmp_path, stand_in("echo strange; kill -9 $$")))
    assert caught.value.code == "unknown"
    assert "signal SIGKILL" in str(caught.value)
    assert "strange" in str(caught.value)
    assert "--section SourceCounters" in str(caught.value)


def ended(pid: int) -> bool:
    """Whether the process is gone within ten seconds (or only waits to be collected by its parent)."""
    try:
        process = psutil.Process(pid)
        gone, _ = psutil.wait_procs([process], timeout=180)
        return bool(gone) or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("how", ["time-limit", "cancelled"])
def test_a_run_that_is_cut_short_leaves_no_process_behind(tmp_path: Path, stand_in, how: str) -> None:
    """Both the stand-in and the child it started are gone."""
    pids = tmp_path / "pids"
    ncu = stand_in(f'sleep 60 & echo "$$ $!" >"{pids}"; echo "==PROF== started"; wait')
    started = {"cancelled": lambda: pids.exists() and pids.stat().st_size > 0, "time-limit": lambda: False}[how]
    with pytest.raises(CollectError) as caught:
        collect(request(tmp_path, ncu, time_limit_seconds=1.0 if how == "time-limit" else 60.0), None, started)
    assert caught.value.code == how
    for pid in map(int, pids.read_text().split()):
        assert ended(pid)
    assert list((tmp_path / "profiles").iterdir()) == []


def test_output_that_never_ends_is_cut_at_the_time_limit(tmp_path: Path, stand_in) -> None:
    with pytest.raises(CollectError) as caught:
        collect(request(tmp_path, stand_in("yes chatter"), time_limit_seconds=1.0))
    assert caught.value.code == "time-limit"


def test_a_report_that_exists_is_not_overwritten_unless_asked(tmp_path: Path, stand_in) -> None:
    ncu = stand_in('printf new >"$out"')
    collect(request(tmp_path, ncu))
    with pytest.raises(CollectError, match="already exists"):
        collect(request(tmp_path, ncu))
    collect(request(tmp_path, ncu, replace=True))


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    asked = Request(program=("./absent",), folder=tmp_path, stem="x", chosen=Filter(), ncu="/bin/true")
    with pytest.raises(CollectError, match=r"\./absent: is not a program that can be run"):
        collect(asked)


def test_without_ncu_the_remedy_tells_how_to_measure_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    if any(Path("/usr/local").glob("cuda*/bin/ncu")):
        pytest.skip("ncu is installed in the toolkit's usual place")
    with pytest.raises(CollectError, match=r"copy profile\.ncu-rep here"):
        find_ncu()
