"""Machine code row by row: every sample is somewhere, every wait has two ends, and the listing says it in order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from optimas_lsp.config import Settings
from optimas_lsp.insight.load import load_analysis
from optimas_lsp.insight.machine_code import MachineCode, machine_code
from optimas_lsp.profile.model import Profile
from optimas_lsp.report.machine_code import listing

SAMPLES = Path(__file__).parents[2] / "samples"
NAMES = sorted(each.parent.name for each in SAMPLES.glob("*/profile.ncu-rep*"))


@pytest.fixture(scope="module")
def profile_of() -> Callable[[str], Profile]:
    known: dict[str, Profile] = {}

    def read(name: str) -> Profile:
        if name not in known:
            [report] = (SAMPLES / name).glob("profile.ncu-rep*")
            known[name] = load_analysis(report, Settings())[0]
        return known[name]

    return read


def codes(profile: Profile) -> list[MachineCode]:
    return [machine_code(profile, kernel) for kernel in profile.kernels]


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_on_a_row_and_every_wait_is_told_at_both_ends(
    name: str, profile_of: Callable[[str], Profile]
) -> None:
    profile = profile_of(name)
    for kernel, code in zip(profile.kernels, codes(profile), strict=True):
        assert code.samples == sum(kernel.samples.all_)
        assert sum(row.samples for row in code.rows) == code.samples
        assert sum(row.stalled for row in code.rows) == code.stalled <= code.samples
        assert all(a.offset < b.offset for a, b in pairwise(code.rows))
        rows = list(enumerate(code.rows))
        waits = {(at, edge.row, edge.reason, edge.samples) for at, row in rows for edge in row.waits_for}
        told = {(edge.row, at, edge.reason, edge.samples) for at, row in rows for edge in row.awaited_by}
        assert waits == told
        for row in code.rows:
            counts = dict(row.reasons)
            for reason in {edge.reason for edge in row.waits_for}:
                named = sum(each.samples for each in row.waits_for if each.reason == reason)
                assert named <= counts[reason] * 1.01  # shares are kept rounded


@pytest.mark.parametrize("name", NAMES)
def test_the_listing_has_every_row_once_in_order_under_its_line(
    name: str, profile_of: Callable[[str], Profile]
) -> None:
    for code in codes(profile_of(name)):
        shown = list(listing(code, lambda _file, line: f"text of {line}\x1b[2J"))
        assert [each.row for each in shown if each.row is not None] == list(range(len(code.rows)))
        heading = None
        for each in shown:
            assert "\x1b" not in each.text
            assert "\n" not in each.text
            if each.row is None:
                heading = each.place or heading
            else:
                row = code.rows[each.row]
                assert f"0x{row.offset:04x}" in each.text
                assert row.sass.split()[0] in each.text
                assert each.place == (row.places[0] if row.places else None)
                assert not row.places or heading == row.places[-1]


def test_the_load_is_named_where_its_value_is_waited_for(profile_of: Callable[[str], Profile]) -> None:
    [code] = codes(profile_of("adjacent"))
    lines = [each.text for each in listing(code, lambda _file, _line: "")]
    waiting = next(each for each in lines if "IMAD.IADD" in each and "waits for" in each)
    assert "long_scoreboard" in waiting
    assert "LDG" in waiting
    assert "adjacent.cu:" in waiting
    assert any("LDG" in each and "waits for it" in each for each in lines)


def test_a_part_marks_what_it_leaves_out(profile_of: Callable[[str], Profile]) -> None:
    [code] = codes(profile_of("adjacent"))
    texts = [each.text.strip() for each in listing(code, lambda _file, _line: "", only=[5, 6, 9])]
    assert texts.count("…") == 2
    rows = [each.row for each in listing(code, lambda _file, _line: "", only=[5, 6, 9])]
    assert [each for each in rows if each is not None] == [5, 6, 9]
