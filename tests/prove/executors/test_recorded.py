"""What was proven on a GPU is found again by what was proven, and says where, when and how that was done."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from optimas_lsp.cli.app import app
from optimas_lsp.course.program import Program
from optimas_lsp.prove.executors.credible import timed_inputs
from optimas_lsp.prove.executors.outcome import ExecutorError
from optimas_lsp.prove.executors.recorded import (
    OUTCOMES,
    UNSEALED,
    NotRecordedError,
    Recorded,
    outcome_entry,
    record,
    specification_of,
)
from optimas_lsp.prove.key import How, differences, how_of, key_of
from optimas_lsp.prove.proving import Prover
from optimas_lsp.prove.report import conclusion
from optimas_lsp.prove.runner import VERSION, timed
from optimas_lsp.prove.runner.job import TIMING
from optimas_lsp.prove.target import read_target
from optimas_lsp.prove.versions import ALIKE
from optimas_lsp.rewrite.backends.embedded import CatalogueBackend
from optimas_lsp.rewrite.backends.model import Request
from optimas_lsp.rewrite.candidate import Candidate
from optimas_lsp.rewrite.guard.model import Verdict
from optimas_lsp.rewrite.prompt import build_prompt
from optimas_lsp.rewrite.proposal import Proposal

SAMPLES = Path(__file__).parents[3] / "samples"
RECORDED = "recorded on NVIDIA H200, 2026-12-01"
SETTINGS = "with other settings: "
ENTRIES = [
    pytest.param(place.parent.name, number, id=f"{place.parent.name}-{number}")
    for place in sorted(SAMPLES.glob(f"*/{OUTCOMES}"))
    for number in range(len(json.loads(place.read_text("utf-8"))["outcomes"]))
]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTIMAS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "recorded-cache"))


def test_what_the_catalogue_proposes_today_for_a_sample_was_proven_on_a_gpu(tmp_path: Path) -> None:
    folder = SAMPLES / "adjacent"
    source = folder / "adjacent.cu"
    subject = Program.of(source).subject(folder / "profile.ncu-repz", "")
    prompt = build_prompt(subject)
    reply = asyncio.run(CatalogueBackend(subject).ask(Request(prompt=prompt)))
    assert isinstance(reply.outcome, Proposal)
    candidate = Candidate.of(source.read_bytes(), reply.outcome, path=source)
    prover = Prover(folder, subject, read_target(folder / "optimas.toml"), Recorded(SAMPLES))
    proof = asyncio.run(prover.prove(candidate, Verdict(accepted=True, rules=())))
    assert proof.state == "proven"
    assert "3.914 times shorter (95 % interval 3.907 to 3.919, 5 pairs)" in proof.sentence
    assert proof.details["recorded"].startswith(f"{RECORDED}, {SETTINGS}")
    assert "timing.min_pairs 5 instead of 7" in proof.details["recorded"]
    assert any(each.startswith(f"this result was recorded {SETTINGS}") for each in proof.details["not_checked"])


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="builds the candidate before asking for its record")
def test_optimize_serves_what_was_recorded_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path))
    command = ["optimize", str(SAMPLES / "adjacent" / "adjacent.cu"), "--backend", "catalogue", "--accept"]
    command += ["--profile", str(SAMPLES / "adjacent" / "profile.ncu-repz"), "--format", "json"]
    command += ["--executor", "recorded", "--records", str(SAMPLES)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.stderr
    outcome = json.loads(result.stdout)
    assert outcome["proof"]["state"] == "proven"
    assert f"{RECORDED}, {SETTINGS}" in outcome["sentence"]


def test_what_was_recorded_is_found_again_after_it_became_a_past_attempt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPTIMAS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("OPTIMAS_DATA_DIR", str(tmp_path / "data"))
    command = ["optimize", str(SAMPLES / "stream" / "stream.cu"), "--no-build", "--format", "json"]
    command += ["--profile", str(SAMPLES / "stream" / "profile.ncu-repz")]
    command += ["--executor", "recorded", "--records", str(SAMPLES)]
    found = [json.loads(CliRunner().invoke(app, command).stdout) for _ in range(2)]
    assert [each["proof"]["state"] for each in found] == ["proven", "proven"]
    assert found[0]["diff"] == found[1]["diff"]


@pytest.mark.full
@pytest.mark.parametrize(("sample", "number"), ENTRIES)
def test_a_recorded_proposal_finds_its_record(sample: str, number: int, tmp_path: Path) -> None:
    entry: dict[str, Any] = json.loads((SAMPLES / sample / OUTCOMES).read_text("utf-8"))["outcomes"][number]
    (tmp_path / "proposal.json").write_text(json.dumps(entry["proposal"]), "utf-8")
    report = next(SAMPLES.glob(f"{sample}/profile.ncu-rep*"))
    command = ["prove", str(SAMPLES / sample / entry["file"]), "--proposal", str(tmp_path / "proposal.json")]
    command += ["--profile", str(report), "--executor", "recorded", "--records", str(SAMPLES), "--format", "json"]
    result = CliRunner().invoke(app, command)
    proof = json.loads(result.stdout)
    assert proof["recorded"].startswith(RECORDED)
    assert result.exit_code == (0 if proof["verdict"] == "proven" else 1)
    if "default" in timed_inputs(entry["timing"]) and not _another(sample, entry):
        assert (proof["verdict"], proof["job"]) == (_on_default(entry), entry["bundle"])
    elif "default" not in timed_inputs(entry["timing"]) and not _another(sample, entry):
        assert proof["verdict"] == "not proven"
        [time] = [gate for gate in proof["gates"] if gate["name"] == "time"]
        assert time["status"] == "skipped"
        assert "times of input small only, not of default: " in time["sentence"]


def _another(sample: str, entry: dict[str, Any]) -> bool:
    """Whether another entry is about the same change."""
    known = json.loads((SAMPLES / sample / OUTCOMES).read_text("utf-8"))["outcomes"]
    return sum(each["key"] == entry["key"] for each in known) > 1


def _on_default(entry: dict[str, Any]) -> str:
    """The verdict by the time of the default input."""
    timing = entry["timing"]
    if timing["input"] == "default" or entry["verdict"] != "proven":
        return entry["verdict"]
    return "proven" if timing["inputs"]["default"]["kernel_ns"]["speedup"] >= 1.02 else "rejected"


def test_the_samples_records_say_how_they_were_checked_against_their_jobs() -> None:
    for place in SAMPLES.glob(f"*/{OUTCOMES}"):
        for entry in json.loads(place.read_text("utf-8"))["outcomes"]:
            assert len(entry["key"]) == 64
            how = How.model_validate(entry["how"])
            assert how.version in {"1", VERSION}
            assert "gives the same bundle hash" in entry["verified"]
            assert entry["machine"]["gpu"]["name"] == "NVIDIA H200"


def test_whoever_changes_the_runner_says_whether_it_decides_as_before(packed: Any) -> None:
    """A record of today's version must come from today's runner, or from one that is named as alike."""
    job = packed().folder
    today = how_of(job, specification_of(job))
    for place in SAMPLES.glob(f"*/{OUTCOMES}"):
        for entry in json.loads(place.read_text("utf-8"))["outcomes"]:
            how = How.model_validate(entry["how"])
            if how.version == VERSION:
                assert how.runner in {*ALIKE, today.runner}
                assert not any("version of the proof" in each for each in differences(how, today))
            else:
                assert "by an earlier version of the proof" in differences(how, today)


def test_a_result_without_a_gate_that_is_required_now_is_not_proven(packed: Any, tmp_path: Path) -> None:
    job = packed()
    job.run()
    place = record(job.folder, tmp_path / "records")
    _forge(place, verdict="proven")
    outcome = Recorded(tmp_path / "records").submit(job.folder).collect()
    assert outcome.verdict == "not proven"


def test_a_result_kept_beside_its_program_is_found_and_says_what_it_cost(packed: Any, tmp_path: Path) -> None:
    job = packed()
    job.run()
    entry = outcome_entry(job.folder, {"file": "main.c", "label": "as it was"})
    (tmp_path / "program" / OUTCOMES).write_text(json.dumps({"outcomes": [entry]}), "utf-8")
    outcome = Recorded(tmp_path / "program").submit(job.folder).collect()
    assert outcome.verdict == "not proven"
    assert outcome.job == job.result["job"]
    assert outcome.cost["build"]["spent"]["build"]["count"] == 2


def test_guardrails_of_today_refuse_whatever_was_recorded(packed: Any, tmp_path: Path) -> None:
    job = packed()
    job.run()
    record(job.folder, tmp_path / "records")
    _static(job.folder, "fail", "process-call: it calls system")
    outcome = Recorded(tmp_path / "records").submit(job.folder).collect()
    assert outcome.verdict == "rejected"
    assert [(gate.name, gate.status) for gate in outcome.gates] == [("static", "fail")]


def test_the_latest_of_several_results_counts(packed: Any, tmp_path: Path) -> None:
    job = packed()
    job.run()
    entry = json.loads(record(job.folder, tmp_path / "records").read_text("utf-8"))
    older = {**entry["result"], "schema": "optimas.recorded-outcome/1", "date": "2020-02-02", "bundle": "0"}
    older |= {"key": entry["key"], "how": entry["how"], "verdict": "rejected"}
    (tmp_path / "records" / OUTCOMES).write_text(json.dumps({"outcomes": [older]}), "utf-8")
    outcome = Recorded(tmp_path / "records").submit(job.folder).collect()
    assert outcome.verdict == "not proven"
    assert outcome.recorded is not None
    assert not outcome.recorded.startswith("recorded on a machine without a GPU, 2020")


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"schema": "optimas.record/1"}'])
def test_a_file_that_is_no_record_is_named(packed: Any, tmp_path: Path, text: str) -> None:
    job = packed()
    job.run()
    place = record(job.folder, tmp_path / "records")
    place.write_text(text, "utf-8")
    with pytest.raises(ExecutorError, match="no recorded result") as failure:
        Recorded(tmp_path / "records").submit(job.folder)
    assert failure.value.where == str(place)


def test_another_change_of_the_same_program_was_not_recorded(packed: Any, tmp_path: Path) -> None:
    job = packed()
    job.run()
    record(job.folder, tmp_path / "records")
    job.folder.rename(tmp_path / "before")
    other = packed(candidate="int main(void) { return 0; }\n")
    with pytest.raises(NotRecordedError):
        Recorded(tmp_path / "records").submit(other.folder)


def test_what_was_different_is_said_with_both_values() -> None:
    now = How(version="2", runner="b", witness="w", settings={"time_input": "small", "time_limit_s": 9, "ceiling": 2.0})
    before = How(
        version="1", runner="a", witness="w", settings={"time_input": "default", "time_limit_s": 5, "ceiling": 2.0}
    )
    said = ("by an earlier version of the proof", "with other settings: time_limit_s 5 instead of 9")
    assert differences(before, now) == said
    assert differences(now, now) == ()
    assert differences(now.model_copy(update={"witness": "v"}), now) == ("by another version of the proof",)


def _forge(place: Path, **changes: object) -> None:
    entry = json.loads(place.read_text("utf-8"))
    entry["result"] |= changes
    place.write_text(json.dumps(entry), "utf-8")


def _static(job: Path, status: str, sentence: str, **other: object) -> None:
    """Pack the same job with another static verdict."""
    from optimas_lsp.prove.bundle import bundle_hash

    place = job / "job.json"
    specification = json.loads(place.read_text("utf-8"))
    specification.pop("hash")
    specification |= {"static": {"status": status, "sentence": sentence}, **other}
    specification["hash"] = bundle_hash(job, specification)
    place.write_text(json.dumps(specification), "utf-8")


def _gate(name: str, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda entry: [gate.update(changes) for gate in entry["gates"] if gate["name"] == name]


def _times(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda entry: entry["timing"]["kernel_ns"].update(changes)


def _runs(factor: float) -> Callable[[dict[str, Any]], object]:
    """Candidate's single times by ``factor`` of the original's, with every number that follows from them."""

    def change(entry: dict[str, Any]) -> None:
        timing = entry["timing"]
        for key, before in timing["runs"]["baseline"].items():
            timing["runs"]["candidate"][key] = [time * factor for time in before]
        plan = {**TIMING, "min_effect": 0.0}
        timing.update(timed.summarise(timing["runs"], ("time",), plan))
        entry["how"]["settings"]["timing.min_effect"] = 0.0
        _gate("time", sentence=timed.judge(timing, timing["runs"], plan, ("time",))[1])(entry)

    return change


def _kept(packed: Any, tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> tuple[Path, Recorded]:
    """A job, and a record of it that was made from a sample's, proven on a GPU, and then changed."""
    job = packed().folder
    entry: dict[str, Any] = json.loads((SAMPLES / "sweep" / OUTCOMES).read_text("utf-8"))["outcomes"][0]
    specification = specification_of(job)
    entry["key"] = key_of(job, specification)
    entry["how"] = how_of(job, specification).model_dump(mode="json")
    change(entry)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / OUTCOMES).write_text(json.dumps({"outcomes": [entry]}), "utf-8")
    return job, Recorded(tmp_path / "records")


def test_a_record_of_a_gpu_stands_by_its_own_runs_and_says_that_nobody_sealed_it(packed: Any, tmp_path: Path) -> None:
    job, records = _kept(packed, tmp_path, lambda _entry: None)
    outcome = records.submit(job).collect()
    assert outcome.verdict == "proven"
    assert UNSEALED in outcome.not_checked


@pytest.mark.parametrize(
    ("change", "verdict", "sentence"),
    [
        (_gate("compare", status="fail"), "rejected", "rejected by compare"),
        (_gate("reprofile", status="fail"), "rejected", "rejected by reprofile"),
        (_gate("static", status="fail"), "proven", "proven: kernel time 3.693"),
        (lambda entry: entry["gates"].pop(4), "not proven", "not proven: it is not in the record (compare skipped)"),
        (lambda entry: entry.update(timing=None), "rejected", "rejected by time: the record holds no time of"),
        (_runs(1.2), "rejected", "rejected by time: slower: kernel time 0.8333"),
        (_runs(1.0), "rejected", "rejected by time: no clear difference: kernel time 1 times"),
        (_runs(0.001), "rejected", "rejected by plausible: as recorded: 1000.0 times faster is more than 10 times"),
    ],
)
def test_a_record_is_no_better_than_its_gates_and_times_by_todays_thresholds(
    packed: Any, tmp_path: Path, change: Callable[[dict[str, Any]], object], verdict: str, sentence: str
) -> None:
    job, records = _kept(packed, tmp_path, change)
    outcome = records.submit(job).collect()
    assert outcome.verdict == verdict
    assert conclusion(outcome).startswith(sentence)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({"small": 0.5, "default": 2.0}, "proven", "proven: kernel time 2 times shorter"),
        ({"small": 2.0, "default": 0.5}, "rejected", "rejected by time: slower: kernel time 0.5 times shorter"),
        ({"small": 0.5}, "not proven", "the record has times of input small only, not of default: slower: kernel"),
        ({"small": 2.0}, "proven", ", timed on input small, not on default)"),
    ],
)
def test_the_input_that_decides_today_decides(
    packed: Any, tmp_path: Path, change: dict[str, float], verdict: str, words: str
) -> None:
    """Whatever input decided when it was recorded: where there are times of today's, those count."""

    def timed_on(entry: dict[str, Any]) -> None:
        runs, plan = entry["timing"]["runs"], {**TIMING}
        found: dict[str, Any] = {}
        for name, speedup in change.items():
            faster = {"kernel_ns": speedup, "gpu_ns": speedup}  # the program's time hardly changes
            candidate = {key: [t / faster.get(key, 1) for t in times] for key, times in runs["baseline"].items()}
            own = {"baseline": runs["baseline"], "candidate": candidate}
            found[name] = {**timed.summarise(own, ("time",), plan), "input": name}
        entry["timing"] = {**found["small"], **({"inputs": found} if len(found) > 1 else {})}
        status, sentence = timed.judge(entry["timing"], entry["timing"]["runs"], plan, ("time",))
        if status == "fail":
            entry["verdict"] = "rejected"
            last = next(number for number, gate in enumerate(entry["gates"]) if gate["name"] == "time")
            del entry["gates"][last + 1 :]
        _gate("time", status=status, sentence=sentence)(entry)

    job, records = _kept(packed, tmp_path, timed_on)
    outcome = records.submit(job).collect()
    assert outcome.verdict == verdict
    assert words in conclusion(outcome)
    kept = {"proven": "small" if len(change) == 1 else "default", "rejected": "default", "not proven": None}
    assert (outcome.timing or {}).get("input") == kept[verdict]


def test_a_recorded_gain_above_todays_ceiling_is_for_a_person(packed: Any, tmp_path: Path) -> None:
    job, records = _kept(packed, tmp_path, lambda _entry: None)
    _static(job, "pass", "every guardrail passed", ceiling_speedup=2.0)
    said = conclusion(records.submit(job).collect())
    assert "as recorded: 3.69 times faster, though the roofline allows at most 2.00" in said


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry["gates"].append({**entry["gates"][4], "status": "fail"}),
        lambda entry: entry["gates"].append({**entry["gates"][4], "name": "magic"}),
        lambda entry: entry.update(verdict=None),
        lambda entry: entry.update(date="soon"),
        lambda entry: entry.update(machine={"gpu": "H200"}),
        lambda entry: entry.update(machine=["H200"]),
        lambda entry: entry["timing"].update(runs={}),
        lambda entry: entry["timing"].update(pairs=50),
        lambda entry: entry["timing"]["runs"]["candidate"]["kernel_ns"].pop(),
        lambda entry: entry["how"]["settings"].update({"timing.level": "high"}),
        lambda entry: entry["how"]["settings"].update({"timing.min_effect": "small"}),
        _times(speedup=1e9, low=1e9, high=1e9),
        _times(low=float("nan")),
        _times(high=None),
        _gate("time", sentence="kernel time 900 times shorter"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(
    packed: Any, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    job, records = _kept(packed, tmp_path, change)
    with pytest.raises(ExecutorError, match="record"):
        records.submit(job)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"outcomes": "all"}', '{"outcomes": ["proven"]}', '{"outcomes": NaN}']
)
def test_a_list_that_holds_no_records_is_named(packed: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / OUTCOMES).write_text(text, "utf-8")
    with pytest.raises(ExecutorError, match="recorded result"):
        Recorded(tmp_path).submit(packed().folder)


def test_a_pipe_in_the_place_of_records_does_not_wait_for_ever(packed: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / OUTCOMES)
    with pytest.raises(ExecutorError, match="no recorded result"):
        Recorded(tmp_path).submit(packed().folder)


def test_a_folder_of_records_that_is_not_there_is_named(packed: Any, tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match="no such folder"):
        Recorded(tmp_path / "records").submit(packed().folder)
