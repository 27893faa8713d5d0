"""Runs what of a plan is not finished: hands experiments to Parsl as limits allow, keeps count, resumes by content."""

from __future__ import annotations

import functools
import queue
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from optimas_lsp.campaign.design import EngineEntry
from optimas_lsp.campaign.engine import HOPELESS, Engine, EngineError, Perform
from optimas_lsp.campaign.experiment import Experiment
from optimas_lsp.campaign.faults import Faults
from optimas_lsp.campaign.pace import Lane, Pace, questions
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.campaign.progress import Progress
from optimas_lsp.campaign.results import Results
from optimas_lsp.campaign.row import row_of_error
from optimas_lsp.campaign.worker import perform as rewrite
from optimas_lsp.campaign.worker import skipped, summary_of, task_of
from optimas_lsp.errors import OptimasError

Tell = Callable[[Progress, Experiment], None]

LONGEST_WAIT_S = 0.5
"""The longest the loop sleeps, so that a Ctrl-C is heard (seconds)."""

Ended = tuple[Experiment, "Future[dict[str, Any]]"]


@dataclass(frozen=True)
class Run:
    """One go at a plan. ``tell`` hears of each experiment that ends, when its result is kept.

    ``perform`` is what a worker does; it must be importable by name where workers are other processes.
    """

    experiments: Sequence[Experiment]
    lanes: Sequence[Lane]
    engine: EngineEntry
    results: Results
    perform: Perform = rewrite
    tell: Tell = lambda _progress, _experiment: None
    where: str = "campaign.toml"

    def go(self, again: Collection[str] = ()) -> Progress:
        """Run all that is not finished, and once more what ended as ``again`` says; returns the counts.

        An experiment that fails is a result. However this ends, every process is ended first. Raises EngineError when
        Parsl itself cannot go on, NotAcceptedError, ResultsError; and KeyboardInterrupt.
        """
        with self.results.alone():
            waiting = self.left(again)
            progress = Progress(total=len(self.experiments), before=len(self.experiments) - len(waiting))
            if "program-failed" in again:
                self.faults.forget((each.unchanged, each.axes) for each in waiting)
            if waiting:
                engine = Engine.start(self.engine, self.results.folder, where=self.where)
                try:
                    self._loop(engine, Pace(self.lanes, waiting, time.monotonic), progress)
                finally:
                    engine.close()
            return progress

    @property
    def faults(self) -> Faults:
        """Which programs are known to fail unchanged."""
        return Faults(self.results)

    def left(self, again: Collection[str] = ()) -> tuple[Experiment, ...]:
        """What is not finished or cannot be read, and what ended as ``again`` says: a result stays until the next takes
        its place."""
        there = self.results.keys() & {each.key for each in self.experiments}
        rows = ((key, self.results.sound(key)) for key in there)
        done = {key for key, row in rows if row is not None and row["ending"] not in again}
        return tuple(each for each in self.experiments if each.key not in done)

    def _loop(self, engine: Engine, pace: Pace, progress: Progress) -> None:
        ends: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        limit_s = self.engine.time_limit_s
        self._skip(pace, progress)
        while pace.waiting or progress.under_way:
            while progress.under_way < engine.outstanding and (experiment := pace.next()) is not None:
                future = engine.submit(self.perform, task_of(experiment, self.results, limit_s, engine.gpus))
                progress.under_way += 1
                future.add_done_callback(functools.partial(_ended, ends, experiment))
            try:
                experiment, future = ends.get(timeout=min(LONGEST_WAIT_S, pace.wait_s() or LONGEST_WAIT_S))
            except queue.Empty:
                engine.check()
                continue
            progress.under_way -= 1
            pace.finished(experiment)
            summary = self._result(engine, experiment, future)
            progress.finished(str(summary["ending"]), summary["cost_usd"])
            self.tell(progress, experiment)
            if summary["ending"] == "program-failed":
                self._skip(pace, progress)

    def _skip(self, pace: Pace, progress: Progress) -> None:
        """End what waits and need not be run, whatever its backend's limits: its program is known to fail unchanged."""
        known = functools.cache(self.faults.of)
        for each in pace.take(lambda waiting: known(waiting.unchanged, waiting.axes) is not None):
            fault = known(each.unchanged, each.axes)
            if fault is not None:
                skipped(each.key, each.axes, fault, self.results)
                progress.finished("program-failed", None)
                self.tell(progress, each)

    def _result(self, engine: Engine, experiment: Experiment, future: Future[dict[str, Any]]) -> dict[str, Any]:
        """How the experiment ended; one that was lost on every try is a failure that is kept, too."""
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, HOPELESS):
            raise error
        if engine.broken(error):
            raise EngineError(
                f"Parsl cannot go on: {' '.join(str(error).split())[:500]}",
                where=self.where,
                remedy=f"look at [engine] and at {self.results.folder / 'parsl'}, then start the campaign again",
            ) from None
        sentence = error.sentence() if isinstance(error, OptimasError) else f"{type(error).__name__}: {error}"
        row = row_of_error(experiment.key, experiment.axes, type(error).__name__, sentence[:1000], {})
        self.results.keep(row.key, row.model_dump(mode="json", by_alias=True), None)
        return summary_of(row)


def _ended(ends: queue.SimpleQueue[Ended], experiment: Experiment, future: Future[dict[str, Any]]) -> None:
    ends.put((experiment, future))


def lanes_of(plan: Plan) -> list[Lane]:
    """One lane a backend; an experiment counts for as many requests as the one of its lane that may ask most often."""
    loaded, campaign = plan.loaded, plan.loaded.campaign
    return [
        Lane(
            backend.name,
            backend.concurrent,
            backend.requests_per_minute,
            max(
                questions(loaded.settings(program, backend, device))
                for program in loaded.programs
                for device in campaign.device
            ),
        )
        for backend in campaign.backend
    ]


def run_of(plan: Plan, *, tell: Tell = lambda _progress, _experiment: None) -> Run:
    """The run of a plan into its own results."""
    campaign = plan.loaded.campaign
    return Run(
        plan.experiments,
        lanes_of(plan),
        campaign.engine,
        Results(plan.loaded.results),
        tell=tell,
        where=str(plan.loaded.file),
    )
