"""Counters that explain the run time of real launches, in words the profiler gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optimas_lsp.insight.counters import SURVIVORS, counter_text, group_of, importance
from optimas_lsp.profile.model import Profile


def test_24_sizes_of_one_kernel_give_a_ranking_led_by_memory_traffic(sample: Callable[[str], Profile]) -> None:
    profile = sample("accuracy/sweep.ncu-repz")
    found = importance(profile, profile.launches)
    assert found.observations == 24
    assert found.why_not is None
    assert 1 <= len(found.counters) <= SURVIVORS
    first = found.counters[0]
    assert first.name == "dram__bytes"
    assert first.description
    assert 0.2 < first.low <= first.score <= first.high


def test_neither_time_nor_cycles_nor_percentages_take_part(sample: Callable[[str], Profile]) -> None:
    profile = sample("sweep/profile.ncu-repz")
    for at in range(len(profile.kernels)):
        found = importance(profile, [launch for launch in profile.launches if launch.kernel == at])
        names = {name for scored in found.counters for name in (scored.name, *scored.together)}
        assert names
        assert not [name for name in names if "cycles_elapsed" in name or "time_duration" in name or "pct" in name]
        assert not [name for name in names if name.startswith(("launch__", "device__", "profiler__"))]


def test_one_launch_is_refused_in_words(sample: Callable[[str], Profile]) -> None:
    profile = sample("adjacent/profile.ncu-repz")
    found = importance(profile, profile.launches)
    assert found.counters == ()
    assert found.why_not is not None
    assert "too few" in found.why_not


def test_launches_of_several_reports_add_up(sample: Callable[[str], Profile]) -> None:
    """Half of the launches from one report and half from another give as many observations."""
    profile = sample("accuracy/sweep.ncu-repz")
    found = importance(profile, profile.launches[:12], [(profile, profile.launches[12:])])
    assert found.observations == 24
    assert found.counters == importance(profile, profile.launches).counters


def test_the_sentence_names_unit_interval_and_what_cannot_be_told_apart(sample: Callable[[str], Profile]) -> None:
    profile = sample("sweep/profile.ncu-repz")
    launches = [launch for launch in profile.launches if launch.kernel == 0]
    found = importance(profile, launches)
    text = counter_text(found.counters[0], found.observations)
    assert "over 16 launches" in text
    assert "95 % interval" in text
    assert "nothing tells it apart from" in text
    assert "The profiler describes it as" in text


@pytest.mark.parametrize(
    ("counter", "unit"),
    [("dram__bytes_read", "dram"), ("derived__lts__lts2xbar_bytes", "lts"), ("inst_executed", "sass"),
     ("memory_l2_theoretical_sectors_global", "memory"), ("sass__inst_executed_global_loads", "sass")],
)  # fmt: skip
def test_counters_belong_to_the_unit_in_their_name(counter: str, unit: str) -> None:
    assert group_of(counter) == unit
