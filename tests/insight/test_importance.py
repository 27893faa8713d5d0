"""Counter importance finds what was planted, agrees with a known solver and refuses to make rankings up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import OrthogonalMatchingPursuit

from optimas_lsp.insight.importance import MINIMUM_OBSERVATIONS, NoRanking, Ranking, Search, group_collinear, rank
from optimas_lsp.insight.pursuit import Refit, non_negative, pursue

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def names(count: int) -> list[str]:
    return [f"unit__counter_{k}.sum" for k in range(count)]


def planted(
    seed: int, observations: int, counters: int, truth: int, decibels: float
) -> tuple[Floats, Floats, set[str]]:
    """Positive counters, of which ``truth`` add up to the time; noise at ``decibels`` below the time's variation."""
    random = np.random.default_rng(seed)
    values = random.gamma(2.0, 1.0, (observations, counters))
    chosen = random.choice(counters, truth, replace=False)
    signal = values[:, chosen] @ random.uniform(1.0, 3.0, truth)
    noise = random.normal(0.0, np.std(signal) * 10 ** (-decibels / 20), observations)
    return values, np.maximum(signal + noise, 1e-3), {names(counters)[k] for k in chosen}


@pytest.mark.parametrize(("refit", "decibels"), [("nnls", 20.0), ("nnls", 15.0), ("ls", 20.0)])
def test_planted_counters_are_the_top_ones_in_95_percent(refit: Refit, decibels: float) -> None:
    """Four planted counters of 200 over 48 observations, noise 20 (or 15) dB below the time's variation."""
    found = 0
    for seed in range(30):
        values, times, truth = planted(seed, 48, 200, 4, decibels)
        ranking = rank(names(200), values, times, Search(members=200, refit=refit, resamples=1))
        assert isinstance(ranking, Ranking)
        found += len(truth & {scored.name for scored in ranking.counters[:4]})
    assert found >= 0.95 * 30 * 4


def test_a_planted_counter_is_stable_and_a_bystander_is_not() -> None:
    values, times, truth = planted(5, 48, 100, 2, 25.0)
    ranking = rank(names(100), values, times, Search(members=400))
    assert isinstance(ranking, Ranking)
    for scored in ranking.counters[:2]:
        assert scored.name in truth
        assert 0 < scored.low <= scored.score <= scored.high <= 1
        assert scored.selected > 0.9
    assert all(scored.low < 0.01 for scored in ranking.counters[2:])
    assert ranking.explained > 0.98


@pytest.mark.parametrize("seed", range(8))
def test_one_member_that_always_takes_the_best_is_plain_orthogonal_matching_pursuit(seed: int) -> None:
    values, times, _ = planted(seed, 40, 60, 5, 10.0)
    unit = values / np.linalg.norm(values, axis=0)
    ours = pursue(
        values, times, np.ones((1, 40)), np.random.default_rng(0), members=1, steps=6, draw_from=1, refit="ls"
    )
    theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=6, fit_intercept=False).fit(unit, times)
    np.testing.assert_allclose(ours.coefficients[0], theirs.coef_, rtol=1e-6, atol=1e-6)


def test_draws_are_proportional_to_the_correlation() -> None:
    """Three orthogonal counters with correlations 5, 3 and 2: the first draw takes them in that proportion."""
    members = 20_000
    how: dict[str, int] = {"members": members, "steps": 1, "draw_from": 3}
    times = np.array([5.0, 3.0, 2.0, 0.0])
    first = pursue(np.eye(4)[:, :3], times, np.ones((1, 4)), np.random.default_rng(1), refit="ls", **how)
    np.testing.assert_allclose(first.frequency[0], [0.5, 0.3, 0.2], atol=4 * np.sqrt(0.25 / members))


def test_batched_non_negative_least_squares_equals_scipy() -> None:
    random = np.random.default_rng(3)
    matrices = random.normal(size=(200, 24, 9))
    targets = random.normal(size=(200, 24))
    gram = np.einsum("pnk,pnl->pkl", matrices, matrices)
    along = np.einsum("pnk,pn->pk", matrices, targets)
    ours = non_negative(gram, along, random.random((200, 9)) > 0.5)
    theirs = np.stack([nnls(matrix, target)[0] for matrix, target in zip(matrices, targets, strict=True)])
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_same_seed_same_ranking() -> None:
    values, times, _ = planted(2, 24, 50, 3, 10.0)
    first, second, other = (
        rank(names(50), values, times, Search(members=100, resamples=3, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_scaling_a_counter_changes_nothing() -> None:
    """Units differ by orders of magnitude; the ranking must not."""
    values, times, _ = planted(4, 24, 30, 3, 20.0)
    scaled = values * 10.0 ** np.random.default_rng(0).integers(-6, 12, 30)
    a = rank(names(30), values, times, Search(members=100, resamples=2))
    b = rank(names(30), scaled, times * 1e-9, Search(members=100, resamples=2))
    assert isinstance(a, Ranking)
    assert isinstance(b, Ranking)
    assert [s.name for s in a.counters[:3]] == [s.name for s in b.counters[:3]]
    np.testing.assert_allclose([s.score for s in a.counters[:3]], [s.score for s in b.counters[:3]], rtol=1e-6)


def test_counters_that_cannot_be_told_apart_are_one_entry() -> None:
    values, times, truth = planted(7, 32, 40, 1, 20.0)
    (best,) = truth
    twin = values[:, names(40).index(best)] * 32.0
    ranking = rank([*names(40), "dram__bytes.sum"], np.column_stack((values, twin)), times, Search(members=100))
    assert isinstance(ranking, Ranking)
    top = ranking.counters[0]
    assert {top.name, *top.together} == {best, "dram__bytes.sum"}
    assert top.selected == 1.0


def test_the_group_leader_is_the_column_closest_to_the_time() -> None:
    y = np.linspace(1.0, 2.0, 20)
    rows = np.column_stack((y + 0.01 * np.sin(np.arange(20)), y, np.cos(np.arange(20))))
    leaders, members = group_collinear(rows, y, 0.999)
    assert leaders[0] == 1
    assert members[0] == [0]


def test_too_few_observations_are_refused() -> None:
    values, times, _ = planted(1, MINIMUM_OBSERVATIONS - 1, 20, 2, 20.0)
    answer = rank(names(20), values, times)
    assert isinstance(answer, NoRanking)
    assert answer.why == "too-few-observations"
    assert "7 launches" in answer.text
    assert "--sweep" in answer.text


def test_launches_without_a_time_do_not_count_as_observations() -> None:
    values, times, _ = planted(1, MINIMUM_OBSERVATIONS + 1, 20, 2, 20.0)
    times[:2] = np.nan
    answer = rank(names(20), values, times)
    assert isinstance(answer, NoRanking)
    assert answer.observations == MINIMUM_OBSERVATIONS - 1


def test_a_constant_run_time_is_refused() -> None:
    values, _, _ = planted(1, 30, 20, 2, 20.0)
    answer = rank(names(20), values, np.full(30, 5e4) + np.random.default_rng(0).normal(0, 100, 30))
    assert isinstance(answer, NoRanking)
    assert answer.why == "constant-target"


def test_columns_that_cannot_explain_anything_are_left_out_and_named() -> None:
    values, times, truth = planted(9, 32, 20, 2, 20.0)
    holes = values[:, 0].copy()
    holes[3] = np.nan
    rows = np.column_stack((values, np.zeros(32), np.full(32, 132.0), holes))
    ranking = rank([*names(20), "zero", "same", "holes"], rows, times, Search(members=100, resamples=2))
    assert isinstance(ranking, Ranking)
    assert ranking.left_out == {"all-zero": ("zero",), "constant": ("same",), "not-finite": ("holes",)}
    assert truth == {scored.name for scored in ranking.counters[:2]}


def test_no_usable_counter_is_refused() -> None:
    answer = rank(["zero", "nan"], np.column_stack((np.zeros(12), np.full(12, np.nan))), np.linspace(1, 2, 12))
    assert isinstance(answer, NoRanking)
    assert answer.why == "no-counters"


def test_shapes_that_do_not_belong_together_raise() -> None:
    with pytest.raises(ValueError, match="do not belong together"):
        rank(["a"], np.ones((3, 2)), np.ones(3))
