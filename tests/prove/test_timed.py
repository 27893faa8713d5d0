"""What the runner makes of times: when it stops, what it warns of, a race against the best, several inputs."""

from __future__ import annotations

import json
import random
import shutil
from typing import Any

import pytest

from optimas_lsp.prove.options import SHORT_TIMING
from optimas_lsp.prove.runner import timed, timing, tools
from optimas_lsp.prove.runner.job import TIMING, Job
from optimas_lsp.prove.runner.record import Record

NONE: tuple[str, ...] = ()
STATE = {"sm_mhz": 1980.0, "memory_mhz": 2619.0, "temperature_c": 40.0, "throttle": "0x0000000000000000"}


def series(baseline: list[float], candidate: list[float]) -> timed.Series:
    return {
        "baseline": {"kernel_ns": [], "gpu_ns": [], "program_s": baseline},
        "candidate": {"kernel_ns": [], "gpu_ns": [], "program_s": candidate},
    }


def stopped(baseline: list[float], candidate: list[float], seconds: float = 0.0, **plan: Any) -> str:
    return timed._enough(series(baseline, candidate), {**TIMING, **plan}, NONE, len(baseline), seconds)


STEADY = [2.0, 2.01, 1.99, 2.005, 1.995, 2.0, 2.01]
SCATTERED = [1.0, 3.0, 2.0, 1.5, 2.5, 1.2, 2.8]


def test_it_stops_when_the_interval_is_tight_and_not_before_the_least_number_of_pairs() -> None:
    halved = [each / 2 for each in STEADY]
    assert stopped(STEADY[:6], halved[:6]) == ""
    assert stopped(STEADY, halved) == "tight"


def test_it_goes_on_while_the_interval_is_wide_up_to_a_limit_of_pairs_or_time() -> None:
    assert stopped(SCATTERED, STEADY) == ""
    assert stopped(SCATTERED, STEADY, max_pairs=7) == "pairs"
    assert stopped(SCATTERED, STEADY, seconds=121.0) == "seconds"


@pytest.mark.parametrize(
    ("candidate", "race", "expected"),
    [
        (1.0, {"best": 3.0}, "race"),
        (0.5, {"best": 3.0}, "tight"),
        (4.0, {"best": None}, "race"),
        (1.0, {"best": None}, "tight"),
        (1.0, None, "tight"),
    ],
    ids=["worse than the best", "better than the best", "slower than the original", "first of its race", "no race"],
)
def test_a_race_is_lost_by_what_is_clearly_worse(candidate: float, race: dict[str, Any] | None, expected: str) -> None:
    times = [each * candidate / 2 for each in STEADY]
    assert stopped(STEADY, times, race=race) == expected


@pytest.mark.parametrize(("pairs", "relative", "expected"), [(3, 0.985, ""), (5, 0.985, "race"), (3, 0.9, "race")])
def test_few_times_lose_a_race_only_by_the_smallest_effect_that_counts(
    pairs: int, relative: float, expected: str
) -> None:
    times = [each / relative for each in STEADY[:pairs]]
    race: dict[str, Any] = {"min_pairs": 3, "precision": 0.001, "race": {"best": 1.0}}
    assert stopped(STEADY[:pairs], times, **race) == expected


def test_a_race_is_not_lost_while_the_intervals_overlap() -> None:
    assert stopped(STEADY, SCATTERED, race={"best": 1.5}) == ""


def summary(baseline: list[float], candidate: list[float], **more: Any) -> timed.Summary:
    found = timed.summarise(series(baseline, candidate), NONE, TIMING)
    return {**found, "stopped": "tight", "before": STATE, "after": STATE, **more}


def warned(baseline: list[float] = STEADY, candidate: list[float] = STEADY, **more: Any) -> str:
    return "; ".join(timed.warnings(summary(baseline, candidate, **more), TIMING, NONE))


def test_a_quiet_measurement_warns_of_nothing() -> None:
    assert warned() == ""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("times of the original scatter by 40%", warned(SCATTERED)),
        ("times of the candidate scatter by 40%", warned(STEADY, SCATTERED)),
        ("the limit of pairs was reached", warned(stopped="pairs")),
        ("every run of the candidate took exactly the same time", warned(STEADY, [0.5] * 7)),
        ("the original became 20% slower", warned([1.0] * 4 + [1.2] * 4)),
        ("clocks and temperature could not be read", warned(before={})),
        ("the SM clock went from 1980 to 1700 MHz", warned(after={**STATE, "sm_mhz": 1700.0})),
        ("the GPU went from 40 to 62 °C", warned(after={**STATE, "temperature_c": 62.0})),
        ("clocks were limited by the power limit", warned(after={**STATE, "throttle": "0x0000000000000005"})),
        ("clocks were limited by the temperature (hardware)", warned(before={**STATE, "throttle": "0x40"})),
        ("what limits the clocks could not be read", warned(after={**STATE, "throttle": "[N/A]"})),
    ],
)
def test_what_makes_times_doubtful_is_said(words: str, found: str) -> None:
    assert words in found


def test_an_idle_gpu_between_runs_is_no_warning() -> None:
    assert warned(after={**STATE, "throttle": "0x0000000000000001"}) == ""


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [(0.5, "wins"), (1.0, "ties"), (0.995, "ties"), (1.005, "ties"), (2.0, "loses")],
)
def test_an_input_is_won_tied_or_lost_by_more_than_the_smallest_effect(candidate: float, expected: str) -> None:
    found = summary(STEADY, [each * candidate for each in STEADY])
    assert timed.result_of(found, TIMING, NONE) == expected


def over_inputs(**plan: Any) -> tuple[str, str]:
    found = {name: summary(STEADY, [each * by for each in STEADY]) for name, by in INPUTS.items()}
    results = {name: timed.result_of(each, TIMING, NONE) for name, each in found.items()}
    return timed._over_inputs(found, results, {**TIMING, **plan}, NONE)


INPUTS = {"default": 0.5, "small": 2.0, "large": 0.25, "odd": 1.0}


def test_a_slower_input_is_said_plainly_and_rejects_only_when_that_was_asked_for() -> None:
    status, words = over_inputs()
    assert status == "pass"
    assert words.startswith("; over inputs: wins default and large, ties odd, loses small; SLOWER on input small: ")
    assert "0.5 times shorter (95 % interval" in words
    assert over_inputs(any_slower="reject")[0] == "fail"


# The same with real processes: programs that sleep, timed by the wall clock because there is no witness here.

GATES = {"gates": ["static", "build", "determinism", "run", "compare", "time"]}
SLEEPS = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {{ usleep(argc > 1 ? {large} : {small}); puts("sum 42"); return 0; }}
"""


def sleeping(small_ms: int, large_ms: int = 0) -> str:
    return SLEEPS.format(small=small_ms * 1000, large=large_ms * 1000)


def test_a_lost_race_is_neither_passed_nor_failed_and_so_never_proven(packed, claimed_gpu) -> None:
    timing = {"min_pairs": 3, "max_pairs": 20, "race": {"best": 4.0}}
    job = packed(sleeping(200), sleeping(120), options={**GATES, "timing": timing})
    job.environment = claimed_gpu
    assert job.run() == 1
    gate = job.gate("time")
    assert (gate["status"], gate["facts"]["stopped"], gate["facts"]["pairs"]) == ("skipped", "race", 3)
    assert "clearly less than the best so far, 4 times" in gate["sentence"]
    assert job.result["verdict"] == "not proven"
    assert job.result["timing"]["program_s"]["speedup"] < 4


def test_every_input_is_timed_when_asked_and_a_slower_one_can_reject(packed, claimed_gpu) -> None:
    inputs = {"default": ["build/main"], "large": ["build/main", "large"]}
    timing = {"min_pairs": 3, "max_pairs": 3, "any_slower": "reject"}
    options = {**GATES, "timing": timing, "time_inputs": ["default", "large"]}
    job = packed(sleeping(300, 30), sleeping(30, 300), options=options, inputs=inputs)
    job.environment = claimed_gpu
    assert job.run() == 1
    gate = job.gate("time")
    assert gate["status"] == "fail"
    assert gate["facts"]["inputs"] == {"default": "wins", "large": "loses"}
    assert "over inputs: wins default, loses large; SLOWER on input large: program time" in gate["sentence"]
    assert set(job.result["timing"]["inputs"]) == {"default", "large"}
    assert job.result["timing"]["inputs"]["large"]["pairs"] == 3
    assert "clocks and temperature could not be read" in gate["sentence"]


def test_a_record_may_hold_every_input_of_a_candidate_that_fails_on_the_first(packed, claimed_gpu) -> None:
    inputs = {"default": ["build/main"], "large": ["build/main", "large"]}
    timing = {"min_pairs": 3, "max_pairs": 3, "every_input": True}
    options = {**GATES, "timing": timing, "time_inputs": ["default", "large"]}
    job = packed(sleeping(30, 300), sleeping(300, 30), options=options, inputs=inputs)
    job.environment = claimed_gpu
    assert job.run() == 1
    gate = job.gate("time")
    assert gate["status"] == "fail"
    assert gate["sentence"].startswith("slower: program time")
    assert gate["facts"]["inputs"] == {"default": "loses", "large": "wins"}
    assert job.result["timing"]["inputs"]["large"]["program_s"]["speedup"] > 1


NCU = """#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
log=$2
while [ "$1" != -o ]; do shift; done
report=$2
while [ "$1" != build/main ]; do shift; done
echo '==PROF== Connected to process 1' > $log
echo
echo '==PROF== Connected to process 1'
"$@" || exit
%s
"""


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        ("echo report > $report", "pass", "both versions were profiled again on input default"),
        ("echo 'sum 43'; echo report > $report", "skipped", "under ncu the output of the baseline changed"),
        (
            "echo '==ERROR== ERR_NVGPUCTRPERM' >> $log; exit 1",
            "skipped",
            "profiling the baseline failed: ERR_NVGPUCTRPERM",
        ),
        (
            "case $PWD in */candidate) echo 'sum 43';; esac; echo report > $report",
            "fail",
            "under ncu the output of the candidate changed: standard output, expected 1 lines, got 2",
        ),
    ],
    ids=["both", "other-output", "no-permission", "candidate-only"],
)
def test_a_report_counts_only_with_the_right_output(packed, claimed_gpu, ending: str, status: str, words: str) -> None:
    """The tool is a stand-in that prints what the real one prints; what is tried is how it is taken."""
    from pathlib import Path

    tool = Path(claimed_gpu["PATH"]) / "ncu"
    tool.write_text(NCU % ending, "utf-8")
    tool.chmod(0o755)
    job = packed(options={"gates": [*GATES["gates"][:5], "reprofile"], "reprofile": ["--section", "SpeedOfLight"]})
    job.environment = claimed_gpu
    assert job.run() == 1
    gate = job.gate("reprofile")
    assert gate["status"] == status
    assert words in gate["sentence"]
    if status == "pass":
        assert gate["files"] == ["baseline.ncu-rep", "candidate.ncu-rep"]
        assert set(gate["facts"]["reports"]) == {"baseline", "candidate"}


@pytest.mark.parametrize(
    "planted",
    [
        "rm -f $log; ln -s {secret} $log",
        "rm -f $log; mkfifo $log",
        "rm -f $log; mkdir $log",
        "rm -rf $(dirname $log); ln -s {folder} $(dirname $log)",
        "rm -f $log; ln {secret} $log",
        "printf '\\377\\376 no error at all' > $log",
    ],
    ids=["link", "pipe", "folder", "link to a folder", "hard link", "no text"],
)
def test_what_a_candidate_puts_in_the_place_of_ncus_log_is_not_told(packed, claimed_gpu, tmp_path, planted) -> None:
    """It can fail its own gate by that, and neither hold the proof up nor have another file read aloud."""
    from pathlib import Path

    own = tmp_path / "own"
    own.mkdir()
    (own / "candidate.ncu").write_text("PASSWORD=hunter2\n", "utf-8")
    ending = f"case $PWD in */candidate) {planted}; exit 1;; esac; echo report > $report"
    bin_ = Path(claimed_gpu["PATH"])
    for tool in ("rm", "ln", "mkfifo", "mkdir", "dirname"):
        (bin_ / tool).symlink_to(str(shutil.which(tool)))
    (bin_ / "ncu").write_text(NCU % ending.format(secret=own / "candidate.ncu", folder=own), "utf-8")
    (bin_ / "ncu").chmod(0o755)
    job = packed(options={"gates": [*GATES["gates"][:5], "reprofile"], "reprofile": ["--section", "SpeedOfLight"]})
    job.environment = claimed_gpu
    assert job.run() == 1
    gate = job.gate("reprofile")
    assert gate["status"] == "fail"
    assert "profiling the candidate" in gate["sentence"]
    assert "hunter2" not in json.dumps(job.result)
    assert (own / "candidate.ncu").read_text("utf-8") == "PASSWORD=hunter2\n"


def test_the_clocks_are_those_of_the_gpu_that_programs_see(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "nvidia-smi"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *"-i 3"*) echo "1980, 2619, 41, 0x1";; *) echo "345, 2619, 30, 0x1";; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert tools.state()["sm_mhz"] == 1980
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert tools.state()["sm_mhz"] == 345


def raced(relative: float, chance: random.Random, noise: float = 0.02) -> tuple[str, int]:
    """How the second of two candidates ends its race when it is ``relative`` times as fast as the first."""
    times: dict[float, tuple[str, int, float]] = {}
    best = None
    for speed in (1.5, 1.5 * relative):
        plan = {**TIMING, **SHORT_TIMING, "race": {"best": best}}
        a: list[float] = []
        b: list[float] = []
        why = ""
        while not why:
            a.append(chance.lognormvariate(0, noise))
            b.append(chance.lognormvariate(0, noise) / speed)
            why = timed._enough(series(a, b), plan, NONE, len(a), 0.0)
        best = timing.ratio(a, b)[1]
        times[speed] = why, len(a), best
    why, pairs, _low = times[1.5 * relative]
    return why, pairs


def test_a_race_costs_the_worse_few_runs_and_the_equal_nothing() -> None:
    chance = random.Random(5)
    worse = [raced(0.85, chance) for _ in range(6)]
    equal = [raced(1.0001, chance) for _ in range(6)]
    assert all(ended == ("race", SHORT_TIMING["min_pairs"]) for ended in worse)
    assert not any(why == "race" for why, _pairs in equal)


def test_both_sides_warm_up_and_then_take_turns(monkeypatch: pytest.MonkeyPatch, packed) -> None:
    order: list[str] = []

    def once(_job: Job, side: str, _name: str, label: str, *rest: Any) -> None:
        order.append(f"{side[0]} {label}")
        times = {"baseline": 2.0, "candidate": 1.0}
        rest[1]["program_s"].append(times[side] + len(order) / 1000)

    def run(_job: Job, side: str, _name: str, label: str, **_more: Any) -> None:
        order.append(f"{side[0]} {label}")

    monkeypatch.setattr(timed, "_time_once", once)
    monkeypatch.setattr(Job, "run", run)
    job = Job(packed(options={"timing": {"min_pairs": 3, "max_pairs": 3}}).folder)
    why, _series, found = timed._measured(job, Record(job.folder, "x"), "default", NONE)
    assert why == ""
    assert order == [
        *("b warm-up", "c warm-up"),
        *("b time-0", "c time-0", "c time-1", "b time-1", "b time-2", "c time-2"),
    ]
    assert found["pairs"] == 3
