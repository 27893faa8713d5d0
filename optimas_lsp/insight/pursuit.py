"""Many randomised matching pursuits at once: every member of an ensemble advances one step in the same NumPy calls.

Members of one *group* see the same observations, each counted ``weights[group]`` times (1 for all, or the draws of a
resample). Weighting row n by √w makes every least-squares problem an ordinary one, so D, Y and residuals below are the
weighted ones and columns have unit norm within their group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Refit = Literal["nnls", "ls"]

NEGLIGIBLE = 1e-3
"""A member stops when its residual, or the best correlation left, is below this share of ‖Y‖: no GPU time repeats
more closely than to a thousandth, so what is left is noise."""


OBSERVATIONS_A_COUNTER = 3
"""A member chooses no more counters than it has this many observations for each."""


@dataclass(frozen=True)
class Pursuit:
    """Means over the members of each group, shape (groups, counters): coefficients of unit columns, and how often
    each counter was chosen."""

    coefficients: Floats
    frequency: Floats


def pursue(
    dictionary: Floats,
    y: Floats,
    weights: Floats,
    random: np.random.Generator,
    *,
    members: int,
    steps: int,
    draw_from: int,
    refit: Refit,
) -> Pursuit:
    """Run ``members`` pursuits in every group of ``weights`` (groups, observations).

    ``dictionary`` is (observations, counters), ``y`` (observations,). A member chooses at most ``steps`` counters, and
    at most one for every OBSERVATIONS_A_COUNTER distinct observations: with more, a fit is close whatever was chosen.
    """
    groups, count = weights.shape[0], dictionary.shape[1]
    state = _Members(dictionary, y, weights, members)
    distinct = np.count_nonzero(weights > 0, axis=1)
    limit = np.minimum(min(steps, count), np.maximum(1, distinct // OBSERVATIONS_A_COUNTER))[state.group]
    most = int(limit.max(initial=0))
    for step in range(most):
        size, candidates = _strongest(state.correlations(), min(draw_from, count - step))
        state.active &= (size[:, 0] > NEGLIGIBLE * state.length) & (step < limit)
        if not state.active.any():
            break
        state.choose(step, _draw(size, candidates, random), refit)
    coefficients = np.zeros((groups, count))
    chosen = np.zeros((groups, count))
    group = np.repeat(state.group, state.picks.shape[1]).reshape(state.picks.shape)
    real = state.picks >= 0
    np.add.at(coefficients, (group[real], state.picks[real]), state.alpha[real])
    np.add.at(chosen, (group[real], state.picks[real]), 1.0)
    return Pursuit(coefficients / members, chosen / members)


def _strongest(size: Floats, most: int) -> tuple[Floats, Indices]:
    """The ``most`` largest entries of each row, largest first (``size`` is overwritten): values and columns."""
    rows: Indices = np.arange(len(size), dtype=np.intp)
    best = np.empty((size.shape[0], most))
    where = np.empty((size.shape[0], most), dtype=np.intp)
    for k in range(most):
        where[:, k] = np.argmax(size, axis=1)
        best[:, k] = size[rows, where[:, k]]
        size[rows, where[:, k]] = -1.0
    return np.maximum(best, 0.0), where


def _draw(size: Floats, candidates: Indices, random: np.random.Generator) -> Indices:
    """One candidate a row, with probability proportional to its size."""
    edges = np.cumsum(size, axis=1)
    at: Floats = random.random(len(size)) * edges[:, -1]
    picked = np.minimum(np.count_nonzero(at[:, None] >= edges, axis=1), size.shape[1] - 1)
    return candidates[np.arange(len(size)), picked]


class _Members:
    """State of all members: chosen columns, their fit and what is left of Y."""

    def __init__(self, dictionary: Floats, y: Floats, weights: Floats, members: int) -> None:
        groups, observations = weights.shape
        self.group: Indices = np.repeat(np.arange(groups, dtype=np.intp), members)
        self.root: Floats = np.sqrt(weights)
        self.plain = dictionary
        norms = np.sqrt(weights @ dictionary**2)
        self.scale: Floats = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        total = self.group.size
        self.rows: Indices = np.arange(total, dtype=np.intp)
        self.residual: Floats = (self.root * y)[self.group]
        self.target: Floats = self.residual.copy()
        self.length: Floats = np.linalg.norm(self.residual, axis=1)
        self.active: NDArray[np.bool_] = np.ones(total, dtype=bool)
        self.picks: Indices = np.full((total, 0), -1, dtype=np.intp)
        self.alpha: Floats = np.zeros((total, 0))
        self.columns: Floats = np.zeros((total, 0, observations))
        self.gram: Floats = np.zeros((total, 0, 0))
        self.along: Floats = np.zeros((total, 0))

    def correlations(self) -> Floats:
        """|Dᵀr| of every member and counter, chosen ones at −1; shape (members, counters)."""
        weighted = self.residual * self.root[self.group]
        size = weighted @ self.plain
        np.abs(size, out=size)
        if self.scale.shape[0] == 1:
            size *= self.scale
        else:
            size *= self.scale[self.group]
        if self.picks.shape[1]:
            member, slot = np.nonzero(self.picks >= 0)
            size[member, self.picks[member, slot]] = -1.0
        return size

    def choose(self, step: int, picked: Indices, refit: Refit) -> None:
        """Add one column to every active member and refit; the others keep what they have."""
        picked = np.where(self.active, picked, -1)
        new = self.plain.T[picked] * self.root[self.group] * self.scale[self.group, picked][:, None]
        new[~self.active] = 0.0
        cross = np.matmul(self.columns, new[:, :, None])[:, :, 0]
        size = step + 1
        gram = np.zeros((self.rows.size, size, size))
        gram[:, :step, :step] = self.gram
        gram[:, step, :step] = gram[:, :step, step] = cross
        gram[:, step, step] = 1.0
        self.gram = gram
        self.columns = np.concatenate((self.columns, new[:, None, :]), axis=1)
        self.along = np.concatenate((self.along, np.einsum("mn,mn->m", new, self.target)[:, None]), axis=1)
        self.picks = np.concatenate((self.picks, picked[:, None]), axis=1)
        start = np.concatenate((self.alpha > 0, self.active[:, None]), axis=1)
        self.alpha = np.concatenate((self.alpha, np.zeros((self.rows.size, 1))), axis=1)
        live = np.flatnonzero(self.active)
        if refit == "ls":
            self.alpha[live] = _solve(self.gram[live], self.along[live])
        else:
            self.alpha[live] = non_negative(self.gram[live], self.along[live], start[live])
        self.residual[live] = self.target[live] - np.matmul(self.alpha[live, None, :], self.columns[live])[:, 0, :]
        self.active &= np.linalg.norm(self.residual, axis=1) > NEGLIGIBLE * self.length


RIDGE = 1e-12
"""Added to the diagonal of Gram matrices of unit columns, so that a dependent column costs accuracy, not a crash."""


def _solve(gram: Floats, along: Floats) -> Floats:
    solved: Floats = np.linalg.solve(gram + RIDGE * np.eye(gram.shape[1]), along[:, :, None]).astype(
        np.float64, copy=False
    )
    return solved[:, :, 0]


def non_negative(gram: Floats, along: Floats, passive: NDArray[np.bool_]) -> Floats:
    """Batched non-negative least squares by block principal pivoting (Kim and Park, SIAM J. Sci. Comput. 33, 2011).

    ``gram`` (problems, k, k) and ``along`` (problems, k) are DᵀD and DᵀY; ``passive`` is the start: which coefficients
    are positive. All infeasible coefficients change sides at once; a problem that this does not improve within three
    exchanges changes only the last one, which always ends.
    """
    problems, size = along.shape
    result = np.zeros((problems, size))
    passive = passive.copy()
    patience = np.full(problems, 3)
    fewest = np.full(problems, size + 1)
    todo: Indices = np.arange(problems, dtype=np.intp)
    eye = np.eye(size)
    for _ in range(60 * size):
        inside = passive[todo]
        both = inside[:, :, None] & inside[:, None, :]
        system = np.where(both, gram[todo], 0.0) + eye * np.where(inside, RIDGE, 1.0)[:, None, :]
        solved = np.linalg.solve(system, np.where(inside, along[todo], 0.0)[:, :, None])[:, :, 0]
        gradient = np.matmul(gram[todo], solved[:, :, None])[:, :, 0] - along[todo]
        wrong = np.where(inside, solved < -1e-12, gradient < -1e-9 * np.abs(along[todo]).max(axis=1, keepdims=True))
        count: Indices = np.count_nonzero(wrong, axis=1)
        done = count == 0
        result[todo[done]] = np.maximum(solved[done], 0.0)
        if done.all():
            return result
        todo, wrong, count = todo[~done], wrong[~done], count[~done]
        better = count < fewest[todo]
        fewest[todo] = np.where(better, count, fewest[todo])
        patience[todo] = np.where(better, 3, patience[todo] - 1)
        last = np.zeros_like(wrong)
        last[np.arange(todo.size), size - 1 - np.argmax(wrong[:, ::-1], axis=1)] = True
        passive[todo] ^= np.where((patience[todo] >= 0)[:, None], wrong, last)
    result[todo] = np.maximum(result[todo], 0.0)
    return result
