"""What a campaign would take before anything runs: commands and destinations, experiments, time, tokens, money.

Reads the reports and builds the prompts; nothing is sent or run.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from optimas_lsp.campaign.ending import WITHOUT_OUTCOME
from optimas_lsp.campaign.engine import workers_of
from optimas_lsp.campaign.experiment import Experiment
from optimas_lsp.campaign.plan import Plan
from optimas_lsp.config import Settings
from optimas_lsp.course.course import Course
from optimas_lsp.course.program import Open, open_report
from optimas_lsp.profile.model import Profile
from optimas_lsp.prove.executors.making import make_executor
from optimas_lsp.prove.inference import NoTargetError, Wanted, find_target
from optimas_lsp.prove.proving import Prover
from optimas_lsp.rewrite.backends.model import BackendError, Destination, Usage
from optimas_lsp.rewrite.backends.model import Request as Asked
from optimas_lsp.rewrite.backends.prices import priced
from optimas_lsp.rewrite.consent import Action, Run, Send
from optimas_lsp.rewrite.prompt import EvidenceMissingError, build_prompt
from optimas_lsp.rewrite.subsets import parse_subset

ANSWER_TOKENS = 2_000
"""A short answer: one function of some 100 lines with its reasons. Used for the lower bound of the cost."""

ASSUMED_S = {"proof": 150.0, "build": 15.0, "neither": 3.0}
"""Seconds of an experiment before any of its kind has run, with the catalogue, when it proves, builds or does neither.
Proofs of the samples took 45 to 110 s on an H200 (samples/*/outcomes.json)."""

ASSUMED_MODEL_S = 60.0
"""Seconds that a model takes for one answer, likewise."""


@dataclass(frozen=True)
class Money:
    """Tokens and USD from one short answer each (``low``) to every try with the longest answer (``high``).

    ``unknown`` are models without a price.
    """

    low_usd: float = 0.0
    high_usd: float = 0.0
    low_tokens: int = 0
    high_tokens: int = 0
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """``seconds`` of the wall with all workers; ``measured`` says whether finished experiments are the ground for it.

    ``missing`` counts experiments whose report has no evidence of the kind: they end at once.
    """

    experiments: int
    finished: int
    missing: int
    seconds: float
    measured: bool
    workers: int
    money: Money
    actions: dict[Path, tuple[Action, ...]]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Look:
    """One kernel asked of one backend on one device: what would be done, and the prompt's tokens by subset."""

    actions: tuple[Action, ...]
    destination: Destination | None
    settings: Settings
    tokens: Mapping[str, int | None]
    problem: str = ""


def estimate(plan: Plan, rows: Iterable[Mapping[str, Any]], *, strict: bool = False) -> Estimate:
    """Look at every program and kernel once; ``rows`` are the results so far.

    A backend that cannot be used yet, for want of a key, is among the ``problems``, or raised if ``strict``. Raises
    OptimasError as ``Course.of`` does.
    """
    looks: dict[tuple[str, ...], _Look] = {}
    reader = _Reader()
    actions: dict[Path, dict[str, Action]] = {}
    for each in plan.experiments:
        name = _same(each)
        if name not in looks:
            subsets = tuple(plan.loaded.campaign.design.evidence)
            looks[name] = _look(each, subsets, reader.open, strict=strict)
        folder = each.request.folder or each.request.source.parent
        for action in looks[name].actions:
            actions.setdefault(folder, {})[action.identity()] = action
    if plan.experiments:
        for action in _beside(plan):
            actions.setdefault(plan.loaded.file.parent, {})[action.identity()] = action
    done = {str(row["key"]): row for row in rows}
    left = [each for each in plan.experiments if each.key not in done]
    seconds, measured = _seconds(left, list(done.values()), looks)
    workers = workers_of(plan.loaded.campaign.engine)
    return Estimate(
        experiments=len(plan.experiments),
        finished=len(plan.experiments) - len(left),
        missing=sum(looks[_same(each)].tokens[each.axes.evidence] is None for each in left),
        seconds=max([sum(seconds) / workers, *seconds], default=0.0),
        measured=measured,
        workers=workers,
        money=_money(left, looks),
        actions={folder: tuple(each.values()) for folder, each in actions.items()},
        problems=tuple(dict.fromkeys(each.problem for each in looks.values() if each.problem)),
    )


class _Reader:
    """Opens each report once."""

    def __init__(self) -> None:
        self._open: dict[tuple[Path, str], Profile] = {}

    def open(self, report: Path, settings: Settings) -> Profile:
        """The profile in ``report``."""
        name = report, settings.profiles.model_dump_json()
        if name not in self._open:
            self._open[name] = open_report(report, settings)
        return self._open[name]


def _same(experiment: Experiment) -> tuple[str, ...]:
    axes = experiment.axes
    return axes.program, axes.kernel, axes.backend, axes.device


def _look(experiment: Experiment, subsets: tuple[str, ...], open_: Open, *, strict: bool) -> _Look:
    request = experiment.request.model_copy(update={"evidence": "all"})
    settings = Settings.model_validate(request.settings)
    problem = ""
    try:
        course = Course.of(request, open_=open_)
    except BackendError as error:
        if strict:
            raise
        problem = error.sentence()
        catalogue = settings.rewrite.model_copy(update={"backend": "catalogue"})
        other = settings.model_copy(update={"rewrite": catalogue}).model_dump(mode="json")
        course = Course.of(request.model_copy(update={"settings": other}), open_=open_)
    tokens: dict[str, int | None] = {}
    for name in subsets:
        try:
            prompt = build_prompt(
                course.subject,
                subset=parse_subset(name),
                max_tokens=settings.rewrite.prompt_tokens,
                allow=settings.rewrite.allow,
            )
        except EvidenceMissingError:
            tokens[name] = None
        else:
            tokens[name] = prompt.tokens
    actions = (*course.actions, *_proof(course, request.build and request.prove))
    rewrite, destination = settings.rewrite, course.backend.destination
    if problem:
        where = rewrite.base_url or f"the service of {rewrite.backend}"
        destination = Destination(backend=rewrite.backend, where=where, model=rewrite.model)
        size = Asked(prompt=course.prompt).size
        actions = (Send(backend=rewrite.backend, destination=where, model=rewrite.model, size=size), *actions)
    return _Look(actions, destination, settings, tokens, problem)


def _proof(course: Course, prove: bool) -> tuple[Action, ...]:
    """What a proof runs where there is a GPU, even if this machine has none: workers may."""
    if not prove or course.prover is not None:
        return ()
    folder, subject = course.program.folder, course.subject
    try:
        found = find_target(Wanted.of(folder, subject.home.path, subject.profile))
    except NoTargetError:
        return ()
    settings = course.program.settings
    executor = make_executor(settings.prove, folder)
    prover = Prover(folder, subject, found.target, executor, inferred=found.sentences, settings=settings)
    return () if prover.action is None else (prover.action,)


def _beside(plan: Plan) -> tuple[Action, ...]:
    """What is run for the campaign as a whole: the connections of its devices, and how its pilot jobs are started."""
    campaign = plan.loaded.campaign
    found: list[Action] = []
    for device in campaign.device:
        if device.executor == "ssh":
            words = [str(each) for each in device.settings.get("ssh_options", ())]
            command = ("ssh", *words, str(device.settings.get("host", "")))
            found.append(Run(commands=(command,), why=f"not in the copy: to reach the device '{device.name}'"))
    engine = campaign.engine
    if engine.kind == "htex":
        told = {**engine.provider, **engine.options}
        command = ("parsl", *(f"{key}={value}" for key, value in sorted(told.items())))
        found.append(Run(commands=(command,), why="not in the copy: Parsl starts its pilot jobs so"))
    return tuple(found)


def _seconds(
    left: list[Experiment], done: list[Mapping[str, Any]], looks: Mapping[tuple[str, ...], _Look]
) -> tuple[list[float], bool]:
    """Seconds of each experiment that is left: medians of finished ones like it, else of the assumption.

    What was served from records or not run says nothing of an experiment that will be proven.
    """
    known: dict[tuple[bool, tuple[str, ...]], list[float]] = {}
    for row in done:
        if row.get("total_s") is not None and row["ending"] not in WITHOUT_OUTCOME:
            open_ = bool(row.get("recorded")) or row["ending"] == "not-proven"
            gates = cast("dict[str, str]", row.get("gates") or {})
            proven = not open_ and gates.get("determinism") in {"pass", "fail"}
            for level, name in enumerate(_alike(row)):
                known.setdefault((False, name), []).append(float(row["total_s"]))
                if proven or (level == 0 and not open_):  # its kernel needed no proof, others may
                    known.setdefault((True, name), []).append(float(row["total_s"]))
    medians = {name: statistics.median(values) for name, values in known.items()}
    found: list[float] = []
    measured = False
    for each in left:
        look = looks[_same(each)]
        if look.tokens[each.axes.evidence] is None:
            found.append(1.0)
            continue
        proof = _kind(each, look) == "proof"
        likely = next((medians[proof, name] for name in _alike(each.axes.plain()) if (proof, name) in medians), None)
        measured = measured or likely is not None
        found.append(_assumed(each, look) if likely is None else likely)
    return found, measured


def _alike(axes: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """From the most to the least alike."""
    return (
        tuple(str(axes[name]) for name in ("program", "kernel", "backend", "device")),
        tuple(str(axes[name]) for name in ("program", "backend", "device")),
        tuple(str(axes[name]) for name in ("backend", "device")),
    )


def _kind(experiment: Experiment, look: _Look) -> str:
    request = experiment.request
    recorded = look.settings.prove.executor == "recorded"
    return "proof" if request.build and request.prove and not recorded else "build" if request.build else "neither"


def _assumed(experiment: Experiment, look: _Look) -> float:
    return ASSUMED_S[_kind(experiment, look)] + (ASSUMED_MODEL_S if look.destination is not None else 0.0)


def _money(left: list[Experiment], looks: Mapping[tuple[str, ...], _Look]) -> Money:
    low_usd = high_usd = 0.0
    low_tokens = high_tokens = 0
    unknown: Counter[str] = Counter()
    for each in left:
        look = looks[_same(each)]
        asked, destination = look.tokens[each.axes.evidence], look.destination
        if asked is None or destination is None:
            continue
        rewrite = look.settings.rewrite
        tries, longest = rewrite.attempts, rewrite.max_tokens
        samples, series = rewrite.samples, rewrite.samples * look.settings.search.rounds
        low = Usage(input_tokens=samples * asked, output_tokens=samples * min(ANSWER_TOKENS, longest))
        again = sum(asked + number * longest for number in range(tries))  # each try sends the answers before it
        high = Usage(input_tokens=series * again, output_tokens=series * tries * longest)
        low_tokens += samples * (asked + min(ANSWER_TOKENS, longest))
        high_tokens += series * (again + tries * longest)
        prices = [priced(usage, destination, rewrite).cost_usd for usage in (low, high)]
        if prices[0] is None or prices[1] is None:
            unknown[each.axes.model or each.axes.backend] += 1
            continue
        low_usd += prices[0]
        high_usd += prices[1]
    return Money(low_usd, high_usd, low_tokens, high_tokens, tuple(unknown))
