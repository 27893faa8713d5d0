"""Which counters explain the run time over several launches: ensemble orthogonal matching pursuit.

The method is that of Optimas (arXiv 2604.23892) and Opal (arXiv 2510.00932). Counters are the columns of a dictionary
D, scaled to unit L2 norm; the run time is Y. One member starts with the residual r = Y and repeats, at most ``steps``
times: of the ``draw_from`` counters with the largest |Dᵀr| not yet chosen, draw one with probability proportional to
that value; refit Y on the chosen set; update r; stop when r is negligible. A counter's coefficient α is the mean over
all members, its score max(0, (‖Y‖ − ‖Y − D α‖) / ‖Y‖).

Four things are ours. A member chooses at most one counter for every three observations. Counters too collinear to tell
apart enter as one and are reported together. Columns that do not change between launches are left out, because they
cannot explain a difference. The interval of a score comes from a second ensemble whose members see resampled
observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from optimas_lsp.insight.pursuit import Floats, Refit, pursue

MINIMUM_OBSERVATIONS = 8
"""Fewer launches than this give no ranking: with fewer, chance alone picks a perfect-looking counter."""

MINIMUM_SPREAD = 0.02
"""A run time whose standard deviation is below this share of its mean is constant: what is left is noise."""


@dataclass(frozen=True)
class Search:
    """How the ensemble searches. ``collinear`` is the cosine from which two counters count as one."""

    members: int = 2500
    steps: int = 15
    draw_from: int = 3
    refit: Refit = "nnls"
    seed: int = 20_260_423
    collinear: float = 0.999
    resamples: int = 40
    members_per_resample: int = 25


@dataclass(frozen=True)
class Scored:
    """One counter with what the ensemble says of it; fields as in ``insight.evidence.CounterScore``."""

    name: str
    coefficient: float
    score: float
    low: float
    high: float
    selected: float
    together: tuple[str, ...]


Reason = Literal["not-finite", "all-zero", "constant"]


@dataclass(frozen=True)
class Ranking:
    """Every counter that was chosen at least once, best first, and what was left out and why."""

    counters: tuple[Scored, ...]
    observations: int
    explained: float
    left_out: dict[Reason, tuple[str, ...]] = field(default_factory=dict[Reason, tuple[str, ...]])


@dataclass(frozen=True)
class NoRanking:
    """Why there is no ranking, as a word for programs and a sentence for people."""

    why: Literal["too-few-observations", "constant-target", "no-counters"]
    text: str
    observations: int


def rank(names: Sequence[str], counters: Floats, times: Floats, search: Search | None = None) -> Ranking | NoRanking:
    """Rank counters by how much of the run time they explain.

    ``counters`` has shape (observations, counters), ``times`` (observations,), any unit as long as it is the same in
    every row. Observations without a finite, positive time are dropped; so are counters with a value that is not finite
    in any remaining observation, all-zero ones and those that never change. Raises ValueError if shapes disagree.
    """
    search = search or Search()
    if counters.ndim != 2 or times.shape != counters.shape[:1] or len(names) != counters.shape[1]:
        raise ValueError(
            f"{len(names)} names, counters {counters.shape} and times {times.shape} do not belong together"
        )
    usable = np.isfinite(times) & (times > 0)
    rows, y = counters[usable].astype(np.float64), times[usable].astype(np.float64)
    refused = _refuse(y)
    if refused is not None:
        return refused
    keep, left_out = _usable_columns(names, rows)
    if not keep:
        return NoRanking(
            "no-counters",
            f"none of the {len(names)} counters has a value in every launch and changes between launches",
            y.size,
        )
    kept = [names[k] for k in keep]
    leaders, followers = group_collinear(rows[:, keep], y, search.collinear)
    dictionary = np.ascontiguousarray(rows[:, keep][:, leaders])
    scores = _ensemble(dictionary, y, search)
    unit = dictionary / np.linalg.norm(dictionary, axis=0)
    explained = 1.0 - float(np.var(y - unit @ scores.coefficients) / np.var(y))
    order: list[int] = np.lexsort((-scores.selected, -scores.score)).tolist()
    return Ranking(
        counters=tuple(
            Scored(
                name=kept[leaders[k]],
                coefficient=float(scores.coefficients[k]),
                score=float(scores.score[k]),
                low=float(min(scores.low[k], scores.score[k])),
                high=float(max(scores.high[k], scores.score[k])),
                selected=float(scores.selected[k]),
                together=tuple(kept[m] for m in followers[k]),
            )
            for k in order
            if scores.selected[k] > 0
        ),
        observations=int(y.size),
        explained=max(0.0, min(1.0, explained)),
        left_out=left_out,
    )


def _refuse(y: Floats) -> NoRanking | None:
    if y.size < MINIMUM_OBSERVATIONS:
        return NoRanking(
            "too-few-observations",
            f"{y.size} launch{'' if y.size == 1 else 'es'} with a run time are too few to rank counters; at least "
            f"{MINIMUM_OBSERVATIONS} of different sizes or inputs are needed (optimas profile --sweep makes them)",
            int(y.size),
        )
    spread = float(np.std(y) / np.mean(y))
    if spread < MINIMUM_SPREAD:
        return NoRanking(
            "constant-target",
            f"the run time of the {y.size} launches varies by {spread:.1%} only, so there is no difference for a "
            "counter to explain; profile different sizes or inputs (optimas profile --sweep)",
            int(y.size),
        )
    return None


def _usable_columns(names: Sequence[str], rows: Floats) -> tuple[list[int], dict[Reason, tuple[str, ...]]]:
    keep: list[int] = []
    left_out: dict[Reason, list[str]] = {}
    for k, name in enumerate(names):
        column = rows[:, k]
        if not bool(np.isfinite(column).all()):
            left_out.setdefault("not-finite", []).append(name)
        elif not bool(column.any()):
            left_out.setdefault("all-zero", []).append(name)
        elif float(np.ptp(column)) <= 1e-9 * float(np.abs(column).max()):
            left_out.setdefault("constant", []).append(name)
        else:
            keep.append(k)
    return keep, {reason: tuple(listed) for reason, listed in left_out.items()}


def group_collinear(rows: Floats, y: Floats, cosine: float) -> tuple[list[int], list[list[int]]]:
    """Columns that cannot be told apart: leaders and, for each, the other columns within ``cosine`` of it.

    Columns are visited from the most to the least correlated with ``y``; each becomes a leader unless an earlier one
    already speaks for it, so the column that stands for a group is the one closest to the run time.
    """
    unit = rows / np.linalg.norm(rows, axis=0)
    order = np.argsort(-np.abs(unit.T @ y), kind="stable")
    gram = unit.T @ unit
    free = np.ones(unit.shape[1], dtype=bool)
    leaders: list[int] = []
    members: list[list[int]] = []
    for column in order:
        if not free[column]:
            continue
        free[column] = False
        near = np.flatnonzero(free & (gram[column] >= cosine))
        free[near] = False
        leaders.append(int(column))
        members.append([int(k) for k in near])
    return leaders, members


@dataclass(frozen=True)
class _Scores:
    """Columns over the dictionary's counters."""

    coefficients: Floats
    selected: Floats
    score: Floats
    low: Floats
    high: Floats


def _ensemble(dictionary: Floats, y: Floats, search: Search) -> _Scores:
    random = np.random.default_rng(search.seed)
    how = {"steps": search.steps, "draw_from": search.draw_from}
    once = np.ones((1, y.size))
    main = pursue(dictionary, y, once, random, members=search.members, refit=search.refit, **how)
    draws = random.multinomial(y.size, np.full(y.size, 1.0 / y.size), size=search.resamples).astype(np.float64)
    again = pursue(dictionary, y, draws, random, members=search.members_per_resample, refit=search.refit, **how)
    resampled = np.stack([solo_scores(dictionary, y, again.coefficients[k], draws[k]) for k in range(search.resamples)])
    low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
    score = solo_scores(dictionary, y, main.coefficients[0])
    return _Scores(main.coefficients[0], main.frequency[0], score, low, high)


def solo_scores(dictionary: Floats, y: Floats, coefficients: Floats, weights: Floats | None = None) -> Floats:
    """Score of each counter: max(0, (‖Y‖ − ‖Y − d α‖) / ‖Y‖), each alone with its ensemble coefficient.

    ``weights`` (observations,) counts how often each observation was drawn. With unit columns
    ‖Y − dα‖² = ‖Y‖² − 2α dᵀY + α², so no residual is formed.
    """
    weighted = np.ones_like(y) if weights is None else weights
    norms = np.sqrt(weighted @ dictionary**2)
    norms[norms == 0] = 1.0
    length = float(np.sqrt(weighted @ y**2))
    along = ((weighted * y) @ dictionary) / norms
    squared = np.maximum(length**2 - 2 * coefficients * along + coefficients**2, 0.0)
    return np.maximum(0.0, (length - np.sqrt(squared)) / length)
