"""The runner as a process: what it concludes without a GPU, how it is stopped, and that it goes on where it was."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from optimas_lsp.prove.runner.__main__ import GATES, NEEDS_GPU, ORDER, REQUIRED
from optimas_lsp.prove.runner.job import Job
from optimas_lsp.prove.runner.record import Record, seal

HELLO = '#include <stdio.h>\nint main(void) { puts("sum 42"); return 0; }\n'
WAITING = ["sh", "-c", "echo started >> build.log; exec sleep 300"]


def test_every_gate_of_the_ladder_has_its_function_and_only_three_need_no_gpu() -> None:
    assert set(GATES) == set(ORDER)
    assert set(ORDER) - NEEDS_GPU == {"static", "build", "provenance"}
    assert set(ORDER) - REQUIRED == {"reprofile", "provenance"}


def _processes(mark: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"TMPDIR={mark}".encode() in variables:
                found.append(int(entry.name))
    return found


def _wait_for(path: Path, process: object) -> None:
    for _ in range(6000):
        if path.exists() and path.read_text("utf-8"):
            return
        signal.sigtimedwait([], 0.01)
    raise AssertionError(f"{path} did not appear while {process} ran")


def test_without_a_gpu_nothing_is_proven_and_every_gate_says_why(packed) -> None:
    job = packed()
    assert job.run() == 1
    assert job.result["verdict"] == "not proven"
    assert job.gate("build")["status"] == "pass"
    for name in ("determinism", "run", "compare", "sanitize", "time", "plausible"):
        assert job.gate(name)["status"] == "skipped"
        assert job.gate(name)["sentence"] == "there is no NVIDIA GPU on this machine"
    assert not (job.folder / "work").exists()


def test_a_candidate_that_does_not_build_is_rejected_with_the_compilers_words(packed) -> None:
    job = packed(candidate="int main(void) { return nothing; }\n")
    assert job.run() == 1
    assert job.result["verdict"] == "rejected"
    assert job.gate("build")["status"] == "fail"
    assert "building the candidate failed (exit status 1)" in job.gate("build")["sentence"]
    log = "".join((job.folder / name).read_text() for name in job.gate("build")["files"])
    assert "nothing" in log


def test_a_broken_job_is_said_to_be_unusable(packed) -> None:
    job = packed()
    (job.folder / "job.json").write_text('{"schema": "other/9"}')
    process = job.start()
    _out, err = process.communicate(timeout=180)
    assert process.returncode == 2
    assert b"this runner reads optimas.job/1" in err


def test_a_finished_gate_is_not_repeated(packed, tmp_path: Path) -> None:
    count = tmp_path / "count"
    job = packed(build=[["sh", "-c", f"echo built >> {count}"], ["gcc", "-o", "build/main", "main.c"]])
    assert job.run() == 1
    assert count.read_text().split() == ["built", "built"]
    result = job.result
    result["verdict"] = None
    result["gates"] = [gate for gate in result["gates"] if gate["name"] == "static"]
    (job.folder / "result.json").write_text(json.dumps(result))
    assert job.run() == 1
    assert job.result["resumed"] is True
    assert [event["stage"] for event in job.events()].count("static") == 1


def test_after_a_kill_during_the_build_the_runner_goes_on_there(packed) -> None:
    job = packed(build=[["sh", "-c", "test -e ../../again || { echo x > ../../started; exec sleep 300; }"]])
    process = job.start()
    _wait_for(job.folder / "started", process)
    process.kill()
    process.wait()
    process.communicate()
    (job.folder / "again").write_text("yes")
    assert job.run() == 1
    assert job.result["resumed"] is True
    assert job.gate("build")["status"] == "pass"
    assert [event["stage"] for event in job.events()].count("static") == 1
    assert _processes(str(job.folder / "work")) == []


def test_a_built_tree_is_kept_for_the_next_runner_unless_somebody_changed_it(packed, tmp_path: Path) -> None:
    count = tmp_path / "count"
    packed_job = packed(build=[["sh", "-c", f"echo built >> {count}; echo x > made"]])
    job = Job(packed_job.folder)
    record = Record(job.folder, job.data["hash"])
    job.lay_out()
    from optimas_lsp.prove.runner import gates

    gates.static(job, record)
    gates.build(job, record)
    assert packed_job.run() == 1
    assert len(count.read_text().split()) == 2


def test_a_tree_changed_while_the_runner_was_away_is_built_again(packed, tmp_path: Path) -> None:
    count = tmp_path / "count"
    packed_job = packed(build=[["sh", "-c", f"echo built >> {count}; echo x > made"]])
    job = Job(packed_job.folder)
    record = Record(job.folder, job.data["hash"])
    job.lay_out()
    from optimas_lsp.prove.runner import gates

    gates.static(job, record)
    gates.build(job, record)
    (job.tree("baseline") / "made").write_text("swapped")
    assert packed_job.run() == 1
    assert len(count.read_text().split()) == 4


def test_cancelling_ends_everything_and_says_so(packed) -> None:
    daemon = "(setsid sh -c 'sleep 300 & sleep 300' &) ; echo x > ../../started; exec sleep 300"
    job = packed(build=[["sh", "-c", daemon]])
    process = job.start()
    _wait_for(job.folder / "started", process)
    process.terminate()
    process.communicate(timeout=180)
    assert process.returncode == 130
    assert list(job.events())[-1]["stage"] == "cancelled"
    assert job.result["verdict"] is None
    assert _processes(str(job.folder / "work")) == []


def test_a_result_that_somebody_else_wrote_is_not_believed(packed) -> None:
    job = packed()
    job.environment = {"OPTIMAS_SEAL": "secret"}
    forged = {"schema": "optimas.result/1", "job": Job(job.folder).data["hash"], "gates": [], "not_checked": []}
    forged.update(verdict="proven", machine={}, seal="00")
    (job.folder / "result.json").write_text(json.dumps(forged))
    assert job.run() == 1
    assert job.result["verdict"] == "not proven"
    assert job.result["seal"] == seal(job.result, b"secret")


def test_nothing_that_is_started_sees_the_key_of_the_seal(packed) -> None:
    job = packed(build=[["sh", "-c", "env > ../../own; cat /proc/$PPID/environ > ../../runners; true"]])
    job.environment = {"OPTIMAS_SEAL": "secret-key", "MY_API_TOKEN": "secret-token"}
    job.run()
    own = (job.folder / "own").read_text()
    assert "PATH=" in own
    assert "secret" not in own
    if os.getuid() != 0:  # root reads every process
        assert "secret" not in (job.folder / "runners").read_text()


def test_the_runner_works_on_the_oldest_python_it_promises(packed) -> None:
    homes = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep)]
    homes += sorted(Path("~/.pyenv/versions").expanduser().glob("3.8*/bin"))
    found = [
        home / "python3.8" for home in homes if os.access(home / "python3.8", os.X_OK) and "shims" not in str(home)
    ]
    if not found:
        pytest.skip("there is no python3.8 here")
    job = packed()
    assert job.run(str(found[0])) == 1
    assert job.result["verdict"] == "not proven"
    assert job.result["machine"]["python"].startswith("3.8.")


RUNNING = {"gates": ["static", "build", "determinism", "run", "compare", "time", "plausible", "provenance"]}


def _c(body: str) -> str:
    headers = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdlib", "unistd", "time"))
    return f"{headers}int main(int argc, char **argv) {{ {body} return 0; }}\n"


def test_without_a_witness_nothing_is_proven(packed, claimed_gpu) -> None:
    slow, quick = _c('usleep(240000); puts("sum 42");'), _c('usleep(60000); puts("sum 42");')
    job = packed(slow, quick, options={**RUNNING, "timing": {"min_pairs": 3, "max_pairs": 3}})
    job.environment = claimed_gpu
    assert job.run() == 1
    assert job.gate("compare")["status"] == "pass"
    assert job.gate("time")["status"] == "pass"
    assert job.result["verdict"] == "not proven"
    assert any("the witness needs nvcc" in sentence for sentence in job.result["not_checked"])


@pytest.mark.parametrize(
    ("candidate", "gate", "words"),
    [
        (_c('puts("sum 43");'), "compare", "standard output, line 1: expected 'sum 42', got 'sum 43'"),
        (_c(""), "compare", "expected 1 lines, got 0"),
        (_c('puts("sum 42"); return 3;'), "run", "exit status 3"),
        (_c("abort();"), "run", "ended by signal 6"),
        (
            _c('FILE *f = fopen("../baseline/build/main", "ab"); if (f) fclose(f); unlink("../baseline/build/main");'),
            "determinism",
            "a run changed build/main in the baseline's folder",
        ),
        (
            _c(
                'const char *o = "../../logs/baseline-default/1.out"; puts("sum 43");'
                'if (!access(o, F_OK)) { FILE *f = fopen(o, "w"); fputs("sum 43\\n", f); fclose(f); }'
            ),
            "determinism",
            "a run changed what the baseline gave on input default before",
        ),
        (
            _c('FILE *f = fopen("main.c", "a"); fputs("//", f); fclose(f); puts("sum 42");'),
            "determinism",
            "a run changed main.c in the candidate's folder",
        ),
    ],
    ids=[
        "other-answer",
        "silent",
        "failing",
        "crashing",
        "attacks-the-original",
        "rewrites-the-record",
        "edits-itself",
    ],
)
def test_cheats_that_need_no_gpu(packed, claimed_gpu, candidate: str, gate: str, words: str) -> None:
    job = packed(HELLO, candidate, options={**RUNNING, "timing": {"min_pairs": 3, "max_pairs": 3}})
    job.environment = claimed_gpu
    assert job.run() == 1
    failed = [each for each in job.result["gates"] if each["status"] == "fail"]
    assert job.result["verdict"] == "rejected"
    assert [each["name"] for each in failed] == [gate]
    assert words in failed[0]["sentence"]


def test_what_a_run_leaves_in_its_folder_is_gone_before_the_next(packed, claimed_gpu) -> None:
    note = _c('if (!fopen("seen", "r")) { fclose(fopen("seen", "w")); puts("sum 42"); } else puts("sum 41");')
    job = packed(HELLO, note, options={"gates": RUNNING["gates"][:5]})
    job.environment = claimed_gpu
    job.run()
    assert job.gate("compare")["status"] == "pass"


def test_an_original_that_differs_from_itself_is_no_oracle(packed, claimed_gpu) -> None:
    random = _c('struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("%ld\\n", t.tv_nsec);')
    job = packed(random, random, options=RUNNING)
    job.environment = claimed_gpu
    assert job.run() == 1
    assert "two runs of the original differ on input default" in job.gate("determinism")["sentence"]


def test_a_tolerance_serves_only_where_the_original_differs_from_itself(packed, claimed_gpu) -> None:
    near = _c('puts("sum 42.001");')
    job = packed(_c('puts("sum 42.000");'), near, options=RUNNING, tolerance={"relative": 0.1})
    job.environment = claimed_gpu
    assert job.run() == 1
    assert "got 'sum 42.001'" in job.gate("compare")["sentence"]


def test_output_files_are_compared_and_a_link_is_not_an_output(packed, claimed_gpu) -> None:
    write = _c('FILE *f = fopen("out.bin", "w"); fputs("answer", f); fclose(f);')
    link = _c('if (symlink("/etc/hostname", "out.bin")) return 1;')
    job = packed(write, link, options=RUNNING, outputs=["out.bin"])
    job.environment = claimed_gpu
    assert job.run() == 1
    assert job.gate("compare")["sentence"] == "input default, run 1: the output file out.bin was not written"


def test_where_the_network_cannot_be_taken_away_the_result_says_so(packed, claimed_gpu) -> None:
    (Path(claimed_gpu["PATH"]) / "unshare").unlink(missing_ok=True)
    (Path(claimed_gpu["PATH"]) / "nvidia-smi").unlink()
    job = packed()
    job.environment = claimed_gpu
    job.run()
    assert "network: this system does not let the runner take it away" in job.result["not_checked"]


def test_nothing_to_compare_is_not_agreement(packed, claimed_gpu) -> None:
    job = packed(_c(""), _c(""), options=RUNNING)
    job.environment = claimed_gpu
    assert job.run() == 1
    assert job.gate("compare")["sentence"].startswith("nothing could be compared")


def test_an_input_on_which_nothing_counts_is_named_though_another_one_agrees(packed, claimed_gpu) -> None:
    same = _c('puts(argc > 1 ? "took 3 s" : "sum 42"); ')
    job = packed(
        same,
        same,
        options=RUNNING,
        inputs={"one": ["build/main"], "two": ["build/main", "x"]},
        ignore=["^took"],
        outputs=["stdout"],
    )
    job.environment = claimed_gpu
    assert job.run() == 1
    assert job.gate("compare")["sentence"].startswith("nothing could be compared on input two: ")
    said = "standard output on input two: target.ignore leaves out every line that it prints"
    assert said in job.result["not_checked"]


def test_what_a_link_of_the_programs_leads_to_is_neither_taken_nor_removed(packed, claimed_gpu, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    kept = tmp_path / "precious" / "thesis.bin"
    kept.write_text("years of work")
    link = _c(f'symlink("{kept.parent}", "out"); fclose(fopen("own.bin", "w"));')
    job = packed(link, link, options=RUNNING, outputs=["out/*.bin", "own.bin"])
    job.environment = claimed_gpu
    job.run()
    assert job.gate("compare")["status"] == "pass"
    assert kept.read_text() == "years of work"
    assert "the output files out/*.bin on input default: the original writes none there" in job.result["not_checked"]


def test_files_that_outputs_name_are_removed_before_a_run_and_that_is_said(packed, claimed_gpu, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "given.bin").write_text("data")
    read = _c('puts(fopen("given.bin", "r") ? "there" : "gone");')
    job = packed(read, read, options=RUNNING, outputs=["stdout", "*.bin"])
    job.environment = claimed_gpu
    job.run()
    said = "files that target.outputs names, which are removed before each run: given.bin"
    assert said in job.result["not_checked"]


SANITIZER = """#!/bin/sh
while [ "$1" != build/main ]; do shift; done
echo '========= COMPUTE-SANITIZER'
"$@" || exit
%s
"""


def test_output_files_are_compared_under_a_sanitizer_too(packed, claimed_gpu) -> None:
    tool = Path(claimed_gpu["PATH"]) / "compute-sanitizer"
    ending = "echo 1 > out.bin; echo '========= ERROR SUMMARY: 0 errors'"
    tool.write_text(SANITIZER % ending, "utf-8")
    tool.chmod(0o755)
    write = _c('FILE *f = fopen("out.bin", "w"); fputs("answer", f); fclose(f);')
    job = packed(write, write, options={"gates": [*RUNNING["gates"], "sanitize"]}, outputs=["out.bin"])
    job.environment = claimed_gpu
    assert job.run() == 1
    assert "under memcheck the output changed: the output file out.bin differs" in job.gate("sanitize")["sentence"]


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        (
            "echo '========= ERROR SUMMARY: 0 errors'",
            "pass",
            "memcheck, racecheck, initcheck, synccheck found no error",
        ),
        ("echo '========= ERROR SUMMARY: 3 errors'", "fail", "memcheck found 3 errors in the candidate"),
        ("", "fail", "memcheck printed 0 summaries instead of one"),
        (
            "echo extra; echo '========= ERROR SUMMARY: 0 errors'",
            "fail",
            "under memcheck the output changed: standard output, expected 1 lines, got 2",
        ),
        ("for i in 1 2; do echo '= ERROR SUMMARY: 0 errors'; done", "fail", "printed 2 summaries instead of one"),
    ],
    ids=["clean", "errors", "no-summary", "another-output", "two-summaries"],
)
def test_a_sanitizer_counts_only_with_one_summary_and_the_right_output(
    packed, claimed_gpu, ending: str, status: str, words: str
) -> None:
    """The tool is a stand-in that prints what the real one prints; what is tried is how it is read."""
    tool = Path(claimed_gpu["PATH"]) / "compute-sanitizer"
    tool.write_text(SANITIZER % ending, "utf-8")
    tool.chmod(0o755)
    job = packed(options={"gates": ["static", "build", "determinism", "run", "compare", "sanitize"]})
    job.environment = claimed_gpu
    assert job.run() == 1
    assert job.gate("sanitize")["status"] == status
    assert words in job.gate("sanitize")["sentence"]
