"""Records that somebody damaged, forged or only read in haste: one sentence, never more proven, nothing unfair."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimas_lsp.prove.executors.outcome import ExecutorError, Outcome
from optimas_lsp.prove.executors.recorded import OUTCOMES, Recorded, keep, outcome_entry, specification_of
from optimas_lsp.prove.key import How, differences, how_of, key_of
from optimas_lsp.prove.report import Proof, as_text, conclusion, over_inputs
from optimas_lsp.prove.runner import timed
from optimas_lsp.prove.runner.job import TIMING

SAMPLES = Path(__file__).parents[3] / "samples"
INPUTS = {name: ["build/main", name] for name in ("default", "small")}
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def job(packed: Any) -> Path:
    """A program with two inputs; the default one decides."""
    return packed(inputs=INPUTS).folder


def entry_of(job: Path, speedups: dict[str, float] | None = None) -> dict[str, Any]:
    """A record for ``job``, made of a sample's: ``speedups`` on each input, the first of which decided then."""
    entry: dict[str, Any] = json.loads((SAMPLES / "sweep" / OUTCOMES).read_text("utf-8"))["outcomes"][0]
    specification = specification_of(job)
    entry |= {"key": key_of(job, specification), "how": how_of(job, specification).model_dump(mode="json")}
    runs, found = entry["timing"]["runs"], dict[str, Any]()
    for name, speedup in (speedups or {"default": 2.0, "small": 1.5}).items():
        faster = {"kernel_ns": speedup, "gpu_ns": speedup}
        candidate = {key: [t / faster.get(key, 1) for t in times] for key, times in runs["baseline"].items()}
        own = {"baseline": runs["baseline"], "candidate": candidate}
        found[name] = {**timed.summarise(own, ("time",), TIMING), "input": name, "stopped": "tight", "warnings": []}
    first = next(iter(found.values()))
    entry["timing"] = {**first, "inputs": found}
    status, sentence = timed.judge(first, first["runs"], TIMING, ("time",))
    for number, gate in enumerate(entry["gates"]):
        if gate["name"] == "time":
            gate.update(status=status, sentence=sentence)
            if status == "fail":
                entry["verdict"] = "rejected"
                del entry["gates"][number + 1 :]
    return entry


def gate(entry: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in entry["gates"] if each["name"] == name)


def asked(job: Path, folder: Path, *entries: dict[str, Any]) -> Outcome:
    """What the records say, as far as the command goes with it: every form of it can be written."""
    folder.mkdir(exist_ok=True)
    (folder / OUTCOMES).write_text(json.dumps({"outcomes": entries}), "utf-8")
    outcome = Recorded(folder).submit(job).collect()
    proof = Proof(
        source="main.c",
        executor="recorded",
        verdict=outcome.verdict or "cancelled",
        sentence=conclusion(outcome),
        gates=outcome.gates,
        not_checked=outcome.not_checked,
        recorded=outcome.recorded,
        machine=outcome.machine,
        timing=outcome.timing,
        inputs=over_inputs(outcome),
        job=outcome.job,
        diff="",
    )
    as_text(proof).encode("utf-8")
    json.loads(proof.model_dump_json())
    return outcome


def deep(levels: int) -> dict[str, Any]:
    return {"a": deep(levels - 1)} if levels else {}


def without(name: str, key: str) -> Change:
    return lambda entry: entry[name].pop(key)


def facts(name: str, **said: object) -> Change:
    return lambda entry: gate(entry, name).update(facts=said)


def one_sided(entry: dict[str, Any]) -> None:
    """Kernel times of the original alone, and no number that would contradict them."""
    for each in (entry["timing"], *entry["timing"]["inputs"].values()):
        each["runs"] = {**each["runs"], "candidate": {**each["runs"]["candidate"], "kernel_ns": []}}
        del each["kernel_ns"]


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry["machine"].update(gpu={"name": "H200", "driver": "\ud800"}),
        lambda entry: entry.update(cost=deep(300)),
        lambda entry: entry["how"]["settings"].update({"limits.\ud800": 1}),
        lambda entry: entry["how"].update(version=2),
        without("how", "version"),
        lambda entry: entry.pop("how"),
        without("timing", "input"),
        lambda entry: entry["timing"].update(input=["default"]),
        lambda entry: entry["timing"].update(input={}),
        lambda entry: entry["timing"].update(level="high"),
        lambda entry: entry["timing"].update(inputs=[entry["timing"]["inputs"]]),
        lambda entry: entry["timing"]["inputs"].update(default=None),
        lambda entry: entry["timing"]["inputs"]["default"].update(input=["default"]),
        lambda entry: entry["timing"]["inputs"]["default"].update(warnings=[[]]),
        lambda entry: entry["timing"]["inputs"].pop("default"),
        lambda entry: entry["timing"]["inputs"].update(default={**entry["timing"]["inputs"]["small"]}),
        lambda entry: entry["timing"]["runs"]["baseline"]["kernel_ns"].__setitem__(0, 10**300),
        lambda entry: entry["timing"]["runs"]["baseline"]["kernel_ns"].__setitem__(0, 10**400),
        lambda entry: entry["timing"]["kernel_ns"].update(baseline=10**400),
        lambda entry: entry["timing"]["runs"]["candidate"].update(kernel_ns=[["1", "2"]] * 5),
        lambda entry: entry["gates"].append({"name": "order", "status": "pass", "sentence": ""}),
        lambda entry: entry.update(verdict="rejected"),
        facts("time", inputs={"default": "wins", "small": "maybe"}),
        facts("time", inputs=["default"]),
        facts("run", cited=5),
        facts("run", cited=[{}]),
    ],
)
def test_a_damaged_record_is_an_error_that_names_file_and_remedy(job: Path, tmp_path: Path, change: Change) -> None:
    entry = entry_of(job)
    change(entry)
    with pytest.raises(ExecutorError) as failure:
        asked(job, tmp_path / "records", entry)
    assert failure.value.where == str(tmp_path / "records" / OUTCOMES)
    assert failure.value.remedy


def test_a_number_that_no_float_holds_is_no_record(job: Path, tmp_path: Path) -> None:
    asked(job, tmp_path, entry_of(job))
    place = tmp_path / OUTCOMES
    endless = place.read_text("utf-8").replace('"status": "pass"', '"status": "pass", "more": 1e999', 1)
    place.write_text(endless, "utf-8")
    with pytest.raises(ExecutorError, match="no recorded result"):
        Recorded(tmp_path).submit(job)


@pytest.mark.parametrize("version", ["²", "9" * 5000, "two", ""])
def test_a_version_that_is_no_number_is_another_one_and_the_least_strict(
    job: Path, tmp_path: Path, version: str
) -> None:
    entry = entry_of(job)
    entry["how"]["version"] = version
    outcome = asked(job, tmp_path / "records", entry)
    assert "by another version of the proof" in str(outcome.recorded)
    today = How(version="2")
    assert differences(How(version=version), today) == ("by another version of the proof",)


def test_a_record_is_served_whole_before_anything_is_done_to_it(job: Path, tmp_path: Path) -> None:
    outcome = asked(job, tmp_path / "records", entry_of(job))
    assert outcome.verdict == "proven"


# What was not shown on the input that is asked about.


def test_kernel_times_of_one_version_alone_prove_nothing(job: Path, tmp_path: Path) -> None:
    entry = entry_of(job)
    one_sided(entry)
    outcome = asked(job, tmp_path / "records", entry)
    assert outcome.verdict == "rejected"
    assert "the record holds no time of the kernel" in conclusion(outcome)


def test_a_program_timed_without_a_witness_is_not_proven_on_another_input_either(job: Path, tmp_path: Path) -> None:
    entry = entry_of(job, {"small": 1.5, "default": 2.0})
    entry["verdict"] = "not proven"
    for each in (entry["timing"], *entry["timing"]["inputs"].values()):
        times = each["runs"]["baseline"]["program_s"]
        sides = {"baseline": {"program_s": times}, "candidate": {"program_s": [time / 2 for time in times]}}
        sides = {side: {"kernel_ns": [], "gpu_ns": [], **own} for side, own in sides.items()}
        for key in ("kernel_ns", "gpu_ns"):
            del each[key]
        each.update(timed.summarise(sides, (), TIMING))
    gate(entry, "time")["sentence"] = timed.judge(entry["timing"], entry["timing"]["runs"], TIMING, ())[1]
    outcome = asked(job, tmp_path / "records", entry)
    assert outcome.verdict == "not proven"
    decided = outcome.gate("time")
    assert decided is not None
    assert decided.sentence.startswith("program time 2 times shorter")


@pytest.mark.parametrize(("status", "verdict"), [("skipped", "not proven"), ("fail", "rejected")])
def test_times_of_todays_input_make_good_no_other_gate(job: Path, tmp_path: Path, status: str, verdict: str) -> None:
    from optimas_lsp.prove.executors.credible import decided
    from optimas_lsp.prove.executors.outcome import parse_outcome

    entry = entry_of(job, {"small": 1.5, "default": 2.0})
    gate(entry, "sanitize").update(status=status, sentence="so it was")
    entry["verdict"] = verdict
    assert asked(job, tmp_path / "records", entry).verdict == verdict
    read = parse_outcome(entry, where="records")
    assert decided(read, specification_of(job), entry["how"]["settings"], tmp_path).verdict == verdict


def test_an_input_that_was_slower_rejects_where_that_is_asked_for_today(packed: Any, tmp_path: Path) -> None:
    options = {"time_inputs": ["default", "small"], "timing": {"any_slower": "reject"}}
    job = packed(inputs=INPUTS, options=options).folder
    for number, speedups in enumerate(({"default": 2.0, "small": 0.5}, {"small": 0.5, "default": 2.0})):
        outcome = asked(job, tmp_path / f"records-{number}", entry_of(job, speedups))
        assert outcome.verdict == "rejected"
        assert "rejected by time: input small: slower: kernel time 0.5 times" in conclusion(outcome)


def test_an_input_that_is_to_be_timed_and_was_not_is_said(packed: Any, tmp_path: Path) -> None:
    job = packed(inputs=INPUTS, options={"time_inputs": ["default", "small"]}).folder
    outcome = asked(job, tmp_path / "records", entry_of(job, {"default": 2.0}))
    assert outcome.verdict == "proven"
    assert "the record has no times of input small" in outcome.not_checked
    whole = asked(job, tmp_path / "records", entry_of(job))
    assert not any("has no times" in each for each in whole.not_checked)


def test_every_input_that_is_to_be_timed_is_told_as_won_tied_or_lost(packed: Any, tmp_path: Path) -> None:
    job = packed(inputs=INPUTS, options={"time_inputs": ["default", "small"]}).folder
    for number, speedups in enumerate(({"default": 2.0, "small": 0.5}, {"small": 0.5, "default": 2.0})):
        outcome = asked(job, tmp_path / f"records-{number}", entry_of(job, speedups))
        assert {each.input: each.result for each in over_inputs(outcome)} == {"default": "wins", "small": "loses"}


def test_a_folder_that_cannot_be_looked_at_is_named(job: Path, tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match="no such folder"):
        Recorded(tmp_path / ("a" * 5000)).submit(job)


# What is unfair, or untrue.


def test_another_output_while_it_was_timed_is_wrong_on_any_input(job: Path, tmp_path: Path) -> None:
    entry = entry_of(job, {"small": 1.5})
    words = "input default: while it was timed the candidate gave another output: standard output, line 1"
    gate(entry, "time").update(status="fail", sentence=words)
    del entry["timing"]["inputs"], entry["gates"][[each["name"] for each in entry["gates"]].index("time") + 1 :]
    entry["verdict"] = "rejected"
    outcome = asked(job, tmp_path / "records", entry)
    assert outcome.verdict == "rejected"
    assert conclusion(outcome).startswith(f"rejected by time: {words}")


def test_what_only_the_guardrails_refused_then_was_not_tried(job: Path, tmp_path: Path) -> None:
    entry = entry_of(job)
    entry |= {"verdict": "rejected", "timing": None}
    entry["gates"] = [{"name": "static", "status": "fail", "sentence": "process-call: it calls system"}]
    outcome = asked(job, tmp_path / "records", entry)
    assert outcome.verdict == "not proven"
    assert conclusion(outcome).startswith("not proven: it is not in the record")


def test_an_original_that_does_not_build_is_not_the_candidates_fault_in_a_record(packed: Any, tmp_path: Path) -> None:
    job = packed("int main(void) {\n")
    job.run()
    assert job.result["verdict"] == "not proven"
    outcome = asked(job.folder, tmp_path / "records", outcome_entry(job.folder, {}))
    assert outcome.verdict == "not proven"
    assert conclusion(outcome).startswith("not proven: the unchanged program failed build")


def test_a_proof_that_could_not_be_made_does_not_hide_one_that_was(job: Path, tmp_path: Path) -> None:
    nothing = entry_of(job) | {"timing": None, "verdict": "not proven", "date": "2030-01-01"}
    nothing["gates"] = [{"name": "run", "status": "skipped", "sentence": "there is no NVIDIA GPU on this machine"}]
    assert asked(job, tmp_path / "records", nothing, entry_of(job)).verdict == "proven"
    refuted = {**nothing, "verdict": "rejected"}
    refuted["gates"] = [{"name": "compare", "status": "fail", "sentence": "input small: it differs"}]
    assert asked(job, tmp_path / "records", entry_of(job), refuted).verdict == "rejected"


# What is kept.


def kept(place: Path, *entries: dict[str, Any]) -> list[str]:
    for each in entries:
        keep(each, place)
    return [each["label"] for each in json.loads(place.read_text("utf-8"))["outcomes"]]


def test_what_is_kept_is_neither_lost_nor_kept_twice(job: Path, tmp_path: Path) -> None:
    whole, small = {**entry_of(job), "label": "whole"}, {**entry_of(job, {"small": 1.5}), "label": "small"}
    looser = {**entry_of(job), "label": "looser"}
    looser["how"]["version"] = "1"
    empty = {**entry_of(job), "timing": None, "verdict": "not proven", "label": "empty"}
    empty["gates"] = [{"name": "run", "status": "skipped", "sentence": "there is no NVIDIA GPU on this machine"}]
    refuted = {**empty, "verdict": "rejected", "label": "refuted"}
    refuted["gates"] = [{"name": "compare", "status": "fail", "sentence": "input small: it differs"}]
    orders = [
        ((small, whole), ["whole"]),
        ((whole, small), ["whole", "small"]),
        ((whole, looser, looser), ["whole", "looser"]),
        ((looser, whole), ["whole"]),
        ((looser, small), ["looser", "small"]),
        ((looser, empty, empty), ["looser", "empty"]),
        ((empty, empty, whole, whole), ["whole"]),
        ((refuted, empty), ["refuted", "empty"]),
        ((looser, refuted, refuted), ["refuted"]),
    ]
    for number, (entries, expected) in enumerate(orders):
        assert kept(tmp_path / f"{number}.json", *entries) == expected
