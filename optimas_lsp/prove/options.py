"""What a job is told beyond the program: how times are taken, what is profiled again, what a short proof leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from optimas_lsp.config import Prove
from optimas_lsp.profile.model import Profile
from optimas_lsp.profile.ncu import SECTIONS
from optimas_lsp.prove.runner.job import TIMING
from optimas_lsp.prove.target import Target

SHORT_GATES = ("static", "build", "determinism", "run", "compare", "time")
"""What a short proof climbs. The others are required, so no short proof ever says proven."""

SHORT_TIMING = {"min_pairs": 3, "max_pairs": 15, "precision": 0.02, "budget_s": 30.0}
"""Enough to tell candidates apart (``benchmarks/race.py``); what they really gain is measured by the whole proof."""

MOST_LAUNCHES = 10
"""Launches that a new profile holds at most."""


def timing_of(settings: Prove) -> dict[str, Any]:
    """The settings about time as the job's ``timing``, without what is the runner's default anyway."""
    named: dict[str, Any] = {
        "min_effect": settings.minimum_effect,
        "level": settings.confidence,
        "precision": settings.precision,
        "min_pairs": settings.minimum_pairs,
        "max_pairs": max(settings.minimum_pairs, settings.maximum_pairs),
        "budget_s": settings.timing_seconds,
    }
    found = {name: value for name, value in named.items() if value != TIMING[name]}
    return {**found, **({"any_slower": "reject"} if settings.any_slower == "reject" else {})}


def whole_proof(settings: Prove, target: Target, reprofile: Sequence[str] = ()) -> dict[str, Any]:
    """The options of a proof that decides. ``reprofile``: ncu's arguments, or nothing when no profile is wanted."""
    options: dict[str, Any] = {}
    timing = timing_of(settings)
    if timing:
        options["timing"] = timing
    if settings.time_inputs == "all" and len(target.inputs) > 1:
        options["time_inputs"] = list(target.inputs)
        options["timing"] = {**timing, "every_input": True}  # asked for all, people want to know all
    if reprofile:
        options["reprofile"] = list(reprofile)
    return options


def short_proof(settings: Prove, best: float | None) -> dict[str, Any]:
    """The options of a proof that only compares candidates: fewer gates, fewer runs, an early end for who is beaten.

    ``best``: how many times shorter the best candidate so far is, at the least; None: there is none.
    """
    timing = {"min_effect": settings.minimum_effect, **SHORT_TIMING, "race": {"best": best}}
    return {"gates": list(SHORT_GATES), "timing": timing}


def only_timed(target: Target) -> Target:
    """The target with the one input that is timed: a candidate that is wrong on others fails in its whole proof."""
    name = target.time_input or next(iter(target.inputs))
    return target.model_copy(update={"inputs": {name: target.inputs[name]}, "time_input": name, "sanitize_input": None})


def ncu_arguments(profile: Profile, kernels: Sequence[str]) -> tuple[str, ...]:
    """What ncu is told so that both new profiles hold what every insight needs, of as many launches as ``profile`` has.

    ``kernels`` are mangled names.
    """
    arguments: list[str] = []
    for section in SECTIONS:
        arguments += ["--section", section]
    arguments += ["--import-source", "yes"]
    if kernels:
        names = "|".join(re.escape(name) for name in kernels)
        arguments += ["--kernel-name-base", "mangled", "--kernel-name", f"regex:^({names})$"]
    wanted = sum(not kernels or profile.kernels[launch.kernel].mangled in kernels for launch in profile.launches)
    return (*arguments, "--launch-count", str(max(1, min(wanted, MOST_LAUNCHES))))
