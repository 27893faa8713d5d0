"""Programs built so that their cause is known: the Warning is on the line marked ``//@ cause``, for ``//@ waits``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optimas_lsp.insight.evidence import Analysis, Evidence, Location
from optimas_lsp.profile.model import Profile

CASES = sorted(
    case.parent.name
    for case in (Path(__file__).parents[2] / "samples" / "blame").glob("*/case.cu")
    if any("//@ waits" in path.read_text("utf-8") for path in case.parent.glob("*.cu*"))
)


def marked(folder: Path, mark: str) -> set[tuple[str, int]]:
    """(file name, line) of every line that carries ``//@ mark``."""
    return {
        (path.name, number)
        for path in folder.glob("*.cu*")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if f"//@ {mark}" in line
    }


def spot(location: Location | None) -> tuple[str, int]:
    return ("", 0) if location is None else (Path(location.file).name, location.line)


def places(evidence: Evidence) -> set[tuple[str, int]]:
    return {spot(each) for each in (evidence.location, evidence.shown, *evidence.inlined_at)}


@pytest.mark.parametrize("case", CASES)
def test_the_main_stall_is_blamed_on_the_marked_line(
    case: str, samples: Path, load: Callable[[str], tuple[Profile, Analysis]]
) -> None:
    _, analysis = load(f"blame/{case}/profile.ncu-repz")
    folder = samples / "blame" / case
    [kernel] = analysis.kernels
    reasons = ("long_scoreboard", "short_scoreboard", "barrier")
    waiting = [e for e in kernel.evidence if e.source == "pc" and e.rule in reasons]
    if case != "slow_warp":  # samples of a barrier fall some instructions behind it
        waiting = [e for e in waiting if places(e) & marked(folder, "waits")]
    main = max(waiting, key=lambda e: e.samples)
    assert main.causes
    share = sum(
        cause.share
        for cause in main.causes
        if ((Path(cause.file).name, cause.line) in marked(folder, "cause"))
        or any(spot(each) in marked(folder, "cause") for each in cause.inlined_at)
    )
    assert share >= 0.85, [(cause.file, cause.line, cause.share) for cause in main.causes]


@pytest.mark.parametrize("case", CASES)
def test_the_warning_is_on_the_line_to_change_and_names_who_waits(
    case: str, samples: Path, load: Callable[[str], tuple[Profile, Analysis]]
) -> None:
    _, analysis = load(f"blame/{case}/profile.ncu-repz")
    folder = samples / "blame" / case
    causes, waits = marked(folder, "cause"), marked(folder, "waits")
    [kernel] = analysis.kernels
    level = "note" if any(note.code == "busy-schedulers" for note in analysis.notes) else "act"
    warnings = [e for e in kernel.evidence if e.level == level and e.source in ("pc", "bl") and places(e) & causes]
    assert warnings, [(e.id, spot(e.shown), e.level) for e in kernel.evidence]
    blamed = [e for e in warnings if e.source == "bl"]
    for each in blamed:
        assert "wait for this line" in each.text
        assert f"{100 * each.share:.1f} ± {100 * each.margin:.1f} %" in each.text
        assert each.confidence in ("certain", "dominant", "shared")
        assert each.confidence in each.text
        for place in each.waits:
            back = [e for e in kernel.evidence if e.source == "pc" and place in (e.shown, e.location)]
            assert any(e.rule == each.rule and e.level in ("hot", "act", "note") for e in back)
    if not waits & causes and case != "slow_warp":
        assert any(spot(place) in waits for each in blamed for place in each.waits)


def test_two_loads_into_one_use_share_the_blame(load: Callable[[str], tuple[Profile, Analysis]]) -> None:
    _, analysis = load("blame/two_loads/profile.ncu-repz")
    main = next(e for e in analysis.kernels[0].evidence if e.source == "pc")
    assert main.confidence == "shared"
    assert [round(cause.share, 1) for cause in main.causes or ()][:2] == [0.5, 0.5]


def test_a_store_that_has_not_read_its_operand_is_told_apart_from_a_load(
    load: Callable[[str], tuple[Profile, Analysis]],
) -> None:
    _, store = load("blame/store_operand/profile.ncu-repz")
    _, late = load("blame/late_use/profile.ncu-repz")
    assert "until the store at case.cu:14 has read its operand" in store.kernels[0].evidence[0].text
    assert "for the value loaded at case.cu:15" in late.kernels[0].evidence[0].text


def test_a_late_warp_is_named_rather_than_the_barrier(load: Callable[[str], tuple[Profile, Analysis]]) -> None:
    _, analysis = load("blame/slow_warp/profile.ncu-repz")
    blamed = next(e for e in analysis.kernels[0].evidence if e.source == "bl")
    assert spot(blamed.shown) == ("case.cu", 18)
    assert "arrive late" in blamed.text
