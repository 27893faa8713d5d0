"""A campaign runs what is missing, on real Parsl threads: whatever happens to one experiment, the others go on."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from optimas_lsp.campaign.design import EngineEntry, read
from optimas_lsp.campaign.experiment import Axes
from optimas_lsp.campaign.extra import MissingPackageError, load
from optimas_lsp.campaign.pace import Lane
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.process import LostError, NotAcceptedError
from optimas_lsp.campaign.results import Results, ResultsError
from optimas_lsp.campaign.row import Row
from optimas_lsp.campaign.run import Run
from optimas_lsp.campaign.worker import summary_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.campaign.conftest import Write


class StandIn:
    """Performs without a process: keeps a row, and does what ``acts`` says for an experiment's subset of evidence."""

    def __init__(self, **acts: Callable[[int], str]) -> None:
        self.acts = acts
        self.calls: Counter[str] = Counter()
        self.running = self.most = 0
        self.lock = threading.Lock()

    def perform(self, task: dict[str, Any]) -> dict[str, Any]:
        axes = Axes(**task["axes"])
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.calls[axes.evidence] += 1
            count = self.calls[axes.evidence]
        try:
            ending = self.acts.get(axes.evidence, lambda _count: "nothing")(count)
        finally:
            with self.lock:
                self.running -= 1
        row = Row.model_validate({"key": task["key"], **axes.plain(), "ending": ending})
        Results(Path(task["results"])).keep(row.key, row.model_dump(mode="json", by_alias=True), {"of": row.key})
        return summary_of(row)


def fails(_count: int) -> str:
    raise ValueError("broken on purpose")


def once(count: int) -> str:
    if count == 1:
        raise LostError("its process died")
    return "nothing"


def always(_count: int) -> str:
    raise LostError("its process died")


def run_of(file: Path, perform: StandIn, *, workers: int = 2, retries: int = 2, lane: Lane | None = None) -> Run:
    plan = Plan.of(read(file))
    lanes = [lane or Lane("catalogue")]
    return Run(
        plan.experiments,
        lanes,
        EngineEntry(workers=workers, retries=retries),
        Results(plan.loaded.results),
        perform.perform,
    )


def test_a_failed_experiment_is_a_result_and_the_others_go_on(campaign: Write) -> None:
    run = run_of(campaign(), StandIn(pc=fails))
    progress = run.go()
    assert progress.endings == {"nothing": 2, "failed": 1}
    [failed] = [row for row in run.results.rows() if row["ending"] == "failed"]
    assert failed["evidence"] == "pc"
    assert "broken on purpose" in failed["sentence"]


def test_a_lost_experiment_is_run_again_until_the_retries_are_used_up(campaign: Write) -> None:
    perform = StandIn(pc=once, rl=always)
    run = run_of(campaign(), perform, retries=3)
    assert run.go().endings == {"nothing": 2, "failed": 1}
    assert perform.calls == {"pc": 2, "rl": 4, "pc+rl+ia": 1}


def test_nothing_finished_is_repeated_and_only_what_is_asked_for_is_tried_again(campaign: Write) -> None:
    perform = StandIn(pc=fails)
    file = campaign()
    run_of(file, perform).go()
    before = {path: path.read_bytes() for path in Path(file.parent / "results" / "experiments").rglob("*.zst")}
    progress = run_of(file, perform).go()
    assert (progress.done, progress.endings.total()) == (3, 0)
    assert {path: path.read_bytes() for path in before} == before
    perform.acts = {}
    assert run_of(file, perform).go(again={"failed"}).endings == {"nothing": 1}
    assert perform.calls["rl"] == 1


def test_what_nobody_accepted_stops_the_campaign_and_counts_as_no_result(campaign: Write) -> None:
    def unaccepted(_count: int) -> str:
        raise NotAcceptedError("this was not accepted")

    perform = StandIn(pc=unaccepted)
    run = run_of(campaign(), perform, workers=1)
    with pytest.raises(NotAcceptedError):
        run.go()
    assert perform.calls["pc"] == 1
    assert not any(row["evidence"] == "pc" for row in run.results.rows())


def test_one_campaign_at_a_time_uses_a_folder_of_results(campaign: Write) -> None:
    run = run_of(campaign(), StandIn())
    with run.results.alone(), pytest.raises(ResultsError, match="running already"):
        run.go()
    assert run.go().done == 3


def test_a_backends_limit_holds_however_many_workers_there_are(campaign: Write) -> None:
    together = threading.Barrier(2, timeout=0.3)

    def meets(_count: int) -> str:
        try:
            together.wait()
        except threading.BrokenBarrierError:
            return "nothing"
        return "refuted"

    file = campaign(evidence=("pc", "rl", "pc+rl"), repetitions=2)
    perform = StandIn(**dict.fromkeys(("pc", "rl", "pc+rl"), meets))
    assert run_of(file, perform, workers=4, lane=Lane("catalogue", concurrent=1)).go().endings == {"nothing": 6}
    assert perform.most == 1


def test_a_damaged_result_is_told_with_its_file(campaign: Write) -> None:
    run = run_of(campaign(), StandIn())
    run.go()
    [victim, *_] = sorted(run.results.keys())
    run.results.place(victim).write_bytes(b"not a result")
    with pytest.raises(ResultsError, match=r"\.jsonl\.zst.*runs its experiment again"):
        run.results.row(victim)


def test_a_missing_package_says_precisely_what_to_install() -> None:
    with pytest.raises(MissingPackageError, match=r"pip install 'optimas-lsp\[campaign\]'"):
        load("parsl_that_is_not_there", "running a campaign")
    assert load("parsl", "running a campaign").__name__ == "parsl"


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_result_that_cannot_be_read_is_told_and_made_again(campaign: Write, content: bytes | None) -> None:
    stand_in = StandIn()
    run = run_of(campaign(), stand_in)
    run.go()
    key, other = (each.key for each in run.experiments[:2])
    place = run.results.place(key)
    place.write_bytes(run.results.place(other).read_bytes() if content is None else content)
    if content is not None:
        with pytest.raises(ResultsError, match="no result of an experiment"):
            run.results.row(key)
    assert [each.key for each in run.left()] == [key]
    run.go()
    assert run.results.row(key)["key"] == key
    assert sum(stand_in.calls.values()) == len(run.experiments) + 1
