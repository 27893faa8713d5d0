"""Experiments are keyed by content: what an experiment depends on changes its key, and nothing else does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from optimas_lsp.campaign.design import read
from optimas_lsp.campaign.estimate import estimate
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.run import lanes_of
from optimas_lsp.cli.app import app

if TYPE_CHECKING:
    from tests.campaign.conftest import Write


def keys(file: Path) -> dict[str, str]:
    """The axes in words, and the key."""
    return {each.axes.words(): each.key for each in Plan.of(read(file)).experiments}


def test_everything_is_crossed_once(campaign: Write) -> None:
    file = campaign("accuracy", "sobol", inputs=("small", "large"), repetitions=2)
    found = Plan.of(read(file))
    assert len(found.experiments) == 2 * 3 * 2 * 2
    assert len({each.key for each in found.experiments}) == len(found.experiments)
    assert found.counts() == {
        "program": 2, "kernel": 2, "backend": 1, "evidence": 3, "input": 2, "repetition": 2, "device": 1,
    }  # fmt: skip
    assert [each.axes.repetition for each in found.experiments] == [1] * 12 + [2] * 12


def append(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        place = folder / name
        place.write_text(place.read_text("utf-8") + text, "utf-8")

    return change


def replace(name: str, before: str, after: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text("utf-8")
        assert before in text
        (folder / name).write_text(text.replace(before, after), "utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        (append("accuracy/accuracy.cu", "\n"), "accuracy"),
        (append("accuracy/rank.cuh", "// \n"), "accuracy"),
        (replace("accuracy/optimas.toml", "-O3", "-O2"), "accuracy"),
        (replace("accuracy/optimas.toml", 'accuracy", "large"', 'accuracy", "larger"'), "accuracy"),
        (append("sobol/sobol.cu", "\n"), "sobol"),
        (replace("campaign.toml", "repetitions = 1", "repetitions = 1\npast = 'others'"), ""),
    ],
)
def test_changing_one_thing_changes_the_keys_that_depend_on_it(
    campaign: Write, tmp_path: Path, change: Callable[[Path], None], touched: str
) -> None:
    file = campaign("accuracy", "sobol")
    before = keys(file)
    change(tmp_path)
    after = keys(file)
    assert after.keys() == before.keys()
    assert {each for each in after if after[each] != before[each]} == {each for each in after if touched in each}


@pytest.mark.parametrize(
    "change",
    [
        replace("campaign.toml", "workers = 2", "workers = 1\nretries = 0"),
        replace("campaign.toml", 'executor = "recorded"', 'executor = "slurm"'),
        append("campaign.toml", "[[backend]]\nname='catalogue'\nbackend='catalogue'\nsettings={timeout_seconds=9}\n"),
        append("accuracy/outcomes.json", "{}"),
    ],
)
def test_where_and_how_patiently_it_runs_changes_no_key(
    campaign: Write, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    file = campaign()
    (tmp_path / "accuracy" / "outcomes.json").touch()
    before = keys(file)
    change(tmp_path)
    assert keys(file) == before


def test_another_input_or_subset_leaves_the_others_finished(campaign: Write) -> None:
    before = keys(campaign(evidence=("pc", "rl"), inputs=("default",)))
    after = keys(campaign(evidence=("pc", "rl", "pc+rl"), inputs=("default", "large")))
    assert before.items() <= after.items()
    assert len(after) == 6


def test_the_plan_tells_count_time_cost_and_commands_before_anything_runs(
    campaign: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = '[[backend]]\nname = "big"\nbackend = "openai"\nmodel = "gpt-5"\nrequests_per_minute = 60\n'
    file = campaign("accuracy", evidence=("pc", "ia"), build=True, more=model)
    done = CliRunner().invoke(app, ["campaign", "plan", str(file)])
    assert done.exit_code == 0, done.output
    for words in (
        "2 experiments, 0 finished",
        "assumed, nothing of the kind has run yet",
        "USD 0.0",
        "send ",
        "1 experiments have none",
        "nvcc -O3 -arch=sm_90",
        "openai, model gpt-5",
        "there is no key",
    ):
        assert words in done.output
    assert not (tmp_path / "results").exists()
    data = json.loads(CliRunner().invoke(app, ["campaign", "plan", str(file), "--format", "json"]).output)
    low, high = data["usd"]
    assert 0 < low < high
    assert len(data["matrix"]) == data["experiments"] == 2


def test_every_question_that_a_model_may_be_asked_counts_for_its_rate_and_cost(campaign: Write) -> None:
    model = '[[backend]]\nname = "big"\nbackend = "openai"\nmodel = "gpt-5"\nrequests_per_minute = 60\n'
    cost: list[list[float]] = []
    for attempts, samples in ((1, 1), (3, 1), (2, 4)):
        settings = f"settings = {{ attempts = {attempts}, samples = {samples} }}\n"
        plan = Plan.of(read(campaign(evidence=("pc",), more=model + settings)))
        [lane] = lanes_of(plan)
        assert lane.asks == attempts * samples
        money = estimate(plan, ()).money
        cost.append([money.low_usd, money.high_usd])
    assert cost[1][0] == cost[0][0]
    assert cost[1][1] > 3 * cost[0][1]  # each try sends the answers before it
    assert cost[2][0] == pytest.approx(4 * cost[0][0])
    assert cost[2][1] > 8 * cost[0][1]


def test_what_records_served_in_seconds_says_nothing_of_the_time_that_proofs_take(campaign: Write) -> None:
    plan = Plan.of(read(campaign(evidence=("pc", "rl"), build=True)))
    first = plan.experiments[0]
    row = {
        "key": first.key,
        **first.axes.plain(),
        "ending": "proven",
        "total_s": 10.0,
        "gates": {"determinism": "pass"},
    }
    served = {**row, "recorded": "recorded on NVIDIA H200, 2026-12-01"}
    assert (estimate(plan, [served]).seconds, estimate(plan, [served]).measured) == (10.0, True)
    settings = first.request.settings
    assert settings is not None
    here = {"settings": {**settings, "prove": {**settings["prove"], "executor": "local"}}}
    moved = tuple(dataclasses.replace(each, request=each.request.model_copy(update=here)) for each in plan.experiments)
    local = dataclasses.replace(plan, experiments=moved)
    for useless in (served, {**row, "ending": "not-proven"}, {**row, "ending": "program-failed"}):
        assert (estimate(local, [useless]).seconds, estimate(local, [useless]).measured) == (150.0, False)
    assert (estimate(local, [row]).seconds, estimate(local, [row]).measured) == (10.0, True)


def test_what_a_campaign_file_makes_pilot_jobs_and_connections_run_is_shown_too(campaign: Write) -> None:
    device = '[[device]]\nname = "far"\nexecutor = "ssh"\nsettings = { host = "node1", ssh_options = ["-J", "gate"] }\n'
    file = campaign(engine='kind = "htex"\nprovider = { worker_init = "source env.sh" }', more=device)
    output = CliRunner().invoke(app, ["campaign", "plan", str(file)]).output
    assert "worker_init=source env.sh" in output
    assert "ssh -J gate node1" in output


def test_a_local_proof_is_shown_even_where_this_machine_has_no_gpu(campaign: Write) -> None:
    file = campaign(build=True)
    text = file.read_text("utf-8").replace('executor = "recorded"', "").replace("settings = {", "# {")
    file.write_text(text, "utf-8")
    [actions] = estimate(Plan.of(read(file)), ()).actions.values()
    assert any(("build/accuracy", "large") in action.commands for action in actions if action.kind == "run")
