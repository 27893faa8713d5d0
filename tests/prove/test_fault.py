"""What the unchanged program fails is not held against a candidate; what a candidate does to the program is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove.executors.outcome import Outcome, parse_outcome
from optimas_lsp.prove.report import conclusion

GATES = ["static", "build", "determinism", "run", "compare", "sanitize", "time"]
SHORT = {"gates": GATES, "timing": {"min_pairs": 3, "max_pairs": 3}}
SANITIZER = """#!/bin/sh
while [ "$1" != build/main ]; do shift; done
"$@" || exit
case $PWD in */candidate) errors=%d;; *) errors=%d;; esac
echo "========= ERROR SUMMARY: $errors errors"
"""


def c(body: str) -> str:
    headers = ("stdio.h", "stdlib.h", "string.h", "time.h", "unistd.h")
    return "".join(f"#include <{each}>\n" for each in headers) + f"int main(void) {{ {body} return 0; }}\n"


HELLO = c('puts("sum 42");')


def concluded(job: Any) -> Outcome:
    assert job.run() == 1
    return parse_outcome(job.result, where=job.folder)


@pytest.mark.parametrize(
    ("body", "gate", "words"),
    [
        ("return nothing;", "build", "building the original failed (exit status 1)"),
        ('puts("FAILED: sum 41"); return 3;', "determinism", "the original fails on input default"),
        (
            'struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("%ld\\n", t.tv_nsec);',
            "determinism",
            "two runs of the original differ on input default",
        ),
        ("", "compare", "nothing could be compared on input default"),
    ],
    ids=["does-not-build", "fails", "differs-from-itself", "says-nothing"],
)
def test_a_program_that_fails_unchanged_is_told_from_its_candidate(
    packed: Any, claimed_gpu: dict[str, str], body: str, gate: str, words: str
) -> None:
    job = packed(c(body), c(body) + "\n", options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert outcome.verdict == "not proven"
    assert outcome.fault is not None
    assert (outcome.fault.name, outcome.fault.status) == (gate, "fail")
    assert words in outcome.fault.sentence
    assert conclusion(outcome).startswith(f"not proven: the unchanged program failed {gate}: ")


@pytest.mark.parametrize(
    "body",
    [
        "return nothing;",
        'puts("sum 43");',
        "abort();",
        'FILE *f = fopen("../baseline/build/main", "ab"); if (f) fclose(f); unlink("../baseline/build/main");',
        'FILE *f = fopen("main.c", "a"); fputs("//", f); fclose(f); puts("sum 42");',
        'if (strstr(getcwd(malloc(999), 999), "candidate") && fopen("../baseline/x", "w")) puts("sum 41");',
    ],
    ids=["does-not-build", "other-answer", "crashes", "attacks-the-original", "edits-itself", "writes-to-the-original"],
)
def test_what_the_candidate_did_is_not_the_programs_fault(packed: Any, claimed_gpu: dict[str, str], body: str) -> None:
    job = packed(HELLO, c(body), options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert (outcome.verdict, outcome.fault) == ("rejected", None)
    assert conclusion(outcome).startswith("rejected by ")


@pytest.mark.parametrize(("candidate", "original"), [(3, 0), (3, 3), (1, 4)])
def test_errors_that_the_original_has_too_are_not_the_candidates(
    packed: Any, claimed_gpu: dict[str, str], candidate: int, original: int
) -> None:
    tool = Path(claimed_gpu["PATH"]) / "compute-sanitizer"
    tool.write_text(SANITIZER % (candidate, original), "utf-8")
    tool.chmod(0o755)
    job = packed(HELLO, HELLO + "\n", options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    sanitized = outcome.gate("sanitize")
    assert sanitized is not None
    assert sanitized.sentence.endswith(f"the original has {original or 'none'}")
    assert (outcome.verdict, outcome.fault) == (("not proven", sanitized) if original else ("rejected", None))


def test_a_sanitizer_that_cannot_look_at_the_original_says_nothing_of_the_candidate(
    packed: Any, claimed_gpu: dict[str, str]
) -> None:
    tool = Path(claimed_gpu["PATH"]) / "compute-sanitizer"
    tool.write_text("#!/bin/sh\nexit 9\n", "utf-8")
    tool.chmod(0o755)
    job = packed(HELLO, HELLO + "\n", options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert outcome.fault is not None
    assert "; the original: memcheck failed (exit status 9)" in outcome.fault.sentence


@pytest.mark.parametrize("when", ["> 5", "== 5"])
def test_an_original_that_fails_only_while_it_is_timed_is_told_as_such(
    packed: Any, claimed_gpu: dict[str, str], tmp_path: Path, when: str
) -> None:
    wrong = f'ftell(f) {when} ? "sum 41" : "sum 42"'
    counted = c(f'FILE *f = fopen("{tmp_path}/runs", "a"); fputc(\'.\', f); puts({wrong});')
    job = packed(counted, HELLO, options={**SHORT, "gates": [each for each in GATES if each != "sanitize"]})
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert outcome.fault is not None
    assert outcome.fault.name == "time"
    assert "while it was timed the original gave another output" in outcome.fault.sentence
    assert outcome.fault.facts["steady"] is (when == "> 5")


def test_the_original_is_run_in_its_turn_on_the_gpu_also_where_the_candidate_fails(
    packed: Any, claimed_gpu: dict[str, str]
) -> None:
    inputs = {"one": ["build/main"], "two": ["build/main", "x"]}
    job = packed(HELLO, c("return 1;"), options=SHORT, inputs=inputs)
    job.environment = claimed_gpu
    concluded(job)
    told = [(each["text"], each["stage"]) for each in job.events()]
    for name in inputs:
        assert (f"baseline on {name} (2)", "run") in told
    assert [text for text, _ in told if text.startswith("candidate on")] == ["candidate on one (1)"]
    assert job.result["cost"]["determinism"]["spent"] == {}, "every run of the original was made before"


REPLACES = (
    'if (access("../baseline/build/main", F_OK)) { FILE *f = fopen("../baseline/main.c", "w"); '
    r'if (f) { fputs("int puts(const char *); int main(void) { puts(\"sum 41\"); return 0; }\n", f); fclose(f); } } '
    'puts("sum 41");'
)
OCCUPIES = 'mkdir("../baseline/build/main", 0755); puts("sum 41");'


@pytest.mark.parametrize("body", [REPLACES, OCCUPIES], ids=["replaces-the-source", "occupies-its-place"])
def test_a_build_that_runs_the_candidate_cannot_touch_the_original(
    packed: Any, claimed_gpu: dict[str, str], body: str
) -> None:
    build = [["gcc", "-O1", "-o", "build/main", "main.c"], ["build/main"]]
    setup = 'mkdir("../baseline/build", 0755); ' if body is OCCUPIES else ""
    job = packed(HELLO, "#include <sys/stat.h>\n" + c(setup + body), options=SHORT, build=build)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert (outcome.verdict, outcome.fault) == ("rejected", None)
    assert conclusion(outcome) == "rejected by build: building the candidate changed the original's folder"


@pytest.mark.parametrize("candidate_too", [True, False])
def test_a_program_that_changes_its_own_files_is_not_its_candidates_fault(
    packed: Any, claimed_gpu: dict[str, str], candidate_too: bool
) -> None:
    counts = c('FILE *f = fopen("main.c", "a"); fputs("//", f); fclose(f); puts("sum 42");')
    job = packed(counts, counts + "\n" if candidate_too else HELLO, options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert outcome.verdict == "not proven"
    assert outcome.fault is not None
    assert outcome.fault.sentence.startswith("a run changed main.c in the baseline's folder")


@pytest.mark.parametrize("then", ["", 'if (symlink("../candidate/out", "../baseline/out")) return 5;'])
def test_a_candidate_that_takes_the_originals_folders_away_gains_nothing(
    packed: Any, claimed_gpu: dict[str, str], then: str
) -> None:
    takes = f'unlink("../baseline/out/sum"); rmdir("../baseline/out"); {then} '
    candidate = c(takes + 'FILE *f = fopen("out/sum", "w"); if (f) fputs("41", f);')
    original = c('FILE *f = fopen("out/sum", "w"); if (!f) return 4; fputs("42", f);')
    build = [["gcc", "-O1", "-o", "build/main", "main.c"], ["gcc", "-E", "-o", "out/sum", "main.c"]]
    job = packed(original, candidate, options=SHORT, build=build, outputs=["out/sum"])
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert (outcome.verdict, outcome.fault) == ("rejected", None)
    assert "the output file out/sum differs" in conclusion(outcome)


@pytest.mark.parametrize("candidate_builds", [True, False])
def test_an_original_that_builds_once_nothing_of_the_candidate_is_left_is_no_steady_fault(
    packed: Any, claimed_gpu: dict[str, str], candidate_builds: bool
) -> None:
    """The candidate's copy stands for what it leaves there, such as a file that fills the disk."""
    check = "grep -q ORIGINAL main.c && test -e ../candidate && exit 7; exit 0"
    grep = shutil.which("grep")
    assert grep is not None
    (Path(claimed_gpu["PATH"]) / "grep").symlink_to(grep)
    build = [["gcc", "-O1", "-o", "build/main", "main.c"], ["sh", "-c", check]]
    candidate = HELLO if candidate_builds else c("return nothing;")
    job = packed(HELLO + "/* ORIGINAL */\n", candidate, options=SHORT, build=build)
    job.environment = claimed_gpu
    outcome = concluded(job)
    built = outcome.gate("build")
    assert built is not None
    assert built.facts["steady"] is False
    if candidate_builds:
        assert (outcome.verdict, outcome.fault) == ("not proven", built)
        assert built.sentence.endswith("; once more, without the candidate beside it, it built")
    else:
        assert (outcome.verdict, outcome.fault) == ("rejected", None)
        assert built.sentence.startswith("building the candidate failed")


def test_an_original_that_fails_once_only_is_no_steady_fault(
    packed: Any, claimed_gpu: dict[str, str], tmp_path: Path
) -> None:
    once = c(f'FILE *f = fopen("{tmp_path}/runs", "a"); fputc(\'.\', f); if (ftell(f) == 1) return 3; puts("sum 42");')
    job = packed(once, HELLO, options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert outcome.fault is not None
    assert (outcome.fault.name, outcome.fault.facts["steady"]) == ("determinism", False)
    assert outcome.fault.sentence.endswith("; once more it did not")


OWN, OTHER = "../../logs/candidate-default/1.out", "../../logs/baseline-default/1.out"
MAKE = 'mkdir("../../logs/baseline-default", 0755); '
TAKES = {
    "a-folder-for-the-original's": f'{MAKE} mkdir("{OTHER}", 0755);',
    "a-device-for-the-original's": f'{MAKE} if (symlink("/dev/null", "{OTHER}")) {{ }}',
    "a-device-for-its-own": f'unlink("{OWN}"); if (symlink("/dev/zero", "{OWN}")) return 5;',
    "no-folder-for-its-own": 'rename("../../logs/candidate-default", "../../logs/gone");',
}


@pytest.mark.parametrize("body", TAKES.values(), ids=TAKES)
def test_a_candidate_cannot_keep_the_runner_from_its_logs(packed: Any, claimed_gpu: dict[str, str], body: str) -> None:
    own = 'if (!strstr(getcwd(malloc(999), 999), "candidate")) return 7; '
    job = packed(HELLO, "#include <sys/stat.h>\n" + c(own + body + ' puts("sum 41");'), options=SHORT)
    job.environment = claimed_gpu
    outcome = concluded(job)
    assert (outcome.verdict, outcome.fault) == ("rejected", None)
    own_log = "original" not in next(name for name, each in TAKES.items() if each == body)
    words = "replaced the file that its output goes to" if own_log else "expected 'sum 42', got 'sum 41'"
    assert words in conclusion(outcome)
