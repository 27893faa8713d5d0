"""How numbers and names are worded."""

from __future__ import annotations

import pytest

from optimas_lsp.insight.sentences import duration, kernel_title, share_of


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(None, "unknown time"), (17.0, "17 ns"), (1_282_000.0, "1.28 ms"), (999_900.0, "1 ms"), (3.2e9, "3.2 s")],
)
def test_a_time_has_the_unit_that_fits(nanoseconds: float | None, text: str) -> None:
    assert duration(nanoseconds) == text


def test_a_share_has_its_margin_and_denominator() -> None:
    assert share_of(0.8581, 0.0051, 17802) == "85.8 ± 0.5 % of 17,802 samples"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("accuracy_kernel(const float *, int)", "accuracy_kernel"),
        ("void mix_tiles<double>(const T1 *, T1 *, int)", "mix_tiles<double>"),
        ("interior::update(const double *, Grid)", "interior::update"),
        ("void k<int, (bool)1>(T1 *)", "k<int, (bool)1>"),
        ("void (anonymous namespace)::k(int)", "(anonymous namespace)::k"),
        ("void a::run<std::pair<int, int> >(int)", "a::run<std::pair<int, int> >"),
        ("softmax_kernel", "softmax_kernel"),
    ],
)
def test_a_kernel_is_titled_without_return_type_and_parameters(name: str, title: str) -> None:
    assert kernel_title(name) == title
