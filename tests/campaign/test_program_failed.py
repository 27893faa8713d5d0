"""A program that fails unchanged is found out once, told as such, and tried again when it changes or on request."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from optimas_lsp.campaign.dataset import rows_of
from optimas_lsp.campaign.design import read
from optimas_lsp.campaign.ending import Fault
from optimas_lsp.campaign.experiment import Axes
from optimas_lsp.campaign.faults import Faults
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.results import Results
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.tables import tables
from optimas_lsp.campaign.worker import perform, task_of
from optimas_lsp.report.campaign_plan import status_text
from optimas_lsp.report.campaign_tables import as_text
from tests.campaign.watching import start

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.campaign.conftest import Write

TARGET = """\
[target]
build = [["gcc", "-O1", "-o", "build/main", "main.c"]]
inputs = { default = ["build/main"] }
"""
TOOLS = ("gcc", "as", "ld", "sh", "env", "sleep", "true", "touch", "tr", "unshare")


def c(body: str) -> str:
    headers = "".join(f"#include <{each}.h>\n" for each in ("stdio", "time", "unistd"))
    return f"{headers}int main(void) {{ {body} return 0; }}\n"


HELLO = c('puts("sum 42");')


@pytest.fixture
def of_c(campaign: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A campaign on a real profile whose program is a small one in C, proven here on what claims to be a GPU."""
    folder = tmp_path / "bin"
    folder.mkdir()
    smi = folder / "nvidia-smi"
    smi.write_text('#!/bin/sh\ncase "$*" in *name,driver*) echo "No device, 1.0, GPU-none";; esac\n', "utf-8")
    smi.chmod(0o755)
    for tool in TOOLS:
        if (found := shutil.which(tool)) is not None:
            (folder / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "")

    def write(body: str, **more: Any) -> Path:
        file = campaign(build=True, **more)
        file.write_text(file.read_text("utf-8").replace('executor = "recorded"', 'executor = "local"'), "utf-8")
        (file.parent / "accuracy" / "optimas.toml").write_text(TARGET, "utf-8")
        (file.parent / "accuracy" / "main.c").write_text(body, "utf-8")
        return file

    return write


def ran(file: Path, *words: str) -> dict[str, Row]:
    """Run it; the rows of its experiments by their subset of evidence."""
    process = start("run", str(file), "--accept", *words)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    plan = Plan.of(read(file))
    results = Results(plan.loaded.results)
    rows = rows_of((results.row(each.key) for each in plan.experiments), where=results.folder)
    return {row.evidence: row for row in rows}


@pytest.mark.parametrize(
    ("body", "gate", "words"),
    [
        (c("return nothing;"), "build", "the unchanged program does not build (gcc -O1 -o build/main main.c ended"),
        (c('puts("FAILED"); return 3;'), "determinism", "determinism: the original fails on input default"),
        (
            c('struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("%ld\\n", t.tv_nsec);'),
            "determinism",
            "two runs of the original differ on input default",
        ),
    ],
    ids=["does-not-build", "fails-its-own-check", "differs-from-itself"],
)
def test_a_program_that_fails_unchanged_is_found_out_once_and_blames_no_candidate(
    of_c: Callable[..., Path], body: str, gate: str, words: str
) -> None:
    file = of_c(body, evidence=("pc", "rl", "pc+rl"), engine="outstanding = 1")
    rows = ran(file)
    assert {(row.ending, row.gate) for row in rows.values()} == {("program-failed", gate)}
    [sentence] = {row.sentence for row in rows.values()}
    assert words in sentence
    first, *others = rows.values()
    assert first.tries.split()[0] == f"program:{gate}"
    assert set(first.tries.split()[1:]) <= {"not-proven"}, "no other candidate was judged"
    assert (first.total_s or 0) > 0
    assert {(row.tries, row.total_s, row.model_s, row.build_s) for row in others} == {("", None, None, None)}

    found = {table.name: table for table in tables(tuple(rows.values()))}
    overview = {name: found["overview"].column(name)[0] for name in ("program failed", "failed", "known")}
    assert overview == {"program failed": 3, "failed": 0, "known": 0}
    assert found["correctness"].rows == found["failures"].rows == ()
    assert found["programs"].rows == (("accuracy", "h200", gate, 3, 1, sentence),)
    assert sentence in as_text((found["programs"],))
    status = status_text(3, tuple(rows.values()))
    assert f"programs that failed unchanged\n     3  accuracy: {sentence}" in status
    assert "--again program-failed" in status


def test_a_mended_program_is_run_again_without_being_asked_for(of_c: Callable[..., Path]) -> None:
    file = of_c(c("return nothing;"), evidence=("pc", "rl"))
    assert {row.ending for row in ran(file).values()} == {"program-failed"}
    (file.parent / "accuracy" / "main.c").write_text(HELLO, "utf-8")
    mended = ran(file)
    assert all(row.ending != "program-failed" and row.tries for row in mended.values())


@pytest.mark.full
@pytest.mark.timeout(600)
def test_what_failed_for_another_reason_than_its_content_is_tried_again_on_request(
    of_c: Callable[..., Path], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    body = c(f'if (access("{data}", R_OK)) {{ puts("no data"); return 1; }} puts("sum 42");')
    file = of_c(body, evidence=("pc", "rl"), engine="outstanding = 1")
    before = ran(file)
    assert {row.ending for row in before.values()} == {"program-failed"}
    assert "no data" in before["pc"].sentence
    data.touch()
    assert ran(file) == before, "resuming repeats nothing"
    more = of_c(body, evidence=("pc", "rl", "pc+rl"), engine="outstanding = 1")
    added = ran(more)["pc+rl"]
    assert (added.ending, added.total_s) == ("program-failed", None), "what was found out before still holds"
    again = ran(more, "--again", "program-failed")
    assert all(row.ending != "program-failed" and row.tries for row in again.values())


def test_a_fault_that_is_gone_with_the_candidate_holds_for_its_own_experiment_only(of_c: Callable[..., Path]) -> None:
    """What the candidate's run left in its folder stands for a file that fills the disk."""
    crowded = c('if (!access("../runs/candidate-default-1", F_OK)) return 3; puts("sum 42");')
    file = of_c(crowded, evidence=("pc", "rl"), engine="outstanding = 1")
    rows = ran(file).values()
    assert {(row.ending, row.gate) for row in rows} == {("program-failed", "determinism")}
    assert all(row.tries and row.sentence.endswith("; once more it did not") for row in rows), "each was run"
    assert not (file.parent / "results" / "programs").exists()


def test_a_program_that_changed_since_the_plan_gives_no_result_under_its_old_name(of_c: Callable[..., Path]) -> None:
    file = of_c(HELLO, evidence=("pc",))
    ran(file)  # and so accepted
    plan = Plan.of(read(file))
    results, experiment = Results(plan.loaded.results), plan.experiments[0]
    source = file.parent / "accuracy" / "main.c"
    for changed in (c("return nothing;"), HELLO + "/* right, but another one */\n"):
        source.write_text(changed, "utf-8")
        summary = perform(task_of(experiment, results, 300))
        assert summary["ending"] == "failed"
        assert "changed while the campaign ran" in results.row(experiment.key)["sentence"]
        assert not results.programs.exists(), "what is planned is not known to fail"
    source.write_text(HELLO, "utf-8")
    assert perform(task_of(experiment, results, 300))["ending"] not in {"failed", "program-failed"}


def test_results_in_the_programs_own_folder_are_no_change_of_the_program(of_c: Callable[..., Path]) -> None:
    file = of_c(c("return nothing;"), evidence=("pc", "rl"))
    text = file.read_text("utf-8").replace('results = "results"', 'results = "accuracy/results"')
    file.write_text(text, "utf-8")
    found = ran(file)
    assert {row.ending for row in found.values()} == {"program-failed"}
    assert ran(file) == found, "resuming repeats nothing"


def axes(**more: Any) -> Axes:
    plain = {"program": "p", "kernel": "k", "backend": "catalogue", "model": "", "evidence": "pc", "input": "small"}
    return Axes(**{**plain, "repetition": 1, "device": "h200", **more})


def test_a_fault_in_timing_is_that_of_a_kernel_on_an_input_and_every_other_of_the_whole_program(tmp_path: Path) -> None:
    faults = Faults(Results(tmp_path))
    faults.keep("one", axes(), Fault("time", "no time was recorded"))
    assert faults.of("one", axes(evidence="rl", backend="gpt")) == Fault("time", "no time was recorded")
    assert (
        faults.of("one", axes(input="large")) is faults.of("one", axes(kernel="j")) is faults.of("two", axes()) is None
    )
    faults.keep("two", axes(), Fault("build", "it does not build"))
    assert faults.of("two", axes(input="large", kernel="j")) == Fault("build", "it does not build")
    faults.forget([("two", axes(input="other"))])
    assert faults.of("two", axes()) is None
    (tmp_path / "programs" / ".left.part").touch()
    with faults.results.alone():
        assert not [*(tmp_path / "programs").glob(".*")], "leavings of a killed writer are removed"
    for damaged in (tmp_path / "programs").glob("*.json"):
        damaged.write_text("{", "utf-8")
    assert faults.of("one", axes()) is None


def test_the_program_and_its_device_decide_what_is_shared(campaign: Write) -> None:
    device = '\n[[device]]\nname = "other"\nexecutor = "recorded"\n'
    one = Plan.of(read(campaign("accuracy", "sobol", more=device))).experiments
    shared = {(each.axes.program, each.axes.device): each.unchanged for each in one}
    assert len(set(shared.values())) == len(shared) == 4
    assert all(each.unchanged == shared[each.axes.program, each.axes.device] for each in one)
