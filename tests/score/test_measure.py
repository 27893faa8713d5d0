"""Wilson's interval by hand and by property; unknown is kept apart from zero."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from optimas_lsp.score.measure import Measure, wilson

counts = st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(5, 8, 0.30574, 0.86315), (0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0), (1, 1, 0.20655, 1.0)],
)
def test_the_interval_is_the_published_one(hits: int, of: int, low: float, high: float) -> None:
    """5 of 8 by hand: z = 1.96, centre (5 + z²/2) / (8 + z²) = 0.5844, half-width 0.2787."""
    assert wilson(hits, of) == pytest.approx((low, high), abs=2e-4)


@given(counts)
def test_the_interval_holds_the_share_and_lies_within_zero_and_one(pair: tuple[int, int]) -> None:
    hits, of = pair
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
    assert low < high


@given(counts)
def test_the_interval_is_symmetric_in_hits_and_misses(pair: tuple[int, int]) -> None:
    hits, of = pair
    low, high = wilson(hits, of)
    other_low, other_high = wilson(of - hits, of)
    assert math.isclose(low, 1 - other_high, abs_tol=1e-12)
    assert math.isclose(high, 1 - other_low, abs_tol=1e-12)


@given(counts, st.integers(2, 50))
def test_more_observations_make_it_narrower(pair: tuple[int, int], times: int) -> None:
    hits, of = pair
    low, high = wilson(hits, of)
    many_low, many_high = wilson(hits * times, of * times)
    assert many_high - many_low < high - low


@pytest.mark.parametrize(("hits", "of"), [(-1, 3), (4, 3), (0, 0), (1, -1)])
def test_what_is_no_share_is_refused(hits: int, of: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(hits, of)


def test_unknown_is_not_zero() -> None:
    zero, unknown = Measure.share(0, 9, nothing="x"), Measure.share(0, 0, nothing="nothing was given")
    assert (zero.value, zero.why_not) == (0.0, "")
    assert (unknown.value, unknown.why_not) == (None, "nothing was given")
    assert zero.words("findings") == "0.0 % (0 of 9 findings; 0.0 to 29.9 %)"
    assert unknown.words() == "not measurable: nothing was given"


@pytest.mark.parametrize("fields", [{}, {"value": 0.5}, {"value": 0.5, "why_not": "x"}])
def test_half_a_measure_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Measure.model_validate(fields)
